cpdef bint recording() noexcept
cpdef int record(bint wanted) except -1
cpdef bint serving() noexcept
cpdef int serve(int step) except -1
