/* splitmix64: 64-bit state, full period, the same numbers on every machine. */
#ifndef LCP_RANDOM_H
#define LCP_RANDOM_H

#include <stdint.h>

typedef struct lcp_random {
    uint64_t state; /* starts as the seed */
} lcp_random;

uint64_t lcp_random_bits(lcp_random *random);
/* In [0, 1), multiples of 2^-53. */
double lcp_random_real(lcp_random *random);
/* In [0, bound), bound >= 1, without bias. */
uint64_t lcp_random_below(lcp_random *random, uint64_t bound);

#endif
