"""What the parity tests share: values carried between treadle and PyTorch, and one comparison of two modules.

PyTorch is the oracle, and these tests are skipped where it is not installed. A table of samples says how each public
class is built and called; :func:`missing` names the classes without an entry, so that a new class cannot be forgotten.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor

torch = pytest.importorskip("torch")

TOLERANCE = {"float32": 1e-5, "float64": 1e-11}
"""Relative to the largest element of what is compared, and absolute below 1."""

LEARNING_RATE = 0.1


@dataclass(frozen=True)
class Sample:
    """One way to build a module and to call it.

    ``inputs`` are shapes (tuples of ints: normal numbers, with gradients), or arrays passed as they are (integers,
    booleans, targets), or None. ``call`` are keyword arguments of the call. ``prepare`` is called on both modules after
    they are built (``lambda module: module.eval()``). ``name`` is PyTorch's class, if it is called otherwise there.
    ``tolerance`` replaces that of the dtype.
    """

    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: Sequence[Any] = ((3, 4),)
    call: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[Any], Any] | None = None
    name: str | None = None
    train: bool = True
    scale: float = 1.0
    seed: int = 0
    tolerance: float | None = None


def missing(classes: Iterable[str], *tables: Iterable[str]) -> list[str]:
    """The classes that no table has an entry for."""
    known = {name for table in tables for name in table}
    return sorted(set(classes) - known)


def public_classes(namespace: Any, base: type) -> list[str]:
    """The names in ``__all__`` of a namespace that are subclasses of ``base``."""
    found = [(name, getattr(namespace, name)) for name in namespace.__all__]
    return [name for name, value in found if isinstance(value, type) and issubclass(value, base)]


def cases(table: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The rows of a table as pytest parameters, each with a name."""
    return [
        pytest.param(name, sample, id=f"{name}-{position}")
        for name, samples in table.items()
        for position, sample in enumerate(samples)
    ]


def to_torch(value: Any) -> Any:
    """A NumPy array, or one of treadle, or a nest of them, as PyTorch's; anything else as it is."""
    if isinstance(value, Tensor):
        value = value.data
    if isinstance(value, nd.NDArray):
        value = np.array(value.numpy())
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(to_torch(each) for each in value)
    return value


def to_treadle(value: Any, requires_grad: bool = False) -> Any:
    """A NumPy array, or a nest of them, as tensors of treadle; anything else as it is."""
    if isinstance(value, np.ndarray):
        return Tensor(nd.asarray(value.copy()), requires_grad=requires_grad)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(to_treadle(each) for each in value)
    return value


def array_of(value: Any) -> np.ndarray[Any, Any]:
    """A tensor of either library as a NumPy array."""
    if isinstance(value, torch.Tensor):
        return np.asarray(value.detach().numpy())
    return np.asarray(value.numpy())


def leaves(result: Any) -> list[Any]:
    """The tensors in a nest of tuples, lists and dicts, in order; None is kept."""
    if isinstance(result, Mapping):
        result = tuple(result.values())
    if isinstance(result, tuple | list):
        return [leaf for each in result for leaf in leaves(each)]
    return [result]


def assert_close(ours: Any, theirs: Any, what: str, tolerance: float | None = None) -> None:
    """Same shape, dtype and values, to the tolerance of the dtype."""
    found, expected = array_of(ours), array_of(theirs)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, PyTorch has {expected.shape}"
    assert found.dtype == expected.dtype, f"{what}: dtype {found.dtype}, PyTorch has {expected.dtype}"
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    close = TOLERANCE[expected.dtype.name] if tolerance is None else tolerance
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=close, atol=close * scale, err_msg=what)


def assert_results(ours: Any, theirs: Any, what: str, tolerance: float | None = None) -> None:
    """The same nest of tensors."""
    found, expected = leaves(ours), leaves(theirs)
    assert len(found) == len(expected), f"{what}: {len(found)} results, PyTorch has {len(expected)}"
    for position, (first, second) in enumerate(zip(found, expected, strict=True)):
        if second is None or isinstance(second, int | float | bool):
            assert first == second, f"{what} {position}: {first!r}, PyTorch has {second!r}"
        else:
            assert_close(first, second, f"{what} {position}", tolerance)


def drawn(sample: Sample, dtype: str) -> list[Any]:
    """The inputs of a sample as NumPy arrays: normal numbers for shapes."""
    generator = np.random.default_rng(sample.seed + 1)

    def draw(given: Any) -> Any:
        if isinstance(given, tuple) and all(isinstance(each, int) for each in given):
            return (sample.scale * generator.normal(size=given)).astype(dtype)
        if isinstance(given, tuple):
            return tuple(draw(each) for each in given)
        return given

    return [draw(given) for given in sample.inputs]


