"""Reductions, index reductions and scans on the cpu.

A reduction folds the axes where out has length 1 and x has not. Two ways, chosen by where x's shortest stride lies:
along a reduced axis, each kept element folds whole rows of x into one accumulator; along a kept axis, a chunk of
accumulators takes one row of x after the other. The second way sums blocks of BLOCK rows before it merges them, so that
rounding errors stay small there too.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from treadle.ndarray._layout cimport Walk, bound_walk, next_run, plan_walk
from treadle.ndarray._types cimport td_view

cdef enum:
    CHUNK = 512
    BLOCK = 256


cdef void _split(const td_view *x, const td_view *out, td_view *kept, td_view *kept_out,
                 td_view *folded) noexcept nogil:
    """Part the axes of x into those that out keeps and those that are folded."""
    cdef int axis
    kept[0].data, kept_out[0].data, folded[0].data = x.data, out.data, x.data
    kept.dtype, kept_out.dtype, folded.dtype = x.dtype, out.dtype, x.dtype
    kept.ndim = kept_out.ndim = folded.ndim = 0
    for axis in range(x.ndim):
        if x.shape[axis] == out.shape[axis]:
            kept.shape[kept.ndim] = kept_out.shape[kept.ndim] = x.shape[axis]
            kept.strides[kept.ndim] = x.strides[axis]
            kept_out.strides[kept.ndim] = out.strides[axis]
            kept.ndim += 1
            kept_out.ndim += 1
        else:
            folded.shape[folded.ndim] = x.shape[axis]
            folded.strides[folded.ndim] = x.strides[axis]
            folded.ndim += 1


cdef inline int64_t _shortest(const td_view *view) noexcept nogil:
    cdef int64_t shortest = 1 << 62
    cdef int64_t stride
    cdef int axis
    for axis in range(view.ndim):
        stride = view.strides[axis]
        stride = -stride if stride < 0 else stride
        if view.shape[axis] > 1 and stride < shortest:
            shortest = stride
    return shortest


cdef void reduce_view(const td_reduction *reduction, const td_view *x, const td_view *out,
                      double divisor) noexcept nogil:
    cdef td_view kept, kept_out, folded
    cdef Walk outer, inner
    cdef const td_view *views[4]
    cdef int some
    _split(x, out, &kept, &kept_out, &folded)
    views[0], views[1] = &kept, &kept_out
    if not plan_walk(&outer, 2, views):
        return
    views[0] = &folded
    some = plan_walk(&inner, 1, views)
    if not some:
        inner.ndim, inner.data[0] = 1, x.data
    bound_walk(&inner, 0, x)  # its start moves through x
    if _shortest(&folded) <= _shortest(&kept) or not some:
        _fold_rows(reduction, &outer, &inner, some, x.data, divisor)
    else:
        _fold_columns(reduction, &outer, &inner, x.data, divisor)


cdef void _fold_rows(const td_reduction *reduction, Walk *outer, Walk *inner, int some, const char *origin,
                     double divisor) noexcept nogil:
    cdef int64_t outer_position[32]
    cdef int64_t inner_position[32]
    cdef int64_t i
    cdef int run = outer.ndim - 1
    cdef int row = inner.ndim - 1
    cdef int64_t start = inner.data[0] - origin  # planning turns negative strides round
    cdef double acc
    memset(outer_position, 0, sizeof(outer_position))
    while True:
        for i in range(outer.shape[run]):
            reduction.start(1, <char *>&acc)
            if some:
                inner.data[0] = outer.data[0] + i * outer.strides[0][run] + start
                memset(inner_position, 0, sizeof(inner_position))
                while True:
                    reduction.row(inner.shape[row], inner.data[0], inner.strides[0][row], <char *>&acc)
                    if not next_run(inner, inner_position):
                        break
            reduction.finish(1, <const char *>&acc, divisor, outer.data[1] + i * outer.strides[1][run], 0)
        if not next_run(outer, outer_position):
            return


cdef void _fold_columns(const td_reduction *reduction, Walk *outer, Walk *inner, const char *origin,
                        double divisor) noexcept nogil:
    cdef int64_t outer_position[32]
    cdef int64_t inner_position[32]
    cdef int64_t at, n, i, folded
    cdef int run = outer.ndim - 1
    cdef int row = inner.ndim - 1
    cdef int64_t start = inner.data[0] - origin
    cdef double total[CHUNK]
    cdef double part[CHUNK]
    memset(outer_position, 0, sizeof(outer_position))
    while True:
        at = 0
        while at < outer.shape[run]:
            n = min(<int64_t>CHUNK, outer.shape[run] - at)
            reduction.start(n, <char *>total)
            reduction.start(n, <char *>part)
            inner.data[0] = outer.data[0] + at * outer.strides[0][run] + start
            memset(inner_position, 0, sizeof(inner_position))
            folded = 0
            while True:
                for i in range(inner.shape[row]):
                    reduction.column(n, inner.data[0] + i * inner.strides[0][row], outer.strides[0][run], <char *>part)
                    folded += 1
                    if folded == BLOCK:
                        reduction.merge(n, <const char *>part, <char *>total)
                        reduction.start(n, <char *>part)
                        folded = 0
                if not next_run(inner, inner_position):
                    break
            reduction.merge(n, <const char *>part, <char *>total)
            reduction.finish(n, <const char *>total, divisor, outer.data[1] + at * outer.strides[1][run],
                             outer.strides[1][run])
            at += n
        if not next_run(outer, outer_position):
            return


cdef void arg_view(td_arg_loop loop, const td_view *x, int axis, const td_view *out) noexcept nogil:
    cdef td_view lines = x[0]
    cdef Walk walk
    cdef int64_t position[32]
    cdef const td_view *views[4]
    cdef int64_t i
    cdef int run
    lines.shape[axis] = 1
    views[0], views[1] = &lines, out
    if not plan_walk(&walk, 2, views):
        return
    run = walk.ndim - 1
    memset(position, 0, sizeof(position))
    while True:
        for i in range(walk.shape[run]):
            (<int64_t *>(walk.data[1] + i * walk.strides[1][run]))[0] = loop(
                x.shape[axis], walk.data[0] + i * walk.strides[0][run], x.strides[axis])
        if not next_run(&walk, position):
            return


cdef void scan_view(const td_reduction *reduction, const td_view *x, int axis, const td_view *out) noexcept nogil:
    cdef td_view lines = x[0]
    cdef td_view out_lines = out[0]
    cdef Walk walk
    cdef int64_t position[32]
    cdef const td_view *views[4]
    cdef int64_t i
    cdef int run
    lines.shape[axis] = out_lines.shape[axis] = 1
    views[0], views[1] = &lines, &out_lines
    if x.shape[axis] == 0 or not plan_walk(&walk, 2, views):
        return
    run = walk.ndim - 1
    memset(position, 0, sizeof(position))
    while True:
        for i in range(walk.shape[run]):
            reduction.scan(x.shape[axis], walk.data[0] + i * walk.strides[0][run], x.strides[axis],
                           walk.data[1] + i * walk.strides[1][run], out.strides[axis])
        if not next_run(&walk, position):
            return
