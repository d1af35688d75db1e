"""Random numbers on the cpu: the draws of include/treadle/random.h into dense memory."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from treadle.ndarray._types cimport TD_f32, TD_u32, td_view

cdef extern from "treadle/random.h" nogil:
    void td_philox(uint64_t key, uint64_t counter, uint32_t *word)
    uint64_t td_join(uint32_t low, uint32_t high)
    float td_uniform_f32(uint32_t bits)
    double td_uniform_f64(uint64_t bits)
    uint64_t td_bounded(uint64_t bits, uint64_t range)
    void td_normal_pair(const uint32_t *word, double *pair)


cdef void draw(int kind, uint64_t key, uint64_t counter, double first, double second, int64_t low, uint64_t span,
               const td_view *out, int64_t n) noexcept nogil:
    """Fill n elements. first, second: low and high, or mean and std; low, span: the range of integers, or the
    threshold of bernoulli."""
    if kind == DRAW_NORMAL:
        _normal(key, counter, first, second, out, n)
    elif kind == DRAW_BERNOULLI or (kind == DRAW_BITS and out.dtype == TD_u32) or (
            kind == DRAW_UNIFORM and out.dtype == TD_f32):
        _words(kind, key, counter, <float>first, <float>second, span, out, n)
    else:
        _pairs(kind, key, counter, first, second, low, span, out, n)


cdef void _words(int kind, uint64_t key, uint64_t counter, float low, float high, uint64_t threshold,
                 const td_view *out, int64_t n) noexcept nogil:
    """One word an element."""
    cdef uint32_t word[4]
    cdef int64_t i
    cdef float span = high - low
    for i in range(n):
        if i % 4 == 0:
            td_philox(key, counter + <uint64_t>(i // 4), word)
        if kind == DRAW_BERNOULLI:
            out.data[i] = word[i % 4] < threshold
        elif kind == DRAW_BITS:
            (<uint32_t *>out.data)[i] = word[i % 4]
        else:
            (<float *>out.data)[i] = low + td_uniform_f32(word[i % 4]) * span


cdef void _pairs(int kind, uint64_t key, uint64_t counter, double low, double high, int64_t int_low, uint64_t span,
                 const td_view *out, int64_t n) noexcept nogil:
    """Two words an element."""
    cdef uint32_t word[4]
    cdef int64_t i
    cdef uint64_t bits
    for i in range(n):
        if i % 2 == 0:
            td_philox(key, counter + <uint64_t>(i // 2), word)
        bits = td_join(word[2 * (i % 2)], word[2 * (i % 2) + 1])
        if kind == DRAW_BITS:
            (<uint64_t *>out.data)[i] = bits
        elif kind == DRAW_INTEGERS:
            (<uint64_t *>out.data)[i] = <uint64_t>int_low + td_bounded(bits, span)
        else:
            (<double *>out.data)[i] = low + td_uniform_f64(bits) * (high - low)


cdef void _normal(uint64_t key, uint64_t counter, double mean, double std, const td_view *out, int64_t n) noexcept nogil:
    cdef uint32_t word[4]
    cdef double pair[2]
    cdef double value
    cdef int64_t i
    for i in range(n):
        if i % 2 == 0:
            td_philox(key, counter + <uint64_t>(i // 2), word)
            td_normal_pair(word, pair)
        value = mean + std * pair[i % 2]
        if out.dtype == TD_f32:
            (<float *>out.data)[i] = <float>value
        else:
            (<double *>out.data)[i] = value
