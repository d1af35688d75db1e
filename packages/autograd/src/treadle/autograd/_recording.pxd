cpdef bint recording() noexcept
cpdef bint serving() noexcept
cpdef int serve(int step) except -1
