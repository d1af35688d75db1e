"""Differentiation as a transformation of functions: a function of tensors in, a function of tensors out.

``treadle.autograd.grad`` asks a graph that exists for gradients; the functions here build the graph themselves. They
nest: ``grad(grad(f))`` is the second derivative. Arguments that need no gradient and are no tensors are handed on as
they are.

>>> import treadle.autograd as ag
>>> from treadle.autograd import functional as F
>>> square = lambda x: (x * x).sum()
>>> F.grad(square)(ag.Tensor([1.0, 2.0])).tolist()
[2.0, 4.0]
"""

from collections.abc import Callable, Sequence
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import functions as _functions
from treadle.autograd._op import kind_of
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import GradientError
from treadle.autograd.gradients import grad as _grad
from treadle.autograd.mode import enable_grad, is_inference_mode_enabled
from treadle.autograd.vectorizing import Batched, vmap
from treadle.ndarray import ArgumentError, DTypeError, ShapeError

__all__ = ["grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"]

Function = Callable[..., Any]
Argnums = int | Sequence[int]


def _positions(argnums: Any, count: int, name: str) -> tuple[int, ...]:
    positions = tuple(argnums) if isinstance(argnums, list | tuple | range) else (argnums,)
    if not all(isinstance(each, int) for each in positions):
        raise ArgumentError(f"{name}: argnums is {argnums!r}; pass an int or a sequence, each an int")
    for each in positions:
        if not -count <= each < count:
            raise GradientError(f"{name}: argnums names argument {each}, of {count} arguments")
    return tuple(each % count for each in positions)


def _variable(value: Any, name: str) -> Tensor:
    """A tensor of the same values that gradients are taken for; part of the outer graph where there is one."""
    if not isinstance(value, Tensor):
        raise DTypeError(f"{name}: an argument to differentiate by is a {type(value).__name__}, not a Tensor")
    _refuse_batched(value, name)
    if value.dtype.kind not in "fc":
        raise DTypeError(f"{name}: an argument to differentiate by is of dtype {value.dtype.name}; use astype")
    return _functions.positive(value) if value.requires_grad else Tensor(value.data, requires_grad=True)


def _variables(arguments: tuple[Any, ...], positions: tuple[int, ...], name: str) -> tuple[list[Any], list[Tensor]]:
    """The arguments with variables at the positions, and these; whether an outer graph looks on."""
    if is_inference_mode_enabled():
        raise GradientError(f"{name}: no gradient can be taken inside inference_mode()")
    given = list(arguments)
    with enable_grad():
        for each in positions:
            given[each] = _variable(given[each], name)
    return given, [given[each] for each in positions]


def _is_nested(arguments: tuple[Any, ...], result: Any = None, variables: Sequence[Tensor] = ()) -> bool:
    """Whether an outer graph looks on: through an argument, or through a tensor that the function took from outside."""
    if any(isinstance(each, Tensor) and each.requires_grad for each in arguments):
        return True
    seen = {id(each) for each in variables}
    stack = [result] if isinstance(result, Tensor) else []
    while stack:
        each = stack.pop()
        if id(each) in seen or not each.requires_grad:
            continue
        seen.add(id(each))
        if each.is_leaf:
            return True
        stack.extend(each.inputs)
    return False


