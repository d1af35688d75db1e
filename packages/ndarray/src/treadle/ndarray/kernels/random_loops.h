/* The generator's words: Philox blocks side by side, which is what SIMD needs. A part of slots_body.h. */
#define PHILOX_WIDTH 16
static void random_words(uint64_t key, uint64_t counter, int64_t blocks, uint32_t *words)
{
    int64_t block = 0;
    for (; block + PHILOX_WIDTH <= blocks; block += PHILOX_WIDTH) {
        uint32_t c0[PHILOX_WIDTH], c1[PHILOX_WIDTH], c2[PHILOX_WIDTH], c3[PHILOX_WIDTH];
        for (int i = 0; i < PHILOX_WIDTH; i++) {
            uint64_t number = counter + (uint64_t)block + (uint64_t)i;
            c0[i] = (uint32_t)number;
            c1[i] = (uint32_t)(number >> 32);
            c2[i] = c3[i] = 0;
        }
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        for (int round = 0; round < TD_PHILOX_ROUNDS; round++) {
            for (int i = 0; i < PHILOX_WIDTH; i++)
                td_philox_round(&c0[i], &c1[i], &c2[i], &c3[i], k0, k1);
            k0 += TD_PHILOX_WEYL_0;
            k1 += TD_PHILOX_WEYL_1;
        }
        for (int i = 0; i < PHILOX_WIDTH; i++, words += 4) {
            words[0] = c0[i];
            words[1] = c1[i];
            words[2] = c2[i];
            words[3] = c3[i];
        }
    }
    for (; block < blocks; block++, words += 4)
        td_philox(key, counter + (uint64_t)block, words);
}
