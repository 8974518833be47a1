#include "random.h"

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, with the variant 13 finalizer. */
uint64_t lcp_random_bits(lcp_random *random)
{
    random->state += 0x9e3779b97f4a7c15;
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

double lcp_random_real(lcp_random *random)
{
    return (double)(lcp_random_bits(random) >> 11) * 0x1p-53;
}

uint64_t lcp_random_below(lcp_random *random, uint64_t bound)
{
    /* Numbers below 2^64 mod bound are refused, so that the rest divides evenly. */
    uint64_t refused = (UINT64_MAX - bound + 1) % bound;
    uint64_t bits = lcp_random_bits(random);
    while (bits < refused) {
        bits = lcp_random_bits(random);
    }
    return bits % bound;
}
