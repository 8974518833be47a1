/* SIGINT asks for the best plan so far; a second one ends the program. */
#ifndef LCP_INTERRUPT_H
#define LCP_INTERRUPT_H

#include <stdbool.h>

void lcp_interrupt_watch(void);
bool lcp_interrupted(void *context); /* hook of the search; context is not used */

#endif