def randomize(module: Any, seed: int) -> None:
    """Give every parameter and floating buffer of a PyTorch module new values; buffers positive ones (variances)."""
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            drawn = torch.from_numpy(np.asarray(0.5 * generator.normal(size=tuple(parameter.shape))))
            parameter.copy_(drawn.to(parameter.dtype))
        for buffer in module.buffers():
            if buffer.dtype.is_floating_point:
                drawn = torch.from_numpy(generator.uniform(0.5, 1.5, size=tuple(buffer.shape)))
                buffer.copy_(drawn.to(buffer.dtype))


def same_state(ours: Any, theirs: Any) -> None:
    """State dicts of the same names, order, shapes and values."""
    found, expected = ours.state_dict(), theirs.state_dict()
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert_close(found[name], value, f"state {name}")


def compare_modules(ours: Any, theirs: Any, sample: Sample, dtype: str) -> None:
    """Load theirs into ours; forward, gradients of inputs and parameters, one step of SGD, and the state after it."""
    randomize(theirs, sample.seed)
    ours.load_state_dict({name: value.detach().numpy() for name, value in theirs.state_dict().items()})
    theirs.load_state_dict({name: to_torch(value) for name, value in ours.state_dict().items()})
    same_state(ours, theirs)
    for module in (ours, theirs):
        module.train(sample.train)
        if sample.prepare is not None:
            sample.prepare(module)
    arrays = drawn(sample, dtype)
    mine = [_input(each, to_treadle) for each in arrays]
    others = [_input(each, to_torch) for each in arrays]
    call = dict(sample.call)
    found = ours(*mine, **{name: to_treadle(value) for name, value in call.items()})
    expected = theirs(*others, **{name: to_torch(value) for name, value in call.items()})
    assert_results(found, expected, "result", sample.tolerance)
    _backward(found, expected, sample.seed)
    for position, (first, second) in enumerate(zip(leaves(mine), leaves(others), strict=True)):
        if isinstance(second, torch.Tensor) and second.requires_grad:
            _same_gradient(first, second, f"gradient of input {position}", sample.tolerance)
    their_parameters = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        _same_gradient(parameter, their_parameters[name], f"gradient of {name}", sample.tolerance)
    _step(ours, theirs)
    same_state(ours, theirs)


def _input(value: Any, convert: Callable[[Any], Any]) -> Any:
    """Floating arrays as leaves that want a gradient."""
    if isinstance(value, tuple):
        return tuple(_input(each, convert) for each in value)
    converted = convert(value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        converted.requires_grad_(True)
    return converted


def _backward(found: Any, expected: Any, seed: int) -> None:
    """Both losses: the sum of all floating results times the same random numbers."""
    generator = np.random.default_rng(seed + 2)
    mine: Any = None
    theirs: Any = None
    for first, second in zip(leaves(found), leaves(expected), strict=True):
        if not isinstance(second, torch.Tensor) or not second.requires_grad:
            continue
        weights = np.asarray(generator.normal(size=tuple(second.shape)), dtype=array_of(second).dtype)
        a = (first * Tensor(nd.asarray(weights))).sum()
        b = (second * torch.from_numpy(weights)).sum()
        mine, theirs = (a, b) if mine is None else (mine + a, theirs + b)
    if theirs is not None:
        mine.backward()
        theirs.backward()


def _same_gradient(ours: Any, theirs: Any, what: str, tolerance: float | None) -> None:
    if theirs.grad is None:
        assert ours.grad is None or not np.any(array_of(ours.grad)), f"{what}: PyTorch has none"
    else:
        assert ours.grad is not None, f"{what}: there is none"
        assert_close(ours.grad, theirs.grad, what, tolerance)


def _step(ours: Any, theirs: Any) -> None:
    from treadle import optim

    parameters = [each for each in ours.parameters() if each.grad is not None]
    if parameters:
        optim.SGD(parameters, lr=LEARNING_RATE).step()
        torch.optim.SGD(theirs.parameters(), lr=LEARNING_RATE).step()


def combinations(grid: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Every choice of one dict from each list, merged."""
    merged: list[dict[str, Any]] = [{}]
    for alternatives in grid:
        merged = [{**left, **right} for left in merged for right in alternatives]
    return merged
