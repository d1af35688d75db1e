"""The backend on a GPU: the kernels as compiled by nvcc."""

include "runtime_objects.pxi"
include "kernel_backend.pxi"