def _output(value: Any, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise DTypeError(f"{name}: the function must return a Tensor, not {type(value).__name__}")
    _refuse_batched(value, name)
    return value


def _differentiable(value: Any, name: str) -> Tensor:
    output = _output(value, name)
    if output.dtype.kind not in "fc":
        raise DTypeError(f"{name}: the function's result is of dtype {output.dtype.name}, which has no gradient")
    return output


def _scalar(output: Tensor, name: str) -> Tensor:
    if output.size != 1:
        raise ShapeError(f"{name}: the function's result has shape {output.shape}, not that of a scalar; see jacobian")
    return output


def _with_aux(result: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise DTypeError(f"{name}: with has_aux the function must return (value, anything), not {kind_of(result)}")
    return result


def _detached(value: Any) -> Any:
    """What a function returned beside its value, with tensors that have left its graph."""
    if isinstance(value, Tensor):
        return value.detach()
    if isinstance(value, dict):
        return {name: _detached(each) for name, each in value.items()}
    if isinstance(value, tuple | list) and (type(value) in (tuple, list) or hasattr(value, "_make")):
        return getattr(value, "_make", type(value))([_detached(each) for each in value])
    return value


def _check_tangents(primals: Sequence[Tensor], tangents: Sequence[Tensor], name: str) -> None:
    """That there is a tensor of its shape and dtype for each argument."""
    for what, given in (("arguments", primals), ("tangents", tangents)):
        if isinstance(given, Tensor) or not isinstance(given, Sequence):
            raise DTypeError(f"{name}: the {what} are a sequence of tensors, not a {type(given).__name__}")
    if len(primals) != len(tangents):
        raise GradientError(f"{name}: {len(primals)} arguments and {len(tangents)} tangents")
    for index, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        if isinstance(primal, Tensor):
            _check_like(tangent, primal, f"{name}: tangent {index}")


def _check_like(value: Any, like: Tensor, what: str) -> None:
    if not isinstance(value, Tensor):
        raise DTypeError(f"{what} is a {type(value).__name__}, not a Tensor; wrap it with Tensor(...)")
    if value.shape != like.shape:
        raise ShapeError(f"{what} has shape {value.shape}; it must be {like.shape}")
    if value.dtype is not like.dtype:
        raise DTypeError(f"{what} is of dtype {value.dtype.name}; it must be {like.dtype.name}")


def _refuse_batched(value: Tensor, name: str) -> None:
    if isinstance(value, Batched):
        raise GradientError(
            f"{name}: gradients are not taken inside vmap(); take them of it, as in jacobian(lambda w: vmap(lambda x: "
            "loss(w, x))(batch))(w), which has the gradient of each example"
        )


def _filled(gradients: Sequence[Tensor | None], like: Sequence[Tensor]) -> list[Tensor]:
    """Zeros where the result does not depend on the argument: that is the derivative of a constant."""
    return [
        constant(nd.zeros_like(each.data)) if gradient is None else gradient
        for gradient, each in zip(gradients, like, strict=True)
    ]


def value_and_grad(function: Function, argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., tuple[Any, Any]]:
    """A function that gives ``(function(*arguments), gradient)``, for a function with a scalar result.

    ``argnums`` says by which positional arguments to differentiate: one number gives one gradient, a sequence a tuple.
    With ``has_aux`` the function returns ``(value, anything)``, and so does the first part of the result, in which
    tensors, also those in tuples, lists and dicts, have left the function's graph. An argument that the value does not
    depend on has a gradient of zeros.

    Raises ShapeError when the result is not a scalar, DTypeError when it, or an argument, is not a floating tensor.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import value_and_grad
    >>> value, gradient = value_and_grad(lambda x: (x**3).sum())(ag.Tensor([1.0, 2.0]))
    >>> value.item(), gradient.tolist()
    (9.0, [3.0, 12.0])
    """

    def transformed(*arguments: Any, **keywords: Any) -> tuple[Any, Any]:
        positions = _positions(argnums, len(arguments), "value_and_grad")
        given, variables = _variables(arguments, positions, "value_and_grad")
        with enable_grad():
            result = function(*given, **keywords)
        value, aux = _with_aux(result, "value_and_grad") if has_aux else (result, None)
        value = _scalar(_differentiable(value, "value_and_grad"), "value_and_grad")
        nested = _is_nested(arguments, value, variables)
        gradients: list[Tensor] = _filled([None] * len(variables), variables)
        if value.requires_grad:
            found = _grad(value, variables, create_graph=nested, allow_unused=True)
            gradients = _filled(found, variables)
        outer = result if nested else (value.detach(), _detached(aux)) if has_aux else value.detach()
        return outer, gradients[0] if isinstance(argnums, int) else tuple(gradients)

    return transformed


def grad(function: Function, argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a function with a scalar result, as a function. See :func:`value_and_grad`.

    With ``has_aux`` it gives ``(gradient, anything)``.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import grad
    >>> cube = lambda x: x**3
    >>> grad(cube)(ag.Tensor(2.0)).item(), grad(grad(cube))(ag.Tensor(2.0)).item()
    (12.0, 12.0)
    """
    both = value_and_grad(function, argnums, has_aux)

    def transformed(*arguments: Any, **keywords: Any) -> Any:
        value, gradients = both(*arguments, **keywords)
        return (gradients, value[1]) if has_aux else gradients

    return transformed


def vjp(function: Function, *primals: Tensor) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, ...]]]:
    """``(result, pullback)``: the pullback takes a gradient of the result to those of the arguments (v^T J).

    The pullback can be called any number of times.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import vjp
    >>> result, pullback = vjp(lambda x: x * x, ag.Tensor([1.0, 2.0]))
    >>> pullback(ag.Tensor([1.0, 10.0]))[0].tolist()
    [2.0, 40.0]
    """
    given, variables = _variables(primals, tuple(range(len(primals))), "vjp")
    with enable_grad():
        result = _output(function(*given), "vjp")
    nested = _is_nested(primals, result, variables)

    def pullback(gradient: Tensor) -> tuple[Tensor, ...]:
        _check_like(gradient, result, "vjp: the gradient")
        if not result.requires_grad:
            return tuple(_filled([None] * len(variables), variables))
        again = nested or gradient.requires_grad
        found = _grad(result, variables, gradient, retain_graph=True, create_graph=again, allow_unused=True)
        return tuple(_filled(found, variables))

    return (result if nested else result.detach()), pullback


def jvp(function: Function, primals: Sequence[Tensor], tangents: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """``(result, J t)``: how the result moves when the arguments move along the tangents, of their shapes.

    The pullback is linear in what it is given, so its own derivative, pulled back by the tangents, is J t (the double
    backward trick): two backward passes, whatever the number of arguments.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import jvp
    >>> result, moved = jvp(lambda x: x * x, [ag.Tensor([1.0, 2.0])], [ag.Tensor([1.0, 0.5])])
    >>> moved.tolist()
    [2.0, 2.0]
    """
    _check_tangents(primals, tangents, "jvp")
    given, variables = _variables(tuple(primals), tuple(range(len(primals))), "jvp")
    with enable_grad():
        result = _output(function(*given), "jvp")
        nested = _is_nested((*primals, *tangents), result, variables)
        moved: Tensor | None = None
        if result.requires_grad:
            dual = Tensor(nd.zeros_like(result.data), requires_grad=True)
            pulled = _grad(result, variables, dual, create_graph=True, allow_unused=True)
            pairs = [(g, t) for g, t in zip(pulled, tangents, strict=True) if g is not None and g.requires_grad]
            if pairs:
                roots, seeds = zip(*pairs, strict=True)
                (moved,) = _grad(roots, dual, seeds, create_graph=nested, allow_unused=True)
    (moved,) = _filled([moved], [result])
    return (result if nested else result.detach()), moved


def jacobian(function: Function, argnums: Argnums = 0) -> Callable[..., Any]:
    """The Jacobian of a function, as a function: of shape ``result.shape + argument.shape``.

    One backward run for each element of the result, over one graph. ``argnums`` as in :func:`value_and_grad`.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import jacobian
    >>> jacobian(lambda x: x * x)(ag.Tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    def transformed(*arguments: Any, **keywords: Any) -> Any:
        positions = _positions(argnums, len(arguments), "jacobian")
        given, variables = _variables(arguments, positions, "jacobian")
        with enable_grad():
            result = _differentiable(function(*given, **keywords), "jacobian")
        nested = _is_nested(arguments, result, variables)
        rows: list[list[Tensor]] = [[] for _ in variables]
        for place in range(result.size):
            found: Sequence[Tensor | None] = [None] * len(variables)
            if result.requires_grad:
                seed = nd.zeros((result.size,), dtype=result.dtype, device=result.device)
                seed[place] = 1.0
                found = _grad(
                    result, variables, constant(seed.reshape(result.shape)),
                    retain_graph=True, create_graph=nested, allow_unused=True,
                )  # fmt: skip
            for row, gradient in zip(rows, _filled(found, variables), strict=True):
                row.append(gradient)
        jacobians = [
            _functions.reshape(_functions.stack(row), result.shape + variable.shape)
            if row
            else constant(nd.zeros(result.shape + variable.shape, dtype=variable.dtype, device=variable.device))
            for row, variable in zip(rows, variables, strict=True)
        ]
        return jacobians[0] if isinstance(argnums, int) else tuple(jacobians)

    return transformed


def hessian(function: Function, argnums: int = 0) -> Callable[..., Tensor]:
    """The matrix of second derivatives of a function with a scalar result: of shape ``argument.shape`` twice.

    ``argnums`` is one number; ``jacobian(grad(function, i), j)`` has the derivatives by two different arguments.

    Raises ArgumentError, ShapeError when the result is not a scalar, DTypeError when it is not a floating tensor.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1])(ag.Tensor([1.0, 2.0])).tolist()
    [[4.0, 2.0], [2.0, 0.0]]
    """
    if not isinstance(argnums, int):
        raise ArgumentError(
            f"hessian: argnums is {argnums!r}; pass one int, and for the derivatives by arguments i and j use "
            "jacobian(grad(function, i), j)"
        )

    def scalar(*arguments: Any, **keywords: Any) -> Tensor:
        return _scalar(_differentiable(function(*arguments, **keywords), "hessian"), "hessian")

    return jacobian(grad(scalar, argnums), argnums)


def hvp(function: Function, primals: Sequence[Tensor], tangents: Sequence[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """``(value, H t)`` for a function with a scalar result: its Hessian times the tangents, without forming it.

    Pearlmutter, Fast exact multiplication by the Hessian (1994), as the gradient of grad . t.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.functional import hvp
    >>> value, (product,) = hvp(lambda x: (x**3).sum(), [ag.Tensor([1.0, 2.0])], [ag.Tensor([1.0, 1.0])])
    >>> product.tolist()
    [6.0, 12.0]
    """
    _check_tangents(primals, tangents, "hvp")
    given, variables = _variables(tuple(primals), tuple(range(len(primals))), "hvp")
    with enable_grad():
        value = _scalar(_output(function(*given), "hvp"), "hvp")
        nested = _is_nested((*primals, *tangents), value, variables)
        products: Sequence[Tensor | None] = [None] * len(variables)
        if value.requires_grad:
            first = _grad(value, variables, create_graph=True, allow_unused=True)
            pairs = [(g, t) for g, t in zip(first, tangents, strict=True) if g is not None and g.requires_grad]
            if pairs:
                roots, seeds = zip(*pairs, strict=True)
                products = _grad(roots, variables, seeds, create_graph=nested, allow_unused=True)
    return (value if nested else value.detach()), tuple(_filled(products, variables))
