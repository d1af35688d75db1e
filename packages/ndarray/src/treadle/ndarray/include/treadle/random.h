/* The counter-based generator: Philox 4x32-10.
 * Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11).
 *
 * Block c of key k is philox(counter = {low(c), high(c), 0, 0}, key = {low(k), high(k)}): four words of 32 bits.
 * Element i of a draw that starts at block c uses, with words w of a block:
 *   bits32, float32 uniform, bernoulli   w[i % 4]                        of block c + i / 4
 *   bits64, float64 uniform, integers    w[2 (i % 2)] | w[... + 1] << 32 of block c + i / 2
 *   normal (float32 and float64)         Box-Muller from all four words  of block c + i / 2; an even i takes
 *                                        the cosine, an odd i the sine
 * A draw of n elements advances the counter by n / 4 or n / 2, rounded up. */
#ifndef TREADLE_RANDOM_H
#define TREADLE_RANDOM_H

#include "scalar_math.h"

#define TD_PHILOX_ROUNDS 10
#define TD_PHILOX_WEYL_0 0x9E3779B9u
#define TD_PHILOX_WEYL_1 0xBB67AE85u

TD_FN void td_philox_round(uint32_t *c0, uint32_t *c1, uint32_t *c2, uint32_t *c3, uint32_t k0, uint32_t k1)
{
    uint64_t p0 = (uint64_t)0xD2511F53u * *c0;
    uint64_t p1 = (uint64_t)0xCD9E8D57u * *c2;
    *c0 = (uint32_t)(p1 >> 32) ^ *c1 ^ k0;
    *c2 = (uint32_t)(p0 >> 32) ^ *c3 ^ k1;
    *c1 = (uint32_t)p1;
    *c3 = (uint32_t)p0;
}

TD_FN void td_philox(uint64_t key, uint64_t counter, uint32_t word[4])
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = 0, c3 = 0;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < TD_PHILOX_ROUNDS; round++) {
        td_philox_round(&c0, &c1, &c2, &c3, k0, k1);
        k0 += TD_PHILOX_WEYL_0;
        k1 += TD_PHILOX_WEYL_1;
    }
    word[0] = c0;
    word[1] = c1;
    word[2] = c2;
    word[3] = c3;
}

TD_FN uint64_t td_join(uint32_t low, uint32_t high) { return (uint64_t)low | (uint64_t)high << 32; }

/* [0, 1), every value a multiple of 2^-24 or 2^-53. */
TD_FN float td_uniform_f32(uint32_t bits) { return (float)(bits >> 8) * 5.9604644775390625e-8f; }
TD_FN double td_uniform_f64(uint64_t bits) { return (double)(bits >> 11) * 1.1102230246251565e-16; }

/* floor(bits * range / 2^64): an integer of [0, range); its bias is below range / 2^64. */
TD_FN uint64_t td_bounded(uint64_t bits, uint64_t range)
{
    uint64_t low = (bits & 0xFFFFFFFFu) * (range & 0xFFFFFFFFu);
    uint64_t middle = (bits >> 32) * (range & 0xFFFFFFFFu) + (low >> 32);
    uint64_t middle2 = (bits & 0xFFFFFFFFu) * (range >> 32) + (middle & 0xFFFFFFFFu);
    return (bits >> 32) * (range >> 32) + (middle >> 32) + (middle2 >> 32);
}

/* One pair of standard normals by Box-Muller, in float64: 1 - u keeps the logarithm finite. */
TD_FN void td_normal_pair(const uint32_t word[4], double pair[2])
{
    double radius = sqrt(-2.0 * log(1.0 - td_uniform_f64(td_join(word[0], word[1]))));
    double angle = 6.283185307179586476925 * td_uniform_f64(td_join(word[2], word[3]));
    pair[0] = radius * cos(angle);
    pair[1] = radius * sin(angle);
}

#endif
