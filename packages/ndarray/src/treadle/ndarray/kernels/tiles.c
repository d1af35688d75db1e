/* A square of n elements a side, n to a 16-byte vector, is transposed in registers: log2(n) times, the first half of
 * the vectors is interleaved with the second. Vectors of 16 bytes interleave in one instruction on every processor. */
#include "tiles.h"

#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif


#if defined(__clang__)
#define TD_SHUFFLE(x, y, type, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define TD_SHUFFLE(x, y, type, ...) __builtin_shuffle(x, y, (type){__VA_ARGS__})
#endif
#define LOW_8 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_8 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_16 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_16 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_32 0, 4, 1, 5
#define HIGH_32 2, 6, 3, 7
#define LOW_64 0, 2
#define HIGH_64 1, 3

typedef struct {
    uint64_t halves[2];
} uint128;

/* With the elements beside the squares taken one by one. */
#define DEFINE_TRANSPOSE(bits, ctype, N, STAGES) \
    typedef ctype vector_##bits __attribute__((vector_size(16))); \
    static inline void square_##bits(const char *x, int64_t line_stride, char *out, int64_t out_stride) \
    { \
        vector_##bits lines[N], mixed[N]; \
        for (int i = 0; i < N; i++) \
            memcpy(&lines[i], x + i * line_stride, 16); \
        for (int stage = 0; stage < STAGES; stage++) { \
            for (int i = 0; i < N / 2; i++) { \
                mixed[2 * i] = TD_SHUFFLE(lines[i], lines[i + N / 2], vector_##bits, LOW_##bits); \
                mixed[2 * i + 1] = TD_SHUFFLE(lines[i], lines[i + N / 2], vector_##bits, HIGH_##bits); \
            } \
            memcpy(lines, mixed, sizeof lines); \
        } \
        for (int j = 0; j < N; j++) \
            memcpy(out + j * out_stride, &lines[j], 16); \
    } \
    DEFINE_PLAIN(bits, ctype) \
    static void transpose_##bits(int64_t lines, int64_t length, const char *x, int64_t line_stride, int64_t stride, \
                                 char *out, int64_t out_stride) \
    { \
        const int64_t size = sizeof(ctype), whole_lines = stride == size ? lines / N * N : 0; \
        const int64_t whole_length = length / N * N; \
        for (int64_t i = 0; i < whole_lines; i += N) \
            for (int64_t j = 0; j < whole_length; j += N) \
                square_##bits(x + i * line_stride + j * size, line_stride, out + j * out_stride + i * size, \
                              out_stride); \
        plain_##bits(whole_lines, length - whole_length, x + whole_length * size, line_stride, stride, \
                     out + whole_length * out_stride, out_stride); \
        plain_##bits(lines - whole_lines, length, x + whole_lines * line_stride, line_stride, stride, \
                     out + whole_lines * size, out_stride); \
    }
#define DEFINE_PLAIN(bits, ctype) \
    static void plain_##bits(int64_t lines, int64_t length, const char *x, int64_t line_stride, int64_t stride, \
                             char *out, int64_t out_stride) \
    { \
        for (int64_t j = 0; j < length; j++) \
            for (int64_t i = 0; i < lines; i++) \
                ((ctype *)(out + j * out_stride))[i] = *(const ctype *)(x + i * line_stride + j * stride); \
    }

DEFINE_TRANSPOSE(8, uint8_t, 16, 4)
DEFINE_TRANSPOSE(16, uint16_t, 8, 3)
DEFINE_TRANSPOSE(32, uint32_t, 4, 2)
DEFINE_TRANSPOSE(64, uint64_t, 2, 1)
DEFINE_PLAIN(128, uint128)

void td_transpose(int64_t itemsize, int64_t lines, int64_t length, const char *x, int64_t line_stride, int64_t stride,
                  char *out, int64_t out_stride)
{
    if (itemsize == 1)
        transpose_8(lines, length, x, line_stride, stride, out, out_stride);
    else if (itemsize == 2)
        transpose_16(lines, length, x, line_stride, stride, out, out_stride);
    else if (itemsize == 4)
        transpose_32(lines, length, x, line_stride, stride, out, out_stride);
    else if (itemsize == 8)
        transpose_64(lines, length, x, line_stride, stride, out, out_stride);
    else
        plain_128(lines, length, x, line_stride, stride, out, out_stride);
}

#if defined(__x86_64__)
void td_stream(char *out, const char *x, int64_t bytes)
{
    int64_t head = -(uintptr_t)out % CACHE_LINE;
    head = head < bytes ? head : bytes;
    memcpy(out, x, (size_t)head);
    for (; head + CACHE_LINE <= bytes; head += CACHE_LINE)
        for (int64_t at = head; at < head + CACHE_LINE; at += 16)
            _mm_stream_si128((__m128i *)(out + at), _mm_loadu_si128((const __m128i *)(x + at)));
    memcpy(out + head, x + head, (size_t)(bytes - head));
}

void td_stream_fence(void) { _mm_sfence(); }
#else
void td_stream(char *out, const char *x, int64_t bytes) { memcpy(out, x, (size_t)bytes); }

void td_stream_fence(void) {}
#endif
