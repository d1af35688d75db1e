/* Sorting of arrays along an axis: stable, in either direction, NaN last in both. */
#ifndef TREADLE_SORT_H
#define TREADLE_SORT_H

#include "treadle/types.h"

/* The kernels of an instruction set, TD_ISA_* of isa.h. */
const struct td_sort_kernels *td_sort_select(int isa);

/* Lines of `length` elements along an axis, of which the first `taken` in order are written: as values, as the places
 * they came from (int64), or both. The outer axes are those that lead from line to line. Outputs do not overlap x. */
typedef struct {
    const struct td_sort_kernels *kernels;
    int32_t dtype, descending;
    int64_t length, taken;
    int32_t outer; /* how many outer axes, at least 1 */
    int64_t shape[TD_MAX_NDIM];
    const char *x;
    char *values, *places; /* NULL where not wanted */
    int64_t x_strides[TD_MAX_NDIM], value_strides[TD_MAX_NDIM], place_strides[TD_MAX_NDIM];
    int64_t x_stride, value_stride, place_stride; /* along the axis */
    /* set by td_sort_plan */
    int64_t tile, chunks, units, units_per_block, blocks;
    int64_t line_bytes, x_tile_bytes, value_tile_bytes, place_tile_bytes, worker_bytes;
    /* set by the caller: room for `workers` times worker_bytes, and a zero for each worker */
    int32_t workers;
    char *scratch;
    int32_t *taken_scratch;
} td_sort_job;

/* Cuts the job into blocks of lines, by its shape only. */
void td_sort_plan(td_sort_job *job);

/* Sorts the lines of a block, from any thread; at most `workers` blocks at once. */
void td_sort_block(void *job, int64_t block);

#endif
