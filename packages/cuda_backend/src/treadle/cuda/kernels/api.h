/* What the Python binding calls: plain C functions over td_view, one group a family. Every function that can fail
 * returns a status; the text of a failure is td_cuda_error(). Arguments were checked by the array library. The work
 * runs on the device that td_cuda_use named last, in order; only copies to the host wait for it. */
#ifndef TREADLE_CUDA_API_H
#define TREADLE_CUDA_API_H

#include "treadle/elementwise.h"
#include "treadle/optimizer.h"
#include "treadle/reduce.h"
#include "treadle/types.h"

#include "runtime_api.h"

/* Ops by number: the rows of the shared lists, in their order. */
#define TD_NOTHING(...)
#define TD_NUMBER_UNARY(op, ...) TD_UNARY_##op,
#define TD_NUMBER_BINARY(op, ...) TD_BINARY_##op,
#define TD_NUMBER_TERNARY(op, ...) TD_TERNARY_##op,
#define TD_NUMBER_REDUCE(op, ...) TD_REDUCE_##op,
enum { TD_UNARY_OPS(TD_NUMBER_UNARY, TD_NOTHING) TD_UNARY_COUNT };
enum { TD_BINARY_OPS(TD_NUMBER_BINARY, TD_NOTHING) TD_BINARY_COUNT };
enum { TD_TERNARY_OPS(TD_NUMBER_TERNARY, TD_NOTHING) TD_TERNARY_COUNT };
enum { TD_REDUCE_OPS(TD_NUMBER_REDUCE, TD_NOTHING) TD_REDUCE_mean, TD_REDUCE_COUNT };
enum { TD_ARG_max, TD_ARG_min };
enum { TD_SCAN_sum, TD_SCAN_prod };
enum { TD_DRAW_bits, TD_DRAW_uniform, TD_DRAW_normal, TD_DRAW_integers, TD_DRAW_bernoulli };
enum { TD_SOFTMAX_quotient, TD_SOFTMAX_log, TD_SOFTMAX_sum };
enum { TD_CONV_forward, TD_CONV_input, TD_CONV_weight };

/* Which draw, and its parameters: first and second are low and high, or mean and std; low and span are those of
 * integers, and span is the threshold of bernoulli. */
typedef struct {
    int kind;
    uint64_t key, counter;
    double first, second;
    int64_t low;
    uint64_t span;
} td_cuda_draw;

/* How the windows of a convolution lie over its spatial axes, and the groups of its channels. */
typedef struct {
    int64_t stride[TD_MAX_NDIM], padding[TD_MAX_NDIM], dilation[TD_MAX_NDIM];
    int64_t groups;
} td_cuda_windows;

#ifdef __cplusplus
extern "C" {
#endif

/* runtime.cu */
extern const char *const td_cuda_unary_names[TD_UNARY_COUNT];
extern const char *const td_cuda_binary_names[TD_BINARY_COUNT];
extern const char *const td_cuda_ternary_names[TD_TERNARY_COUNT];
extern const char *const td_cuda_reduce_names[TD_REDUCE_COUNT];
const char *td_cuda_error(void);
/* The largest grid from now on; 0 restores the default. A small one makes every kernel loop, which tests want. */
void td_cuda_limit_blocks(int64_t blocks);

/* copy.cu */
int td_cuda_copy(const td_view *x, const td_view *out);
int td_cuda_fill(const td_view *out, double real, double imaginary, int64_t whole);
int td_cuda_arange(const td_view *out, double start, double step, int64_t whole_start, int64_t whole_step);

/* unary.cu, binary.cu, ternary.cu */
int td_cuda_unary(int op, const td_view *x, const td_view *out);
int td_cuda_binary(int op, const td_view *x, const td_view *y, const td_view *out);
int td_cuda_ternary(int op, const td_view *x, const td_view *y, const td_view *z, const td_view *out);

/* reduce.cu, arg_reduce.cu, scan.cu. out has x's rank, with 1 at the reduced axes; bit a of axes stands for axis a. */
int td_cuda_reduce(int op, const td_view *x, uint32_t axes, const td_view *out);
int td_cuda_variance(const td_view *x, uint32_t axes, double correction, const td_view *out);
int td_cuda_arg_reduce(int op, const td_view *x, int axis, const td_view *out);
int td_cuda_scan(int op, const td_view *x, int axis, const td_view *out);

/* sort.cu. values or places may be null. */
int td_cuda_sort(const td_view *x, int axis, int descending, const td_view *values, const td_view *places);

/* matmul.cu, matmul_mma.cu, matmul_wgmma.cu */
int td_cuda_matmul(const td_view *x, const td_view *y, const td_view *out);
/* Whether larger products of float32 may be computed from operands that are rounded to TF32; gives what held before. */
int td_cuda_allow_tf32(int allowed);
/* Whether products of halves and of TF32 may use wgmma where the device has it; gives what held before. again: before the
 * next of a dtype on a device it is checked once more. */
int td_cuda_allow_wgmma(int allowed, int again);
/* What the check of float16 (0), bfloat16 (1) or TF32 (2) has found: nothing yet (0), right (1), wrong (2). */
int td_cuda_wgmma_verdict(int device, int kind);
/* The kernel that the calling thread's last check of wgmma has found wrong, and how; null when there is none, and
 * afterwards. */
const char *td_cuda_wgmma_warning(void);

/* conv.cu. forward: first is x and second weight; input: the gradient and weight; weight: the gradient and x. padding
 * is that before the first element of an axis. */
int td_cuda_conv(int which, const td_view *first, const td_view *second, const td_cuda_windows *windows,
                 const td_view *out);

/* indexing.cu, nonzero.cu. count index views of one shape; negative indices count from the end. */
int td_cuda_gather(const td_view *x, const td_view *indices, int count, const td_view *out);
int td_cuda_scatter(const td_view *out, const td_view *indices, int count, const td_view *values, int accumulate);
/* Whether integers lie below stop and not below 0, or are *ignored where that is not NULL. number becomes one that does not,
 * for which the host waits; while a graph is captured wrong is 0, and a later replay or synchronization fails with text,
 * in which "{}" stands for the number. */
int td_cuda_check_range(const td_view *numbers, int64_t stop, const int64_t *ignored, const char *text, int *wrong,
                        int64_t *number);
/* nonzero in two steps: found counts the non-zero elements and leaves, in td_cuda_nonzero_space(x) bytes of device
 * memory, where each part of the output begins; then out, of found rows, is written. */
int64_t td_cuda_nonzero_space(const td_view *x);
int td_cuda_nonzero_count(const td_view *x, void *space, int64_t *found);
int td_cuda_nonzero_write(const td_view *x, const void *space, const td_view *out);

/* random.cu */
int td_cuda_random(const td_cuda_draw *draw, const td_view *out);

/* softmax.cu */
int td_cuda_softmax(int result, const td_view *x, int axis, const td_view *out);

/* optimizer.cu */
int td_cuda_adam_step(const td_view *parameter, const td_view *gradient, const td_view *first, const td_view *second,
                      const td_adam_settings *hyper);
int td_cuda_sgd_step(const td_view *parameter, const td_view *gradient, const td_view *momentum,
                     const td_sgd_settings *hyper);

#ifdef __cplusplus
}
#endif

#endif
