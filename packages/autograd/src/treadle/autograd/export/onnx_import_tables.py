"""All ops of ONNX that treadle has, by name; those of another domain than the default one as ``domain:name``."""

from collections.abc import Callable
from typing import Any

from treadle.autograd.export.onnx_import_arithmetic import ARITHMETIC
from treadle.autograd.export.onnx_import_classical import CLASSICAL
from treadle.autograd.export.onnx_import_control import CONTROL
from treadle.autograd.export.onnx_import_images import IMAGES
from treadle.autograd.export.onnx_import_quantized import QUANTIZED
from treadle.autograd.export.onnx_import_recurrent import RECURRENT
from treadle.autograd.export.onnx_import_reductions import REDUCTIONS
from treadle.autograd.export.onnx_import_selections import SELECTIONS
from treadle.autograd.export.onnx_import_shapes import SHAPES
from treadle.autograd.export.onnx_import_spectra import SPECTRA
from treadle.autograd.export.onnx_import_text import TEXT
from treadle.autograd.export.onnx_import_training import TRAINING
from treadle.autograd.export.onnx_import_trees import TREES
from treadle.autograd.export.onnx_import_windows import WINDOWS

__all__ = ["OPS"]

OPS: dict[str, Callable[..., Any]] = {
    **ARITHMETIC, **REDUCTIONS, **SHAPES, **SELECTIONS, **WINDOWS, **RECURRENT, **CONTROL, **QUANTIZED, **IMAGES,
    **SPECTRA, **TEXT, **TRAINING, **CLASSICAL, **TREES,
}  # fmt: skip
"""Each is called with the :class:`Step`, then the operands as tensors, None for those left out."""
