"""Functions of matrices composed of products and solutions, for arrays and, by their namespace, for tensors."""

from collections.abc import Callable
from math import ceil, isfinite, log2
from typing import Any

from treadle.ndarray._array import NDArray
from treadle.ndarray.errors import ShapeError

__all__ = ["Wrap", "array_functions", "exponential", "reflections"]

Wrap = Callable[[NDArray], Any]
"""An array as an operand of the namespace's functions."""

_PADE = [1.0]
for _power in range(13):  # of (13, 13): each coefficient from the one before
    _PADE.append(_PADE[-1] * (13 - _power) / ((26 - _power) * (_power + 1)))
_LARGEST = 5.371920351148152
"""The norm up to which the approximant is exact to the last bits of float64; Higham 2005, table 2.3."""


def exponential(xp: Any, wrap: Wrap, x: Any, values: NDArray) -> Any:
    """exp of matrices (..., n, n) whose values are ``values``, by scaling and squaring of a Pade approximant.

    N. Higham, The scaling and squaring method for the matrix exponential revisited (2005), algorithm 2.3.
    """
    halvings = _halvings(values)
    most = max(halvings, default=0)
    shape = (*values.shape[:-2], 1, 1)
    wrapped: Any = {}
    if most:
        nd = array_functions()
        counts = nd.asarray(halvings, dtype="int64", device=values.device).reshape(shape)
        scales = [2.0**-each for each in halvings]
        x = x * wrap(nd.asarray(scales, device=values.device).reshape(shape).astype(values.dtype))
        wrapped = {at: wrap(counts > at) for at in range(min(halvings), most)}
    result = _approximant(xp, wrap, x, values)
    for at in range(most):
        squared = xp.matmul(result, result)
        result = xp.where(wrapped[at], squared, result) if at in wrapped else squared
    return result


def array_functions() -> Any:
    """The namespace of the arrays, which imports this module."""
    import treadle.ndarray

    return treadle.ndarray


def _halvings(values: NDArray) -> list[int]:
    """How often each matrix of the stack is halved; what is not finite stays so."""
    nd = array_functions()
    norms = nd.max(nd.sum(nd.abs(values), axis=-2), axis=-1).reshape((-1,)).tolist() if values.size else []
    return [ceil(log2(norm / _LARGEST)) if isfinite(norm) and norm > _LARGEST else 0 for norm in norms]


def _approximant(xp: Any, wrap: Wrap, x: Any, values: NDArray) -> Any:
    one = wrap(array_functions().eye(values.shape[-1], dtype=values.dtype, device=values.device))
    b = _PADE
    second = xp.matmul(x, x)
    fourth = xp.matmul(second, second)
    sixth = xp.matmul(fourth, second)
    high = xp.matmul(sixth, sixth * b[13] + fourth * b[11] + second * b[9])
    odd = xp.matmul(x, high + sixth * b[7] + fourth * b[5] + second * b[3] + one * b[1])
    high = xp.matmul(sixth, sixth * b[12] + fourth * b[10] + second * b[8])
    even = high + sixth * b[6] + fourth * b[4] + second * b[2] + one * b[0]
    return xp.linalg.solve(even - odd, even + odd)


def reflections(xp: Any, wrap: Wrap, x: Any, tau: Any) -> Any:
    """The first n columns of H_1 ... H_k with H_i = 1 - tau_i v_i v_i*, for x (..., m, n) and tau (..., k).

    v_i is below the diagonal of column i, 1 on it. All at once as 1 - V T V*, where T = (1 + D S)^-1 D with tau on D
    and the strict upper triangle S of V* V: C. Puglisi, Modification of the Householder method based on the compact
    WY representation (1992).
    """
    fits = len(x.shape) > 1 and len(tau.shape) > 0 and tau.shape[:-1] == x.shape[:-2]
    if not fits or not tau.shape[-1] <= x.shape[-1] <= x.shape[-2]:
        raise ShapeError(
            f"householder_product: shapes {x.shape} and {tau.shape} must be (..., m, n) and (..., k), k <= n <= m"
        )
    nd = array_functions()
    m, n = x.shape[-2:]
    k = tau.shape[-1]
    options: dict[str, Any] = {"dtype": x.dtype, "device": x.device}
    below = wrap(nd.tril(nd.ones((m, k), **options), k=-1))
    above = wrap(nd.triu(nd.ones((k, k), **options), k=1))
    v = x[..., :k] * below + wrap(nd.eye(m, k, **options))
    turned = xp.matrix_transpose(xp.conj(v) if x.dtype.kind == "c" else v)
    one, factors = wrap(nd.eye(k, **options)), xp.expand_dims(tau, axis=-1)
    inner = xp.linalg.solve(one + factors * (xp.matmul(turned, v) * above), one * factors)
    return wrap(nd.eye(m, n, **options)) - xp.matmul(v, xp.matmul(inner, turned[..., :n]))
