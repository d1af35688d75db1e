"""From a graph to C: a callable over tensors as one self-contained C99 file. To ONNX, and from ONNX to a callable."""

from treadle.autograd.export.c_kernels import Target
from treadle.autograd.export.c_source import CSource, write_c
from treadle.autograd.export.capture import capture
from treadle.autograd.export.compiled import CompiledFunction, compile
from treadle.autograd.export.files import to_c
from treadle.autograd.export.onnx_export import to_onnx
from treadle.autograd.export.onnx_import import OnnxModel, OnnxValue, from_onnx
from treadle.autograd.export.program import Program
from treadle.autograd.export.report import ExportReport
from treadle.autograd.export.tracing import trace
from treadle.autograd.export.updates import SGD, Adam, Update

__all__ = [
    "SGD", "Adam", "CSource", "CompiledFunction", "ExportReport", "OnnxModel", "OnnxValue", "Program", "Target",
    "Update", "capture", "compile", "from_onnx", "to_c", "to_onnx", "trace", "write_c",
]  # fmt: skip
