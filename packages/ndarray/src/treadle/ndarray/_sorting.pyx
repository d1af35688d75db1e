"""Sorting along an axis and searching in sorted lines, from checked arguments to the kernels."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from treadle.ndarray._layout cimport Walk, plan_walk
from treadle.ndarray._threads cimport parallel_for
from treadle.ndarray._memory cimport Buffer, allocate_host
from treadle.ndarray._operands cimport on_device
from treadle.ndarray._shapes cimport normal_axis
from treadle.ndarray._strided cimport Strided, allocate, cpu_device
from treadle.ndarray._types cimport TD_i64, dtype_from_id, td_view

from treadle.ndarray._threads import get_num_threads

cdef extern from "kernels/sort_kernels.h" nogil:
    ctypedef struct td_search_loops:
        void (*search)(int64_t n, const char *sorted, int64_t m, const char *x, int right, int64_t *out) noexcept nogil
        int64_t (*groups)(int64_t n, const char *sorted, const int64_t *places, int64_t *starts,
                          int64_t *inverse) noexcept nogil
    ctypedef struct td_sort_kernels:
        td_search_loops search[1]
    int64_t td_sort_moved
    int td_sort_depth

cdef extern from "kernels/sort.h" nogil:
    ctypedef struct td_sort_job:
        const td_sort_kernels *kernels
        int32_t dtype, descending, outer, workers
        int64_t length, taken
        int64_t shape[32]
        const char *x
        char *values
        char *places
        int64_t x_strides[32]
        int64_t value_strides[32]
        int64_t place_strides[32]
        int64_t x_stride, value_stride, place_stride
        int64_t blocks, worker_bytes
        char *scratch
        int32_t *taken_scratch
    const td_sort_kernels *td_sort_select(int isa)
    void td_sort_plan(td_sort_job *job)
    void td_sort_block(void *job, int64_t block) noexcept

cdef enum:
    SEARCH_BLOCK = 4096  # values

cdef const td_sort_kernels *_kernels = td_sort_select(0)


def select(int isa):
    """Use the kernels of an instruction set."""
    global _kernels
    _kernels = td_sort_select(isa)


def limit_depth(int depth):
    """Bound how deep quicksort parts a line, negative for the usual bound; for tests."""
    global td_sort_depth
    td_sort_depth = depth


def take_steps():
    """How many keys sorting moved on this thread since the last call; for tests."""
    global td_sort_moved
    cdef int64_t moved = td_sort_moved
    td_sort_moved = 0
    return moved


cdef bint _plan(td_sort_job *job, const td_view *x, int axis, const td_view *values, const td_view *places) noexcept:
    """Fill in the lines of a job; False where there are none."""
    cdef td_view lines[3]
    cdef const td_view *views[4]
    cdef Walk walk
    cdef int each
    cdef size_t lengths
    lines[0] = x[0]
    lines[1] = values[0] if values != NULL else places[0]
    lines[2] = places[0] if places != NULL else values[0]
    job.x_stride, job.value_stride, job.place_stride = (
        x.strides[axis], lines[1].strides[axis], lines[2].strides[axis])
    for each in range(3):
        lines[each].shape[axis] = 1
        views[each] = &lines[each]
    if not plan_walk(&walk, 3, views):
        return False
    lengths = walk.ndim * sizeof(int64_t)
    job.outer = walk.ndim
    memcpy(job.shape, walk.shape, lengths)
    memcpy(job.x_strides, walk.strides[0], lengths)
    memcpy(job.value_strides, walk.strides[1], lengths)
    memcpy(job.place_strides, walk.strides[2], lengths)
    job.x = walk.data[0]
    job.values = walk.data[1] if values != NULL else NULL
    job.places = walk.data[2] if places != NULL else NULL
    td_sort_plan(job)
    return True


cdef int _run(td_sort_job *job) except -1:
    cdef Buffer scratch
    cdef int64_t occupied
    job.workers = <int32_t>min(<int64_t>get_num_threads(), job.blocks)
    occupied = (job.workers * sizeof(int32_t) + 63) // 64 * 64
    scratch = allocate_host(occupied + job.workers * job.worker_bytes)
    memset(scratch.data, 0, occupied)
    job.taken_scratch = <int32_t *>scratch.data
    job.scratch = scratch.data + occupied
    with nogil:
        parallel_for(job.blocks, td_sort_block, job)
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


cdef tuple _sort_here(Strided x, int axis, int64_t taken, bint descending, bint want_values, bint want_places):
    """The first ``taken`` of every line, on the cpu."""
    cdef td_sort_job job
    cdef td_view shape = x.view
    cdef Strided values = None
    cdef Strided places = None
    shape.shape[axis] = taken
    if want_values:
        values = allocate(x.dtype, x.device, &shape)
    if want_places:
        places = allocate(dtype_from_id(TD_i64), x.device, &shape)
    if x.size == 0 or taken == 0:
        return values, places
    job.kernels = _kernels
    job.dtype = x.view.dtype
    job.descending = descending
    job.length = x.view.shape[axis]
    job.taken = taken
    if _plan(&job, &x.view, axis, &values.view if want_values else NULL, &places.view if want_places else NULL):
        _run(&job)
    return values, places


def sort(str op, Strided x, axis, bint descending, bint stable, bint want_values, bint want_places):
    """The sorted values and the int64 places that they came from, each None where it is not wanted.

    NaN comes last in both directions. On the cpu every sort is stable.
    """
    cdef int along = normal_axis(axis, &x.view, op)
    cdef Strided values, places
    if x.device.is_cpu:
        return _sort_here(x, along, x.view.shape[along], descending, want_values, want_places)
    values = allocate(x.dtype, x.device, &x.view) if want_values else None
    places = allocate(dtype_from_id(TD_i64), x.device, &x.view) if want_places else None
    if x.size == 0:
        return values, places
    return _sort_elsewhere(x, along, descending, stable, values, places)


def top(Strided x, int axis, int64_t k, bint largest):
    """The first k elements of every line of an array of the cpu, in order, and their places."""
    return _sort_here(x, axis, k, largest, True, True)


cdef struct Search:
    const td_sort_kernels *kernels
    const td_view *elements
    const td_view *values
    int64_t *out
    int64_t size
    int64_t itemsize
    int right


cdef void _search_block(void *context, int64_t block) noexcept nogil:
    cdef const Search *job = <const Search *>context
    cdef int64_t first = block * SEARCH_BLOCK
    job.kernels.search[job.values.dtype].search(
        job.elements.shape[0], job.elements.data, min(<int64_t>SEARCH_BLOCK, job.size - first),
        job.values.data + first * job.itemsize, job.right, job.out + first)


def search(Strided elements, Strided values, bint right):
    """Places of values among sorted elements: dense arrays of one dtype, on the cpu."""
    cdef Strided out = allocate(dtype_from_id(TD_i64), values.device, &values.view)
    cdef Search job
    job.kernels = _kernels
    job.elements = &elements.view
    job.values = &values.view
    job.out = <int64_t *>out.view.data
    job.size, job.itemsize, job.right = values.size, values.dtype.itemsize, right
    with nogil:
        parallel_for((values.size + SEARCH_BLOCK - 1) // SEARCH_BLOCK, _search_block, &job)
    return out


def groups(Strided ordered, Strided places or None):
    """Where each group of equal elements of a dense sorted line starts, and the group of the element at each of the
    places that the sorted ones came from (None without places)."""
    cdef Strided starts = allocate(dtype_from_id(TD_i64), ordered.device, &ordered.view)
    cdef Strided inverse = None if places is None else allocate(starts.dtype, ordered.device, &ordered.view)
    cdef int64_t *from_places = NULL
    cdef int64_t *to = NULL
    cdef int64_t count
    if places is not None:
        from_places, to = <int64_t *>places.view.data, <int64_t *>inverse.view.data
    with nogil:
        count = _kernels.search[ordered.view.dtype].groups(ordered.size, ordered.view.data, from_places,
                                                           <int64_t *>starts.view.data, to)
    return starts.sliced((slice(0, count),)), inverse
