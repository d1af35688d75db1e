"""From a graph to C: a callable over tensors as one self-contained C99 file."""

from treadle.autograd.export.c_kernels import Target
from treadle.autograd.export.c_source import CSource, write_c
from treadle.autograd.export.program import Program
from treadle.autograd.export.tracing import trace

__all__ = ["CSource", "Program", "Target", "trace", "write_c"]
