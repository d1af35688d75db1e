"""Lazy mode refuses at the call what eager mode refuses, with the same class of error; by iteration over all ops.

Each op's sample is spoiled in many ways: operands of other shapes and dtypes, one too few or too many, on two devices,
and every configuration that its ``__init__`` takes. What eager mode accepts lazy mode accepts too, and foretells.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.autograd as ag
import treadle.ndarray as nd
from samplers import SAMPLERS, Draw, Sample

EXAMPLES = settings(max_examples=3, deadline=None)
OF_VALUES = ("an index among the values", nd.LinearAlgebraError)
Call = Callable[[], Any]


def _spoiled(array: Any) -> Iterator[tuple[str, Any]]:
    """The operand with another shape or dtype."""
    yield "an axis more", array[None]
    if array.ndim:
        yield (
            "an axis less",
            array.reshape(-1)[0] if array.ndim == 1 and array.size else array.sum(axis=0).astype(array.dtype),
        )
    for axis in range(array.ndim):
        yield f"longer along {axis}", np.concatenate([array, array[(slice(None),) * axis + (slice(0, 1),)]], axis=axis)
        yield f"empty along {axis}", array[(slice(None),) * axis + (slice(0, 0),)]
    for dtype in ("bool", "int64", "uint8", "float16", "float32", "float64", "complex64"):
        if dtype != array.dtype and not (array.dtype.kind == "i" and dtype == "uint8"):  # negative indices
            with np.errstate(all="ignore"):
                yield dtype, array.astype(dtype)


WRONG: dict[type, tuple[Any, ...]] = {
    int: (99, -99, 1.5, "x"),
    float: ("x",),
    bool: (),
    str: ("x", 3),
    tuple: (99, "x", (99,), (-99, 1), (1.5,)),
    type(None): (99, "x", 1.5),
}


def _configured(op: ag.Op) -> Iterator[tuple[str, Call]]:
    """Makers of the same op with one argument exchanged."""
    if type(op).__init__ is ag.Op.__init__ or isinstance(op, ag.ops.UnaryOp):
        return
    taken = list(inspect.signature(type(op).__init__).parameters.values())[1:]
    names = getattr(op, "configuration", None) or [each.name for each in taken if "VAR" not in each.kind.name]
    config = {name: getattr(op, name) for name in names}
    for name, value in config.items():
        for wrong in WRONG.get(type(value), (99, "x")):
            if repr(wrong) != repr(value) and not (
                isinstance(op, ag.ops.BinaryOp) and not isinstance(wrong, int | float)
            ):
                yield f"{name}={wrong!r}", lambda changed=config | {name: wrong}: type(op)(**changed)


def _calls(sample: Sample) -> Iterator[tuple[str, Call]]:
    tensors = [ag.Tensor(each, requires_grad=each.dtype.kind == "f") for each in sample.operands]
    for index, array in enumerate(sample.operands):
        for what, other in _spoiled(array):
            changed = [*tensors[:index], ag.Tensor(other), *tensors[index + 1 :]]
            yield f"operand {index}: {what}", lambda changed=changed: sample.call(*changed)
    if len(tensors) > 1:
        elsewhere = [*tensors[:-1], ag.Tensor(sample.operands[-1], device="numpy")]
        yield "two devices", lambda: sample.call(*elsewhere)
        yield "one less", lambda: sample.call(*tensors[:-1])
    if isinstance(sample.call, ag.Op):
        yield "one more", lambda: sample.call(*tensors, tensors[-1])
        for what, make in _configured(sample.call):
            yield what, lambda make=make: make()(*tensors)


def _outcome(call: Call) -> Any:
    """What a call gives: shapes and dtypes, or the class of its error."""
    try:
        result = call()
    except nd.IndexingError as error:
        return "an index among the values" if re.search("out of (range|bounds)", str(error)) else type(error)
    except Exception as error:
        return type(error)
    return [(each.shape, each.dtype) for each in (result if isinstance(result, tuple | list) else (result,))]


@pytest.mark.parametrize("name", SAMPLERS)
@EXAMPLES
@given(data=st.data())
def test_errors_come_at_the_call_as_in_eager_mode(name: str, data: Any) -> None:
    sample = SAMPLERS[name](Draw(data.draw))
    different = []
    for what, call in _calls(sample):
        with ag.lazy(False):
            eager = _outcome(call)
        with ag.lazy():
            lazy = _outcome(call)
        two_faults = lazy in OF_VALUES and isinstance(eager, type)
        if lazy != eager and eager not in OF_VALUES and not two_faults:
            different.append(f"{sample.call}: {what}: eager {eager}, lazy {lazy}")
    assert not different, "\n".join(different)
