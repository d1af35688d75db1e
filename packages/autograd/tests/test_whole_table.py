"""Every op and every function with a gradient, by iteration: an op without a sampler fails.

Each is checked over drawn shapes and configurations, in float64 and complex128: first and second derivatives against
central differences, the inferred result, operands and gradients of any layout, float32 beside float64.
"""

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.autograd as ag
import treadle.ndarray as nd
from samplers import SAMPLERS, Draw, Sample

BASES = {"BinaryOp", "UnaryOp", "ReduceOp"}
NAMES = pytest.mark.parametrize("name", SAMPLERS)
DEVICES = st.sampled_from(["cpu", "cpu", "numpy"])
EXAMPLES = settings(max_examples=6, deadline=None)


def _classes() -> set[str]:
    found = {name for name, each in vars(ag.ops).items() if isinstance(each, type) and issubclass(each, ag.Op)}
    return found - BASES


def _functions() -> dict[str, Any]:
    """The public functions of tensors; makers of constants take none, those without a gradient any number."""
    found = {}
    for prefix, module in (("", ag.functions), ("linalg.", ag.linalg), ("fft.", ag.fft)):
        for name in module.__all__:
            function = getattr(module, name)
            if isinstance(function, ag.Op) or not callable(function):
                continue
            first = next(iter(inspect.signature(function).parameters.values()))
            kind = str(first.annotation)
            if first.kind is not first.VAR_POSITIONAL and "Tensor" in kind:
                found[prefix + name] = function
    return found


def test_every_op_and_every_function_has_a_sampler() -> None:
    assert _classes() <= set(SAMPLERS), _classes() - set(SAMPLERS)
    alike = {each.lower() for each in SAMPLERS}
    without = {"argsort", "sign"}  # no gradient, or that of other functions
    for name in _functions():
        own = name.rpartition(".")[2].replace("_", "")
        assert name in SAMPLERS or own in alike or own in without, name
    known = _classes() | set(_functions())
    assert set(SAMPLERS) <= known, set(SAMPLERS) - known


# --- operands ---------------------------------------------------------------------------------------------------------
def _complex(array: Any) -> Any:
    """The array with imaginary parts that are as different, and away from the cuts on the axes."""
    if array.dtype.kind != "f":
        return array
    places = np.random.default_rng(array.size).permutation(array.size).reshape(array.shape)
    return array + 1j * (0.1 + 0.35 * places / max(array.size, 1))


LAYOUTS = ["contiguous", "reversed", "strided", "transposed", "zero stride"]


def _laid_out(array: Any, layout: str) -> nd.NDArray:
    """The values in another layout; of a zero stride, those of the first place of an axis."""
    if layout == "reversed" and array.ndim:
        return nd.asarray(np.ascontiguousarray(array[::-1]), copy=True)[::-1]
    if layout == "strided" and array.ndim:
        wide = nd.zeros((*array.shape[:-1], array.shape[-1] * 2 + 1), dtype=array.dtype.name)
        view = wide[..., 1::2]
        view[...] = nd.asarray(array)
        return view
    if layout == "transposed" and array.ndim > 1:
        return nd.asarray(np.ascontiguousarray(array.T), copy=True).transpose()
    if layout == "zero stride" and array.ndim and array.shape[0]:
        return nd.broadcast_to(nd.asarray(array[:1].copy()), array.shape)
    return nd.asarray(array, copy=True)


def _leaves(arrays: list[Any]) -> list[ag.Tensor]:
    return [ag.Tensor(each, requires_grad=nd.asarray(each).dtype.kind in "fc") for each in arrays]


