/* The table of one instruction set's sorting kernels. They work on one line; sort.c cuts arrays into lines. */
#ifndef TREADLE_SORT_KERNELS_H
#define TREADLE_SORT_KERNELS_H

#include "treadle/types.h"

typedef void (*td_order_loop)(int64_t n, const char *x, int64_t sx, int64_t turn, int64_t *keys);

typedef struct td_sort_kernels {
    struct {
        /* Sorted values; scratch has room for two keys an element, of 4 bytes up to 32-bit types, else of 8. */
        void (*values)(int64_t n, const char *x, int64_t sx, char *values, int64_t sv, int descending, void *scratch);
        /* Signed keys in the order of the elements; turn: 0, or -1 for descending order. */
        td_order_loop order;
        int64_t itemsize;
    } types[TD_DTYPE_COUNT];
    /* The places of n keys in their stable order; keys is followed by room for twice as many, and spent. */
    int64_t *(*order_keys)(int64_t n, int64_t *keys);
    /* The places of the k first elements in stable order; scratch: four times td_top_room(k). */
    int64_t *(*top_keys)(int64_t n, int64_t k, const char *x, int64_t sx, int64_t turn, td_order_loop order,
                         int64_t *scratch);
    struct {
        void (*search)(int64_t n, const char *sorted, int64_t m, const char *x, int right, int64_t *out);
        int64_t (*groups)(int64_t n, const char *sorted, const int64_t *places, int64_t *starts, int64_t *inverse);
    } search[TD_DTYPE_COUNT];
} td_sort_kernels;

/* How many candidates the search for the k first elements holds at most. */
static inline int64_t td_top_room(int64_t k) { return 2 * k + 1024; }

/* Keys moved by partings and radix passes on this thread since it was last set to zero; a bound of the depth of
 * quicksort, negative for the usual one. Both are for tests. */
extern _Thread_local int64_t td_sort_moved;
extern int td_sort_depth;

#endif
