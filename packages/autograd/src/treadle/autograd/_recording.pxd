cpdef bint recording() noexcept
cpdef bint serving() noexcept
cpdef int serve(int step) except -1
cpdef void record(bint wanted) noexcept
cpdef int depth() noexcept
