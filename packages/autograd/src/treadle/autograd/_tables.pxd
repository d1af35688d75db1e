cdef class Integers:
    cdef Py_ssize_t *items
    cdef Py_ssize_t room
    cdef Py_ssize_t count

    cpdef int push(self, Py_ssize_t value) except -1
    cpdef Py_ssize_t pop(self) noexcept
    cpdef Py_ssize_t at(self, Py_ssize_t index) noexcept
    cpdef Py_ssize_t add(self, Py_ssize_t index, Py_ssize_t amount) noexcept
    cpdef Py_ssize_t length(self) noexcept
    cpdef Integers copied(self)


cdef class Slots:
    cdef void **keys
    cdef Py_ssize_t *values
    cdef size_t mask
    cdef Py_ssize_t count

    cpdef Py_ssize_t find(self, node) noexcept
    cpdef int put(self, node, Py_ssize_t slot) except -1
    cdef int _grow(self) except -1
