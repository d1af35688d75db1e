/* Sorting of one line of elements: stable, in either direction, NaN last in both. */
#ifndef TREADLE_SORT_H
#define TREADLE_SORT_H

#include "treadle/types.h"

/* Bytes of scratch memory that a line of n elements needs, with or without their places. */
int64_t td_sort_scratch(int dtype, int64_t n, int with_places);

/* Sort n elements at x (stride sx, in bytes) into values (stride sv), and the places they came from into places
 * (int64, stride sp); either of the two outputs may be NULL. The outputs do not overlap x. */
void td_sort_line(int dtype, int64_t n, const char *x, int64_t sx, char *values, int64_t sv, char *places, int64_t sp,
                  int descending, void *scratch);

#endif
