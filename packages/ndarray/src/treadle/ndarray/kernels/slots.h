/* The slot tables of the cpu device: pointers to the inner loops, by op and dtype. One table an instruction set,
 * all stamped from the same bodies; one is chosen at import. A NULL slot means that the op is not defined there.
 *
 * A loop runs over n elements in one dimension; strides are in bytes. The drivers (_elementwise.pyx, _reduce.pyx)
 * cut N-dimensional views into such runs. */
#ifndef TREADLE_SLOTS_H
#define TREADLE_SLOTS_H

#include "treadle/elementwise.h"
#include "treadle/elementwise_complex.h"
#include "treadle/half.h"
#include "treadle/optimizer.h"
#include "treadle/random.h"
#include "treadle/reduce.h"

#define TD_NOTHING(...)
enum {
#define X(op, ...) TD_UNARY_##op,
    TD_UNARY_OPS(X, TD_NOTHING) TD_UNARY_COUNT
#undef X
};
enum {
#define X(op, ...) TD_BINARY_##op,
    TD_BINARY_OPS(X, TD_NOTHING) TD_BINARY_COUNT
#undef X
};
enum {
#define X(op, ...) TD_TERNARY_##op,
    TD_TERNARY_OPS(X, TD_NOTHING) TD_TERNARY_COUNT
#undef X
};
enum {
#define X(op, ...) TD_REDUCE_##op,
    TD_REDUCE_OPS(X, TD_NOTHING) TD_REDUCE_COUNT
#undef X
};

typedef void (*td_unary_loop)(int64_t n, const char *x, int64_t sx, char *out, int64_t so);
typedef void (*td_binary_loop)(int64_t n, const char *x, int64_t sx, const char *y, int64_t sy, char *out, int64_t so);
typedef void (*td_ternary_loop)(int64_t n, const char *x, int64_t sx, const char *y, int64_t sy, const char *z,
                                int64_t sz, char *out, int64_t so);

/* A reduction of one (op, dtype). Accumulators lie densely, of 8 bytes at most each, of 16 for
 * complex types. */
typedef struct {
    void (*start)(int64_t n, char *acc);                                          /* acc[i] = identity */
    void (*row)(int64_t n, const char *x, int64_t sx, char *acc);                 /* acc[0] takes x[0..n) */
    void (*column)(int64_t n, const char *x, int64_t sx, int64_t lines, int64_t step, char *acc); /* acc[i] takes x[i],
                                                          and of the lines behind by steps of bytes too */
    void (*merge)(int64_t n, const char *from, char *acc);                        /* acc[i] takes from[i] */
    void (*finish)(int64_t n, const char *acc, double divisor, char *out, int64_t so); /* out[i] = acc[i] / divisor */
    void (*scan_start)(int64_t n, char *acc);                                     /* acc[i] = what scans start from */
    void (*scan)(int64_t n, const char *x, int64_t sx, int64_t lines, int64_t x_step, /* running acc, written out, */
                 char *out, int64_t so, int64_t out_step);                        /* of lines by steps of bytes */
} td_reduction;

/* The index of the first largest (argmax) or smallest element; n > 0. */
typedef struct {
    int64_t (*row)(int64_t n, const char *x, int64_t sx);                   /* of x[0..n) */
    void (*column)(int64_t n, const char *x, int64_t sx, char *best);       /* best[i] takes x[i] */
    void (*merge)(int64_t n, const char *x, int64_t block, char *best, int64_t *blocks); /* blocks[i] where x[i] wins */
} td_arg_reduction;

/* Sums of squared distances, added to accumulators of the sum: from one center, or from each its own. */
typedef struct {
    void (*row)(int64_t n, const char *x, int64_t sx, double center, char *acc);
    void (*column)(int64_t n, const char *x, int64_t sx, const double *centers, char *acc);
} td_squares;

/* Over a dense line of n > 0 elements, shifted by its maximum; out is dense, for logsumexp one element. */
enum { TD_SOFTMAX, TD_LOG_SOFTMAX, TD_LOGSUMEXP };
typedef void (*td_softmax_loop)(int64_t n, const char *x, char *out, int form);

/* Optimizer updates in place over n dense elements. */
typedef void (*td_adam_loop)(int64_t n, char *p, const char *g, char *m, char *v, const td_adam_settings *settings);
typedef void (*td_sgd_loop)(int64_t n, char *p, const char *g, char *buffer, const td_sgd_settings *settings);

typedef struct {
    td_unary_loop unary[TD_UNARY_COUNT][TD_DTYPE_COUNT];
    td_binary_loop binary[TD_BINARY_COUNT][TD_DTYPE_COUNT];
    td_ternary_loop ternary[TD_TERNARY_COUNT][TD_DTYPE_COUNT];
    td_unary_loop cast[TD_DTYPE_COUNT][TD_DTYPE_COUNT]; /* [from][to] */
    td_reduction reduce[TD_REDUCE_COUNT][TD_DTYPE_COUNT];
    td_arg_reduction arg_max[TD_DTYPE_COUNT];
    td_arg_reduction arg_min[TD_DTYPE_COUNT];
    td_squares squares[TD_DTYPE_COUNT];
    td_softmax_loop softmax[TD_DTYPE_COUNT];
    td_adam_loop adam[TD_DTYPE_COUNT];
    td_sgd_loop sgd[TD_DTYPE_COUNT];
    void (*random_words)(uint64_t key, uint64_t counter, int64_t blocks, uint32_t *words); /* 4 words a block */
} td_slots;

/* isa: TD_ISA_* of isa.h. */
const td_slots *td_slots_select(int isa);

extern const char *const td_unary_names[TD_UNARY_COUNT];
extern const char *const td_binary_names[TD_BINARY_COUNT];
extern const char *const td_ternary_names[TD_TERNARY_COUNT];
extern const char *const td_reduce_names[TD_REDUCE_COUNT];

#endif
