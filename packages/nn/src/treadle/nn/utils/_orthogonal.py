"""Matrices with orthonormal columns or rows, computed from matrices that may be anything."""

from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.module import Module

__all__ = ["Orthogonal", "OrthogonalFromBase", "OrthogonalHouseholder"]


class Orthogonal(Module):
    """By "matrix_exp" or "cayley" of the skew part of the lower triangle, or by "householder" reflections."""

    def __init__(self, shape: tuple[int, ...], orthogonal_map: str) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = shape, orthogonal_map

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        result = self._columns(autograd.matrix_transpose(x) if wide else x)
        return autograd.matrix_transpose(result) if wide else result

    def _columns(self, x: Tensor) -> Tensor:
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            below = autograd.tril(x, k=-1)
            product = autograd.linalg.householder_product(below, 2.0 / (1.0 + autograd.sum(below * below, axis=-2)))
            signs = nd.trunc(nd.linalg.diagonal(x.data))  # as PyTorch: 1 and -1, which stay as they are
            return product * Tensor(signs[..., None, :])
        lower = autograd.tril(x)
        if n != k:
            lower = autograd.concat([lower, autograd.zeros((*x.shape[:-1], n - k), **_like(x))], axis=-1)
        skew = lower - adjoint(lower)
        if self.orthogonal_map == "matrix_exp":
            return autograd.linalg.matrix_exp(skew)[..., :k]
        one = autograd.eye(n, **_like(x))
        return autograd.linalg.solve(one - skew * 0.5, one + skew * 0.5)[..., :k]


class OrthogonalHouseholder(Orthogonal):
    """Given a matrix, the reflections that make its columns orthonormal."""

    def right_inverse(self, weight: Tensor) -> Tensor:
        self.check(weight)
        wide = weight.shape[-2] < weight.shape[-1]
        found = _reflections(weight.data.mT if wide else weight.data)
        return Tensor(found.mT if wide else found)

    def check(self, weight: Tensor) -> None:
        """ShapeError for a weight of another shape."""
        if weight.shape != self.shape:
            raise nd.ShapeError(f"orthogonal: a weight of shape {weight.shape} for one of {self.shape}")


class OrthogonalFromBase(OrthogonalHouseholder):
    """Turned from a fixed orthogonal matrix, so that a given one is at zero: Lezcano-Casado 2019, trivializations."""

    def __init__(self, shape: tuple[int, ...], orthogonal_map: str) -> None:
        super().__init__(shape, orthogonal_map)
        self.register_buffer("base", None)

    def _columns(self, x: Tensor) -> Tensor:
        base: Tensor = vars(self)["base"]
        return autograd.matmul(base, super()._columns(x))

    def right_inverse(self, weight: Tensor) -> Tensor:
        self.check(weight)
        columns = weight.data.mT if weight.shape[-2] < weight.shape[-1] else weight.data
        n, k = columns.shape[-2:]
        if n != k:
            kind = nd.finfo(columns.dtype).dtype
            drawn = nd.random.normal(0.0, 1.0, (*columns.shape[:-1], n - k), dtype=kind, device=columns.device)
            columns = nd.concat([columns, drawn.astype(columns.dtype)], axis=-1)
        self.base = Tensor(columns.copy() if _is_orthogonal(columns) else _orthonormal(columns))
        negative = nd.zeros(weight.shape, **_like(weight))
        return Tensor(negative - nd.eye(*weight.shape[-2:], **_like(weight)))


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose."""
    turned = autograd.matrix_transpose(x)
    return autograd.conj(turned) if x.dtype.kind == "c" else turned


def _like(x: Any) -> dict[str, Any]:
    return {"dtype": x.dtype, "device": x.device}


def _is_orthogonal(columns: nd.NDArray) -> bool:
    square = nd.matmul(nd.conj(columns).mT if columns.dtype.kind == "c" else columns.mT, columns)
    off = nd.abs(square - nd.eye(columns.shape[-1], **_like(columns)))
    return bool(nd.all(off <= 10.0 * columns.shape[-2] * nd.finfo(columns.dtype).eps))


def _orthonormal(columns: nd.NDArray) -> nd.NDArray:
    """Q of the decomposition Q R whose R has a positive diagonal."""
    q, r = nd.linalg.qr(columns)
    diagonal = nd.linalg.diagonal(r)
    return q * nd.where(diagonal == 0.0, 1.0, nd.sign(diagonal))[..., None, :]


def _reflections(x: nd.NDArray) -> nd.NDArray:
    """The vectors of the Householder decomposition, with the signs of R on the diagonal (LAPACK's geqrf)."""
    rest = x.copy()
    found = nd.zeros_like(x)
    for at in range(x.shape[-1]):
        column = rest[..., at:, at]
        first = column[..., :1]
        below = nd.linalg.vector_norm(column[..., 1:], axis=-1, keepdims=True)
        still = below == 0.0  # nothing to reflect
        length = nd.linalg.vector_norm(column, axis=-1, keepdims=True)
        beta = nd.where(first < 0.0, length, -length)
        divisor = nd.where(still, 1.0, first - beta)
        v = nd.where(nd.arange(column.shape[-1], device=x.device) == 0, 1.0, column / divisor)
        tau = nd.where(still, 0.0, (beta - first) / nd.where(still, 1.0, beta))
        block = rest[..., at:, at:]
        along = nd.matmul(v[..., None, :], block)
        rest[..., at:, at:] = block - (tau * v)[..., :, None] * along
        found[..., at:, at] = nd.where(still, 0.0, v)
        found[..., at, at] = nd.where(still, -nd.sign(first), nd.sign(beta))[..., 0]
    return found
