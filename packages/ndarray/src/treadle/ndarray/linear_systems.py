"""Systems of equations and products of many matrices, composed for arrays and, by their namespace, for tensors."""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from treadle.ndarray._array import NDArray
from treadle.ndarray.errors import ShapeError
from treadle.ndarray.matrix_functions import Wrap, array_functions

__all__ = ["LstsqResult", "chain", "condition", "least_squares", "triangular_solution"]


class LstsqResult(NamedTuple):
    """What ``lstsq`` gives: arrays, or tensors of which all but the solution and the residuals are constants."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


def triangular_solution(xp: Any, wrap: Wrap, a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    """The x with a @ x = b, or x @ a = b, where only one triangle of a is read.

    A lower triangle is turned into an upper one: elimination with pivots then leaves the rows where they are, and is
    substitution.
    """
    n = a.shape[-1] if len(a.shape) >= 2 else None
    if n is None or len(b.shape) < 2 or not a.shape[-2] == n == b.shape[-2 if left else -1]:
        raise ShapeError(
            f"solve_triangular: shapes {a.shape} and {b.shape} must be (..., n, n) and "
            f"{'(..., n, k)' if left else '(..., k, n) with left=False'}"
        )
    if not left:
        turned, b = xp.matrix_transpose(a), xp.matrix_transpose(b)
        return xp.matrix_transpose(triangular_solution(xp, wrap, turned, b, not upper, True, unit))
    above = 1 if unit else 0
    part = xp.triu(a, k=above) if upper else xp.tril(a, k=-above)
    if unit:
        part = part + wrap(array_functions().eye(n, dtype=a.dtype, device=a.device))
    if upper:
        return xp.linalg.solve(part, b)
    return xp.flip(xp.linalg.solve(xp.flip(part, axis=(-2, -1)), xp.flip(b, axis=-2)), axis=-2)


def condition(xp: Any, wrap: Wrap, x: Any, values: NDArray, p: int | float | str | None) -> Any:
    """norm(x) norm(inv(x)), infinite for singular matrices; in the 2-norms by singular values."""
    if values.ndim < 2 or 0 in values.shape[-2:]:
        raise ShapeError(f"cond: shape {values.shape} is no matrix with elements, and no stack of them")
    if p in (None, 2, -2):
        of_x = xp.linalg.svdvals(x)
        above, below = (of_x[..., -1], of_x[..., 0]) if p == -2 else (of_x[..., 0], of_x[..., -1])
        nothing = xp.equal(below, 0.0)
        return xp.where(nothing, inf, above / xp.where(nothing, 1.0, below))
    nd = array_functions()
    singular = nd.abs(nd.linalg.slogdet(values).sign) == 0.0
    one = wrap(nd.eye(values.shape[-1], dtype=x.dtype, device=values.device))
    regular = xp.where(wrap(nd.reshape(singular, (*singular.shape, 1, 1))), one, x)
    product = xp.linalg.matrix_norm(x, ord=p) * xp.linalg.matrix_norm(xp.linalg.inv(regular), ord=p)
    return xp.where(wrap(singular), inf, product)


def least_squares(xp: Any, wrap: Wrap, a: Any, b: Any, values: NDArray, rcond: float | None) -> LstsqResult:
    """The shortest x with the smallest norm(b - a @ x), by the pseudo-inverse."""
    if len(a.shape) < 2 or not b.shape or (b.shape[-2:-1] or b.shape) != a.shape[-2:-1]:
        raise ShapeError(f"lstsq: shapes {a.shape} and {b.shape} must be (..., m, n) and (..., m, k) or (m,)")
    nd = array_functions()
    m, n = a.shape[-2:]
    of_a = nd.linalg.svdvals(values)
    rtol = max(m, n) * nd.finfo(of_a.dtype).eps if rcond is None else rcond
    rank = nd.count_nonzero(of_a > (nd.max(of_a, axis=-1, keepdims=True) * rtol if of_a.size else 0.0), axis=-1)
    matrix = xp.expand_dims(b, axis=-1) if len(b.shape) == 1 else b
    solution = xp.matmul(xp.linalg.pinv(a, rtol=rtol), matrix)
    if m > n and bool(nd.all(rank == n)):
        residuals = xp.sum(xp.square(xp.abs(matrix - xp.matmul(a, solution))), axis=-2)
    else:
        residuals = wrap(nd.zeros((0,), dtype=of_a.dtype, device=values.device))
    solution = solution[..., 0] if len(b.shape) == 1 else solution
    return LstsqResult(solution, residuals, wrap(rank), wrap(of_a))


def chain(xp: Any, operands: Sequence[Any]) -> Any:
    """The product of matrices in the order that takes the fewest multiplications.

    T. Cormen et al., Introduction to algorithms, section 15.2 (matrix-chain multiplication).
    """
    given = [tuple(each.shape) for each in operands]
    ends = {0, len(given) - 1}
    if len(given) < 2 or not all(len(shape) == 2 or (len(shape) == 1 and at in ends) for at, shape in enumerate(given)):
        raise ShapeError(f"multi_dot: shapes {given} must be two matrices or more; the ends may be vectors")
    matrices = list(operands)
    if len(given[0]) == 1:
        matrices[0] = xp.expand_dims(matrices[0], axis=0)
    if len(given[-1]) == 1:
        matrices[-1] = xp.expand_dims(matrices[-1], axis=1)
    lengths = [matrices[0].shape[0], *(each.shape[1] for each in matrices)]
    if any(each.shape[0] != length for each, length in zip(matrices, lengths, strict=False)):
        raise ShapeError(f"multi_dot: shapes {given} do not fit one behind the other")
    product = _multiplied(xp, matrices, _cuts(lengths), 0, len(matrices) - 1)
    product = product[0] if len(given[0]) == 1 else product
    return product[..., 0] if len(given[-1]) == 1 else product


def _cuts(lengths: list[int]) -> dict[tuple[int, int], int]:
    """For each run of matrices the last of its left part in the cheapest order."""
    count = len(lengths) - 1
    costs = {(at, at): 0 for at in range(count)}
    cuts = {}
    for width in range(1, count):
        for first in range(count - width):
            last = first + width
            options = [
                (costs[first, cut] + costs[cut + 1, last] + lengths[first] * lengths[cut + 1] * lengths[last + 1], cut)
                for cut in range(first, last)
            ]
            costs[first, last], cuts[first, last] = min(options)
    return cuts


def _multiplied(xp: Any, matrices: list[Any], cuts: dict[tuple[int, int], int], first: int, last: int) -> Any:
    if first == last:
        return matrices[first]
    cut = cuts[first, last]
    left, right = _multiplied(xp, matrices, cuts, first, cut), _multiplied(xp, matrices, cuts, cut + 1, last)
    return xp.matmul(left, right)
