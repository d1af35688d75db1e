"""The nodes of ONNX that an array function becomes: each form takes the :class:`Emitter` and the call."""

from collections.abc import Callable
from typing import Any

from treadle.autograd.export.onnx_forms_elementwise import ELEMENTWISE
from treadle.autograd.export.onnx_forms_selections import SELECTIONS
from treadle.autograd.export.onnx_forms_shapes import SHAPES
from treadle.autograd.export.onnx_forms_sums import SUMS

__all__ = ["FORMS"]

FORMS: dict[str, Callable[..., Any]] = {**ELEMENTWISE, **SUMS, **SHAPES, **SELECTIONS}
"""By the array function's name. A form gives the name of its result, or a list of names where there are several."""
