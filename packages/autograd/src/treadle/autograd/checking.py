"""Numerical gradients, and the comparison of rules with them. Every element is looked at, in float64.

The central difference (f(x + h) - f(x - h)) / 2h errs by h^2 f'''/6 for truncation and by about eps |f| / h for
rounding, eps being 2.2e-16 in float64. The sum is least near h = 1e-5, at some 1e-10; in float32, whose eps is 1.2e-7,
nothing useful would be left, so float32 values are exchanged for float64 ones while the check runs.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, product
from operator import itemgetter
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor, constant
from treadle.autograd._tuples import TupleItem
from treadle.autograd.checkpointing import Checkpoint
from treadle.autograd.errors import GradientCheckError, GradientError
from treadle.autograd.gradients import grad
from treadle.autograd.graph import Graph
from treadle.autograd.mode import enable_grad
from treadle.autograd.ops import Cholesky, Eigh
from treadle.ndarray import DTypeError, NDArray, ShapeError

__all__ = ["check_rules", "gradcheck", "gradgradcheck", "numerical_gradient"]

Function = Callable[..., Any]
_OF_SYMMETRIC = (Cholesky, Eigh)  # they read one triangle; their rules give the gradient with respect to both
_GOLDEN = 0.6180339887498949


@contextmanager
def _in_float64(tensors: Sequence[Tensor]) -> Iterator[None]:
    """While it lasts the tensors hold float64 copies; then they hold again what they held, object and all."""
    held = [each.data for each in tensors]
    try:
        for each in tensors:
            each._exchange(nd.astype(each.data, _double(each)))
        yield
    finally:
        for each, data in zip(tensors, held, strict=True):
            each._exchange(data)


def _double(tensor: Tensor) -> str:
    return "complex128" if tensor.dtype.kind == "c" else "float64"


def _perturbed(value: NDArray, h: float) -> Iterator[tuple[tuple[int, ...], complex]]:
    """Move every element by +h and -h in turn, a complex one also by +ih and -ih, and put it back.

    The step of an element above 1 is h times its size: the function's rounding is, too. Yields the element's index and
    1 / 2 over the step, or i / 2 over the step without i: what a function's value is to be multiplied by, so that the
    sum over all steps is the difference quotient, dL/dx + i dL/dy of a complex element.
    """
    if not 0.0 < h < math.inf:
        raise GradientError(f"the step h is {h!r}; it must be above 0, such as 1e-5")
    directions = (1.0, -1.0, 1j, -1j) if value.dtype.kind == "c" else (1.0, -1.0)
    for index in product(*(range(length) for length in value.shape)):
        before = value[index].item()
        step = h * max(1.0, abs(before)) if math.isfinite(abs(before)) else h
        try:
            for direction in directions:
                value[index] = before + direction * step
                yield index, 0.5 * direction / step
        finally:
            value[index] = before


def numerical_gradient(function: Function, x: Tensor, h: float = 1e-5) -> Tensor:
    """The gradient of a real scalar function of x by central differences over every element, as a float64 tensor.

    Of complex x it is dL/dx + i dL/dy, by steps in both parts, as a complex128 tensor.

    ``function`` is called with x, whose values are exchanged for float64 ones meanwhile (so it may as well ignore its
    argument and refer to x, as a model does to its parameters); afterwards x holds its own array again, untouched.

    Raises ShapeError if the function's value is not a scalar, DTypeError for integer x, GradientError for a step h that
    is not above 0.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0, 2.0])
    >>> [round(each, 6) for each in ag.numerical_gradient(lambda x: (x * x).sum(), x).tolist()]
    [2.0, 4.0]
    """
    if not isinstance(x, Tensor):
        raise DTypeError(f"numerical_gradient: x must be a Tensor, not {type(x).__name__}; wrap it with Tensor(...)")
    if x.dtype.kind not in "fc":
        raise DTypeError(
            f"numerical_gradient: x must be floating or complex, not {x.dtype.name}; convert it with astype"
        )
    with _in_float64([x]):  # with the graph on: the function may differentiate
        result = nd.zeros(x.shape, dtype=_double(x), device=x.device)
        for index, weight in _perturbed(x.data, h):
            result[index] = result[index].item() + _scalar(function(x)) * weight
        return constant(result)


def _scalar(value: Any) -> float:
    if value is None:
        raise DTypeError("numerical_gradient: the function gave nothing; it must return its value")
    if isinstance(value, Tensor) and value.size != 1:
        raise ShapeError(
            f"numerical_gradient: the function's value has shape {value.shape}; it must be a scalar, such as its sum"
        )
    number = value.item() if isinstance(value, Tensor) else value
    if isinstance(number, complex):
        raise DTypeError("numerical_gradient: the function's value is complex; it must be real, such as its real part")
    return float(number)


def gradcheck(
    function: Function, inputs: Tensor | Sequence[Tensor], *, h: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3
) -> bool:
    """Compare the gradients of ``function(*inputs)`` with numerical ones, in float64 or complex128.

    Every element of every input that requires grad is compared; the outputs (a tensor or several, of any shape) enter
    with weights that differ element by element.

    Returns True, or raises GradientCheckError that names the input, the element and both values, and the ops in the
    function whose own rules do not hold (see :func:`check_rules`), with their lines. Raises GradientError when no input
    requires grad, or when the function writes into an input.

    >>> import treadle.autograd as ag
    >>> ag.gradcheck(lambda x: ag.exp(x) * x, ag.Tensor([[0.5, 1.0]], requires_grad=True))
    True
    """
    return _check(function, _given(inputs, "gradcheck"), h, atol, rtol, False)


def _given(inputs: Any, name: str) -> tuple[Tensor, ...]:
    given = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    for number, each in enumerate(given):
        if not isinstance(each, Tensor):
            raise DTypeError(
                f"{name}: input {number} is a {type(each).__name__}, not a Tensor; wrap it with Tensor(...)"
            )
    return given


def _check(
    function: Function, given: tuple[Tensor, ...], h: float, atol: float, rtol: float, constant_allowed: bool
) -> bool:
    difference = _difference(function, given, h, atol, rtol, constant_allowed)
    if difference is not None:
        blame = "" if isinstance(function, Op) else _blame(function, given, h, atol, rtol)
        raise GradientCheckError(f"gradcheck: {difference}{blame}")
    return True


def _difference(
    function: Function, given: tuple[Tensor, ...], h: float, atol: float, rtol: float, constant_allowed: bool = False
) -> str | None:
    """Where the gradients differ from the central differences, in words; None where they do not."""
    checked = [each for each in given if each.requires_grad]
    if not checked:
        raise GradientError("gradcheck: no input requires grad")
    floating = [each for each in given if each.dtype.kind in "fc"]
    with _in_float64(floating):
        versions = [each.data.version for each in given]
        with enable_grad():
            analytic = _analytic(function, given, checked, constant_allowed)
        if versions != [each.data.version for each in given]:
            raise GradientError("gradcheck: the function, or a rule in it, writes into an input")
        for number, tensor in enumerate(given):
            if tensor.requires_grad:
                found = _difference_of(function, given, number, analytic.pop(0), h, atol, rtol)
                if found is not None:
                    return f"gradient of input {number} {found}"
    return None


def _blame(function: Function, given: tuple[Tensor, ...], h: float, atol: float, rtol: float) -> str:
    """Which ops of the function have a wrong rule, in words."""
    with enable_grad():
        outputs = [each for each in _outputs(function(*given)) if each.requires_grad]
    faults = check_rules(*outputs, h=h, atol=atol, rtol=rtol)
    if not faults:
        return "; the rule of each op holds by itself, so look for what is not part of the graph (detach, .data, state)"
    return "; the rule at fault:\n" + "\n".join(f"  {fault}" for fault in faults)


def _analytic(
    function: Function, given: tuple[Tensor, ...], checked: list[Tensor], constant_allowed: bool
) -> list[NDArray]:
    outputs = [each for each in _outputs(function(*given)) if each.requires_grad]
    if not outputs and constant_allowed:
        return [nd.zeros_like(each.data) for each in checked]
    if not outputs:
        raise GradientError("gradcheck: no output of the function requires grad; is the graph broken?")
    seeds = [constant(_weights(each)) for each in outputs]
    found = grad(outputs, checked, seeds, allow_unused=True)
    return [
        nd.zeros_like(tensor.data) if gradient is None else gradient.data
        for tensor, gradient in zip(checked, found, strict=True)
    ]


def _difference_of(
    function: Function, given: tuple[Tensor, ...], number: int, analytic: NDArray, h: float, atol: float, rtol: float
) -> str | None:
    for index, moves in groupby(_perturbed(given[number].data, h), key=itemgetter(0)):
        total: Any = 0.0  # element by element: large outputs would swallow the differences of small ones
        for _, weight in moves:  # with the graph on: the function may differentiate
            total = total + _weighted(function(*given)) * weight
        expected = nd.sum(total).item()
        got = analytic[index].item()
        if not abs(got - expected) <= atol + rtol * abs(expected):
            return f"at {index}: the rules give {got:.10g}, the central difference {expected:.10g}"
    return None


def _outputs(value: Any) -> tuple[Tensor, ...]:
    outputs = tuple(value) if isinstance(value, list | tuple) else (value,)
    for each in outputs:
        if not isinstance(each, Tensor):
            raise DTypeError(f"gradcheck: the function gives a {type(each).__name__}, not a Tensor or several")
    return outputs


def _weights(output: Tensor) -> NDArray:
    """Weights without a pattern that a wrong rule could share: 1/2 and the fractions of k times the golden ratio.

    Those of complex outputs have imaginary parts of the same kind, with a sign.
    """
    steps = nd.arange(1, output.size + 1, dtype="float64", device=output.device)
    parts = nd.reshape(steps * _GOLDEN % 1.0 + 0.5, output.shape)
    return nd.astype(parts + (1.0 - parts * parts) * 1j if output.dtype.kind == "c" else parts, output.dtype)


def _weighted(value: Any) -> NDArray:
    """All elements of all outputs times their weights; of complex ones the real part of conj(weight) * output."""
    rows = [
        nd.reshape(nd.real(each.data * nd.conj(_weights(each))), (-1,))
        for each in _outputs(value)
        if each.dtype.kind in "fc"
    ]
    return nd.concat([nd.astype(each, nd.float64) for each in rows]) if rows else nd.zeros((1,), dtype="float64")


def gradgradcheck(
    function: Function, inputs: Tensor | Sequence[Tensor], *, h: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3
) -> bool:
    """:func:`gradcheck` of the gradient itself, as a function of the inputs and of the outputs' gradients.

    >>> import treadle.autograd as ag
    >>> ag.gradgradcheck(lambda x: ag.exp(x) * x, ag.Tensor([[0.5, 1.0]], requires_grad=True))
    True
    """
    given = _given(inputs, "gradgradcheck")
    checked = [number for number, each in enumerate(given) if each.requires_grad]
    with enable_grad():
        outputs = [each for each in _outputs(function(*given)) if each.requires_grad]
    if checked and not outputs:
        raise GradientError("gradgradcheck: no output of the function requires grad; is the graph broken?")
    seeds = [Tensor(_weights(each), requires_grad=True) for each in outputs]

    def gradients(*values: Tensor) -> list[Tensor]:
        operands, weights = values[: len(given)], values[len(given) :]
        with enable_grad():
            results = [each for each in _outputs(function(*operands)) if each.requires_grad]
            found = grad(
                results, [operands[number] for number in checked], weights, create_graph=True, allow_unused=True
            )
        return [each for each in found if each is not None]

    return _check(gradients, (*given, *seeds), h, atol, rtol, True)  # a gradient that is 0 depends on nothing


def check_rules(*outputs: Tensor, h: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3) -> list[GradientCheckError]:
    """Check the rule of every op in the graph behind the outputs by itself, at the operands it has there.

    So the op whose rule is wrong is named inside a composed function. Returns what was found, in forward order; empty
    when all rules agree with the central differences. Ops are called again: those that draw random numbers will differ.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([0.5, 1.0], requires_grad=True)
    >>> ag.check_rules(ag.exp(x * x).sum())
    []
    """
    found = []
    for node in Graph.of(*outputs):
        op: Any = node.tensor.op
        if op is None or isinstance(op, TupleItem) or not node.tensor.requires_grad:
            continue
        if isinstance(op, Checkpoint):
            found += check_rules(op.again(*node.tensor.inputs[: op.count]), h=h, atol=atol, rtol=rtol)
            continue
        operands = tuple(
            Tensor(each.data.copy(), requires_grad=each.requires_grad) if each.dtype.kind in "fc" else each
            for each in node.tensor.inputs
        )
        function = _of_symmetric(op) if isinstance(op, _OF_SYMMETRIC) else op
        difference = _difference(function, operands, h, atol, rtol)
        if difference is not None:
            found.append(GradientCheckError(f"{op}{node.tensor._built_at()}: {difference}"))
    return found


def _of_symmetric(op: Any) -> Function:
    return lambda x: op((x + x.mT) * 0.5)
