#include "input.h"

#include <string.h>

/* FIPS 180-4, section 6.2. */

#define BLOCK_BYTES 64

typedef struct sha256 {
    uint32_t hash[8];
    uint64_t total_bytes;
    size_t pending_bytes;
    uint8_t pending[BLOCK_BYTES];
} sha256;

static const uint32_t first_hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t x, unsigned int bits)
{
    return (x >> bits) | (x << (32 - bits));
}

static void expand_schedule(uint32_t w[64], const uint8_t block[BLOCK_BYTES])
{
    for (size_t t = 0; t < 16; t++) {
        const uint8_t *b = block + 4 * t;
        w[t] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
    }
    for (size_t t = 16; t < 64; t++) {
        uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ (w[t - 15] >> 3);
        uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
}

static void absorb_block(sha256 *s, const uint8_t block[BLOCK_BYTES])
{
    uint32_t w[64];
    uint32_t v[8]; /* a to h */
    expand_schedule(w, block);
    memcpy(v, s->hash, sizeof v);
    for (size_t t = 0; t < 64; t++) {
        uint32_t sum1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
        uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + sum1 + choose + round_constants[t] + w[t];
        uint32_t sum0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + sum0 + majority;
    }
    for (size_t i = 0; i < 8; i++) {
        s->hash[i] += v[i];
    }
}

static void absorb(sha256 *s, const uint8_t *bytes, size_t size)
{
    s->total_bytes += size;
    while (size > 0) {
        size_t room = BLOCK_BYTES - s->pending_bytes;
        size_t step = size < room ? size : room;
        memcpy(s->pending + s->pending_bytes, bytes, step);
        s->pending_bytes += step;
        bytes += step;
        size -= step;
        if (s->pending_bytes == BLOCK_BYTES) {
            absorb_block(s, s->pending);
            s->pending_bytes = 0;
        }
    }
}

static void absorb_padding(sha256 *s)
{
    static const uint8_t padding[BLOCK_BYTES] = {0x80};
    uint8_t length_bits[8];
    uint64_t bits = s->total_bytes * 8;
    for (size_t i = 0; i < 8; i++) {
        length_bits[i] = (uint8_t)(bits >> (56 - 8 * i));
    }
    size_t padding_bytes = (BLOCK_BYTES + 56 - 1 - s->pending_bytes) % BLOCK_BYTES + 1;
    absorb(s, padding, padding_bytes);
    absorb(s, length_bits, sizeof length_bits);
}

void lcp_sha256_hex(char out[65], const void *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    sha256 s = {0};
    memcpy(s.hash, first_hash, sizeof s.hash);
    if (size > 0) {
        absorb(&s, bytes, size);
    }
    absorb_padding(&s);
    for (size_t i = 0; i < 64; i++) {
        out[i] = digits[(s.hash[i / 8] >> (28 - 4 * (i % 8))) & 0xf];
    }
    out[64] = '\0';
}
