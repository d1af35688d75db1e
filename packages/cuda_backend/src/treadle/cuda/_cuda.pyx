"""The backend on a GPU: the kernels as compiled by nvcc."""

include "kernel_backend.pxi"
