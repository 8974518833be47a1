#include "cli/options.h"

#include <string.h>

#define MAX_LENGTH 63

static size_t least(size_t a, size_t b, size_t c)
{
    size_t least_of_two = a < b ? a : b;
    return least_of_two < c ? least_of_two : c;
}

/* Insertions, deletions and substitutions that turn one word into the other. */
static size_t edit_distance(const char *from, const char *to)
{
    size_t row[MAX_LENGTH + 1];
    size_t to_length = strlen(to);
    if (strlen(from) > MAX_LENGTH || to_length > MAX_LENGTH) {
        return MAX_LENGTH;
    }
    for (size_t j = 0; j <= to_length; j++) {
        row[j] = j;
    }
    for (size_t i = 0; from[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < to_length; j++) {
            size_t above = row[j + 1];
            row[j + 1] = least(above + 1, row[j] + 1, diagonal + (from[i] != to[j]));
            diagonal = above;
        }
    }
    return row[to_length];
}

const char *lcp_nearest(const char *word, const char *(*word_at)(size_t index, const void *context),
                        const void *context)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2; /* farther than this is no misspelling */
    const char *candidate;
    for (size_t i = 0; (candidate = word_at(i, context)) != NULL; i++) {
        bool cut_short = strlen(word) > 1 && strncmp(word, candidate, strlen(word)) == 0;
        size_t distance = cut_short ? 1 : edit_distance(word, candidate);
        if (distance < best_distance && distance < strlen(candidate)) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}
