"""Sorting along an axis, from checked arguments to the kernel."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from treadle.ndarray._layout cimport Walk, next_run, plan_walk
from treadle.ndarray._operands cimport converted, on_device
from treadle.ndarray._shapes cimport normal_axis
from treadle.ndarray._strided cimport Strided, allocate, cpu_device
from treadle.ndarray._types cimport TD_f32, TD_i64, dtype_from_id, is_half, td_view

cdef extern from "kernels/sort.h" nogil:
    int64_t td_sort_scratch(int dtype, int64_t n, int with_places)
    void td_sort_line(int dtype, int64_t n, const char *x, int64_t sx, char *values, int64_t sv, char *places,
                      int64_t sp, int descending, void *scratch)


cdef int _sort_view(const td_view *x, int axis, const td_view *values, const td_view *places,
                    bint descending) noexcept nogil:
    """Sort every line of x along the axis. values or places may be NULL. Returns -1 where memory is missing."""
    cdef td_view lines[3]
    cdef const td_view *views[4]
    cdef int64_t strides[3]
    cdef Walk walk
    cdef int64_t position[32]
    cdef int64_t i
    cdef int run, each
    cdef void *scratch
    lines[0] = x[0]
    lines[1] = values[0] if values != NULL else places[0]
    lines[2] = places[0] if places != NULL else values[0]
    for each in range(3):
        strides[each] = lines[each].strides[axis]
        lines[each].shape[axis] = 1
        views[each] = &lines[each]
    if not plan_walk(&walk, 3, views):
        return 0
    scratch = malloc(td_sort_scratch(x.dtype, x.shape[axis], places != NULL) + 1)
    if scratch == NULL:
        return -1
    run = walk.ndim - 1
    memset(position, 0, sizeof(position))
    while True:
        for i in range(walk.shape[run]):
            td_sort_line(x.dtype, x.shape[axis], walk.data[0] + i * walk.strides[0][run], strides[0],
                         walk.data[1] + i * walk.strides[1][run] if values != NULL else NULL, strides[1],
                         walk.data[2] + i * walk.strides[2][run] if places != NULL else NULL, strides[2],
                         descending, scratch)
        if not next_run(&walk, position):
            break
    free(scratch)
    return 0


cdef tuple _sort_elsewhere(Strided x, int axis, bint descending, bint stable, Strided values, Strided places):
    """Sort by the device's backend, or on the host where it cannot."""
    method = getattr(x.device.backend, "sort", None)
    if method is not None:
        method(x, axis, descending, stable, values, places)
        return values, places
    host_values, host_places = sort("sort", on_device(x, cpu_device), axis, descending, stable, values is not None,
                                    places is not None)
    return (None if values is None else on_device(host_values, x.device),
            None if places is None else on_device(host_places, x.device))


cdef tuple _sort_halves(str op, Strided x, int axis, bint descending, bint want_values, bint want_places):
    """By way of float32, which has the same order."""
    values, places = sort(op, converted(x, TD_f32), axis, descending, True, want_values, want_places)
    return converted(values, x.view.dtype) if want_values else None, places


def sort(str op, Strided x, axis, bint descending, bint stable, bint want_values, bint want_places):
    """The sorted values and the int64 places that they came from, each None where it is not wanted.

    NaN comes last in both directions. On the cpu every sort is stable.
    """
    cdef int along = normal_axis(axis, &x.view, op)
    cdef int failed
    cdef Strided values = allocate(x.dtype, x.device, &x.view) if want_values else None
    cdef Strided places = allocate(dtype_from_id(TD_i64), x.device, &x.view) if want_places else None
    if x.size == 0:
        return values, places
    if is_half(x.view.dtype) and x.device.is_cpu:
        return _sort_halves(op, x, along, descending, want_values, want_places)
    if not x.device.is_cpu:
        return _sort_elsewhere(x, along, descending, stable, values, places)
    with nogil:
        failed = _sort_view(&x.view, along, &values.view if want_values else NULL,
                            &places.view if want_places else NULL, descending)
    if failed:
        raise MemoryError(f"{op}: no memory for the scratch space")
    return values, places
