/* A 64-bit sum that tells whether memory was written: any one changed word changes it, several do but for 1 in 2^64.
 *
 * Four lanes of xor, rotate and multiply, each of which can be undone, so that no difference is lost in a lane; the
 * rotation takes a flipped sign bit, which multiplying alone would leave where a second one cancels it, downwards. */
#ifndef TREADLE_CHECKSUM_H
#define TREADLE_CHECKSUM_H

#include <stdint.h>
#include <string.h>

#define TD_LANES 4

static inline uint64_t td_mix(uint64_t sum, uint64_t word)
{
    uint64_t mixed = sum ^ word;
    return (mixed << 29 | mixed >> 35) * UINT64_C(0x9E3779B97F4A7C15);
}

static uint64_t td_checksum(const char *data, int64_t nbytes)
{
    uint64_t lanes[TD_LANES] = {1, 2, 3, 4}, word;
    int64_t at = 0;
    for (; at + 8 * TD_LANES <= nbytes; at += 8 * TD_LANES)
        for (int lane = 0; lane < TD_LANES; lane++) {
            memcpy(&word, data + at + 8 * lane, 8);
            lanes[lane] = td_mix(lanes[lane], word);
        }
    uint64_t sum = (uint64_t)nbytes;
    for (int lane = 0; lane < TD_LANES; lane++)
        sum = td_mix(sum, lanes[lane]);
    for (; at < nbytes; at++)
        sum = td_mix(sum, (unsigned char)data[at]);
    return sum;
}

#endif
