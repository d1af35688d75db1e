from libc.stdint cimport int64_t, uint64_t

from treadle.ndarray._types cimport td_view

cdef enum Draw:
    DRAW_BITS
    DRAW_UNIFORM
    DRAW_NORMAL
    DRAW_INTEGERS
    DRAW_BERNOULLI

cdef void draw(int kind, uint64_t key, uint64_t counter, double first, double second, int64_t low, uint64_t span,
               const td_view *out, int64_t n) noexcept nogil
cdef void shuffle(const uint64_t *bits, int64_t *order, int64_t n) noexcept nogil
