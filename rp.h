#ifndef TREADLE_rp_H
#define TREADLE_rp_H

#include <stdint.h>

/*
 * input0: float32, shape (4, 6), C order
 * input1: float32, shape (4, 6), C order
 * output0: float32, shape (4, 6), C order
 * output1: float32, shape (4, 6), C order
 * Returns 0, or 1 where an index lay outside of its array. The arrays must not overlap.
 */
#ifdef __cplusplus
extern "C" {
#endif
int rp(const float *input0, const float *input1, float *output0, float *output1);
#ifdef __cplusplus
}
#endif

#endif
