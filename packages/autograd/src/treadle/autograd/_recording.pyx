"""Whether this thread's ops record a graph: every op call asks, so that it is a variable of the thread in C."""

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define TREADLE_THREAD_LOCAL __declspec(thread)
    #else
    #define TREADLE_THREAD_LOCAL __thread
    #endif
    static TREADLE_THREAD_LOCAL int treadle_silent = 0;
    static TREADLE_THREAD_LOCAL int treadle_serving = 0;
    """
    int treadle_silent
    int treadle_serving


cpdef bint recording() noexcept:
    return not treadle_silent


cpdef int record(bint wanted) except -1:
    global treadle_silent
    treadle_silent = not wanted
    return 0


cpdef bint serving() noexcept:
    return treadle_serving > 0


cpdef int serve(int step) except -1:
    global treadle_serving
    treadle_serving += step
    return 0
