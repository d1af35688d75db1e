"""Random numbers on the cpu: the draws of include/treadle/random.h into dense memory, a chunk of words at a time."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from treadle.ndarray._elementwise cimport slots
from treadle.ndarray._types cimport TD_f32, TD_u32, td_view

cdef extern from "treadle/random.h" nogil:
    uint64_t td_join(uint32_t low, uint32_t high)
    float td_uniform_f32(uint32_t bits)
    double td_uniform_f64(uint64_t bits)
    uint64_t td_bounded(uint64_t bits, uint64_t range)
    void td_normal_pair(const uint32_t *word, double *pair)

cdef enum:
    CHUNK = 256  # blocks of four words


cdef void draw(int kind, uint64_t key, uint64_t counter, double first, double second, int64_t low, uint64_t span,
               const td_view *out, int64_t n) noexcept nogil:
    """Fill n elements. first, second: low and high, or mean and std; low, span: the range of integers, or the
    threshold of bernoulli."""
    cdef uint32_t words[4 * CHUNK]
    cdef bint single = kind == DRAW_BERNOULLI or (kind == DRAW_BITS and out.dtype == TD_u32) or (
        kind == DRAW_UNIFORM and out.dtype == TD_f32)
    cdef int64_t a_block = 4 if single else 2
    cdef int64_t done = 0
    cdef int64_t count, blocks
    while done < n:
        count = min(n - done, CHUNK * a_block)
        blocks = (count + a_block - 1) // a_block
        slots.random_words(key, counter, blocks, words)
        if kind == DRAW_NORMAL:
            _normal(words, first, second, out, done, count)
        elif single:
            _words(kind, words, <float>first, <float>second, span, out, done, count)
        else:
            _pairs(kind, words, first, second, low, span, out, done, count)
        counter += <uint64_t>blocks
        done += count


cdef void _words(int kind, const uint32_t *words, float low, float high, uint64_t threshold, const td_view *out,
                 int64_t at, int64_t n) noexcept nogil:
    """One word an element."""
    cdef int64_t i
    cdef float span = high - low
    cdef float *reals = <float *>out.data + at
    if kind == DRAW_BITS:
        memcpy(<uint32_t *>out.data + at, words, n * sizeof(uint32_t))
    elif kind == DRAW_UNIFORM:
        for i in range(n):
            reals[i] = low + td_uniform_f32(words[i]) * span
    else:
        for i in range(n):
            out.data[at + i] = words[i] < threshold


cdef void _pairs(int kind, const uint32_t *words, double low, double high, int64_t int_low, uint64_t span,
                 const td_view *out, int64_t at, int64_t n) noexcept nogil:
    """Two words an element."""
    cdef int64_t i
    cdef uint64_t *integers = <uint64_t *>out.data + at
    cdef double *reals = <double *>out.data + at
    for i in range(n):
        if kind == DRAW_BITS:
            integers[i] = td_join(words[2 * i], words[2 * i + 1])
        elif kind == DRAW_INTEGERS:
            integers[i] = <uint64_t>int_low + td_bounded(td_join(words[2 * i], words[2 * i + 1]), span)
        else:
            reals[i] = low + td_uniform_f64(td_join(words[2 * i], words[2 * i + 1])) * (high - low)


cdef void _normal(const uint32_t *words, double mean, double std, const td_view *out, int64_t at,
                  int64_t n) noexcept nogil:
    """Four words a pair of elements."""
    cdef double pair[2]
    cdef int64_t i
    for i in range(n):
        if i % 2 == 0:
            td_normal_pair(words + 2 * i, pair)
        if out.dtype == TD_f32:
            (<float *>out.data)[at + i] = <float>(mean + std * pair[i % 2])
        else:
            (<double *>out.data)[at + i] = mean + std * pair[i % 2]


cdef void shuffle(const uint64_t *bits, int64_t *order, int64_t n) noexcept nogil:
    """0, 1, ..., n - 1 in an order drawn from n random integers (R. Durstenfeld, CACM algorithm 235)."""
    cdef int64_t i, other
    for i in range(n):
        order[i] = i
    for i in range(n - 1, 0, -1):
        other = <int64_t>td_bounded(bits[i], <uint64_t>(i + 1))
        order[i], order[other] = order[other], order[i]
