#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

/* A handler can reach nothing but a global. */
static volatile sig_atomic_t interrupted = 0;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

void lcp_interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool lcp_interrupted(void *context)
{
    (void)context;
    return interrupted != 0;
}
