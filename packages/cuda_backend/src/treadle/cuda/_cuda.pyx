"""The backend on a GPU: the kernels as compiled by nvcc."""

include "runtime_objects.pxi"
include "layer_kernels.pxi"
include "kernel_backend.pxi"
