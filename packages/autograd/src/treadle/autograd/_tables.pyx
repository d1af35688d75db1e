"""The engine's tables, without a Python object for each number: what ``_tables.py`` does with a list and a dict."""

cimport cython
from libc.stdlib cimport calloc, free, realloc


@cython.final
@cython.no_gc
cdef class Integers:

    def __dealloc__(self):
        free(self.items)

    cpdef int push(self, Py_ssize_t value) except -1:
        cdef Py_ssize_t room
        cdef void *grown
        if self.count == self.room:
            room = 2 * self.room if self.room else 64
            grown = realloc(self.items, room * sizeof(Py_ssize_t))
            if grown == NULL:
                raise MemoryError
            self.items = <Py_ssize_t *>grown
            self.room = room
        self.items[self.count] = value
        self.count += 1
        return 0

    cpdef Py_ssize_t pop(self) noexcept:
        self.count -= 1
        return self.items[self.count]

    cpdef Py_ssize_t at(self, Py_ssize_t index) noexcept:
        return self.items[index]

    cpdef Py_ssize_t add(self, Py_ssize_t index, Py_ssize_t amount) noexcept:
        self.items[index] += amount
        return self.items[index]

    cpdef Py_ssize_t length(self) noexcept:
        return self.count

    cpdef Integers copied(self):
        cdef Integers twin = Integers()
        cdef Py_ssize_t index
        for index in range(self.count):
            twin.push(self.items[index])
        return twin


@cython.final
@cython.no_gc
cdef class Slots:
    # open addressing, linear probing, at most half full

    def __cinit__(self):
        self.mask = 127
        self.keys = <void **>calloc(self.mask + 1, sizeof(void *))
        self.values = <Py_ssize_t *>calloc(self.mask + 1, sizeof(Py_ssize_t))
        if self.keys == NULL or self.values == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.keys)
        free(self.values)

    cpdef Py_ssize_t find(self, node) noexcept:
        cdef size_t at = _place(<void *>node) & self.mask
        while self.keys[at] != NULL:
            if self.keys[at] == <void *>node:
                return self.values[at]
            at = (at + 1) & self.mask
        return -1

    cpdef int put(self, node, Py_ssize_t slot) except -1:
        if 2 * self.count > <Py_ssize_t>self.mask:
            self._grow()
        cdef size_t at = _place(<void *>node) & self.mask
        while self.keys[at] != NULL:
            at = (at + 1) & self.mask
        self.keys[at] = <void *>node
        self.values[at] = slot
        self.count += 1
        return 0

    cdef int _grow(self) except -1:
        cdef size_t mask = 4 * self.mask + 3
        cdef void **keys = <void **>calloc(mask + 1, sizeof(void *))
        cdef Py_ssize_t *values = <Py_ssize_t *>calloc(mask + 1, sizeof(Py_ssize_t))
        cdef size_t old, at
        if keys == NULL or values == NULL:
            free(keys)
            free(values)
            raise MemoryError
        for old in range(self.mask + 1):
            if self.keys[old] != NULL:
                at = _place(self.keys[old]) & mask
                while keys[at] != NULL:
                    at = (at + 1) & mask
                keys[at] = self.keys[old]
                values[at] = self.values[old]
        free(self.keys)
        free(self.values)
        self.keys = keys
        self.values = values
        self.mask = mask
        return 0


cdef inline size_t _place(void *node) noexcept:
    cdef size_t address = <size_t>node >> 4  # objects lie at multiples of 16
    return address ^ (address >> 12)