def _run(call: Any, leaves: list[ag.Tensor], backwards: bool = False) -> tuple[list[Any], list[Any]]:
    """The results, and the gradients of the operands for fixed seeds, laid out backwards or not."""
    result = call(*leaves)
    outputs = [each for each in (result if isinstance(result, tuple) else (result,)) if each.requires_grad]
    seeds = []
    for each in outputs:
        values = np.cos(1.0 + 0.7 * np.arange(each.size)).reshape(each.shape)
        values = (values + 0.5j * values[::-1] if each.dtype.kind == "c" and each.ndim else values) + 0.0
        values = values.astype(each.dtype.name)
        seeds.append(ag.Tensor(_laid_out(values, "reversed" if backwards else "contiguous"), device=each.device))
    targets = [each for each in leaves if each.requires_grad]
    found = ag.grad(outputs, targets, seeds, allow_unused=True) if outputs else [None] * len(targets)
    gradients = [np.zeros(x.shape) if g is None else g.numpy() for g, x in zip(found, targets, strict=True)]
    return [each.numpy() for each in outputs], gradients


def _close(ours: list[Any], expected: list[Any], tolerance: float) -> None:
    for mine, other in zip(ours, expected, strict=True):
        bound = tolerance * max(1.0, float(np.abs(other).max(initial=0.0)))
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=bound)


def _sample(data: Any, name: str) -> Sample:
    return SAMPLERS[name](Draw(data.draw))


# --- the checks -------------------------------------------------------------------------------------------------------
@NAMES
@EXAMPLES
@given(data=st.data(), device=DEVICES)
def test_derivatives_and_inference(name: str, data: Any, device: str) -> None:
    with nd.use_device(device):
        _check_derivatives(_sample(data, name), name)


def _check_derivatives(sample: Sample, name: str) -> None:
    kinds = [lambda array: array, _complex] if sample.complex else [lambda array: array]
    for kind in kinds:
        leaves = _leaves([kind(each) for each in sample.operands])
        assert ag.gradcheck(sample.call, leaves)
        assert ag.gradgradcheck(sample.call, leaves, atol=2e-5 if name[0].isupper() else 2e-4)
        op = sample.call
        if isinstance(op, ag.Op) and type(op).infer is not ag.Op.infer:
            result = op(*leaves)
            told = op.infer(tuple(each.shape for each in leaves), tuple(each.dtype for each in leaves))
            assert told == (result.shape, result.dtype)


@NAMES
@EXAMPLES
@given(data=st.data(), device=DEVICES, layout=st.sampled_from(LAYOUTS), backwards=st.booleans())
def test_layouts_and_precision(name: str, data: Any, device: str, layout: str, backwards: bool) -> None:
    with nd.use_device(device):
        sample = _sample(data, name)
        _check_layouts(sample, layout, backwards, sample.complex and data.draw(st.booleans()))


def _check_layouts(sample: Sample, layout: str, backwards: bool, complex: bool) -> None:
    if layout == "zero stride" and not sample.flat:
        layout = "strided"
    arrays = [_complex(each) if complex else each for each in sample.operands]
    laid = [_laid_out(each, layout) if each.dtype.kind in "fc" else each for each in arrays]
    plain = [np.ascontiguousarray(each.numpy()) if isinstance(each, nd.NDArray) else each for each in laid]
    plain = [each.reshape(other.shape) for each, other in zip(plain, arrays, strict=True)]
    expected = _run(sample.call, _leaves(plain))
    ours = _run(sample.call, _leaves(laid), backwards)
    for mine, other in zip(ours, expected, strict=True):
        _close(mine, other, 1e-10)
    if layout == "zero stride":
        return
    narrow = {"float64": "float32", "complex128": "complex64"}
    single = [each.astype(narrow.get(each.dtype.name, each.dtype.name)) for each in arrays]
    for mine, other in zip(_run(sample.call, _leaves(single)), expected, strict=True):
        _close(mine, other, sample.tolerance)


@NAMES
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_what_has_no_complex_gradient_refuses_complex_numbers(name: str, data: Any) -> None:
    sample = _sample(data, name)
    if not sample.complex:
        with pytest.raises(nd.DTypeError):
            sample.call(*_leaves([_complex(each) for each in sample.operands]))
