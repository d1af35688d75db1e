"""Parametrizations of weights: by direction and length, of spectral norm 1, and with orthonormal columns."""

from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor, no_grad
from treadle.nn.functional.normalization import normalize
from treadle.nn.layers.convolution_transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from treadle.nn.module import Module
from treadle.nn.utils._orthogonal import Orthogonal, OrthogonalFromBase, OrthogonalHouseholder
from treadle.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_FIRST_ITERATIONS = 15


def _or_one(lengths: Tensor) -> Tensor:
    """Lengths to divide by: where there is nothing to scale, nothing stays."""
    return autograd.where(lengths.detach() == 0.0, 1.0, lengths)


class _WeightNorm(Module):
    """Length g, with one entry for each index along ``dim``, and direction v."""

    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / _or_one(self._lengths(weight_v)))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return self._lengths(weight), weight

    def _lengths(self, weight: Tensor) -> Tensor:
        if self.dim is None:
            return autograd.norm(autograd.reshape(weight, (weight.size,)), axis=0)
        kept = self.dim % weight.ndim
        axes = tuple(axis for axis in range(weight.ndim) if axis != kept)
        return autograd.norm(weight, axis=axes, keepdims=True) if axes else autograd.abs(weight)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the lengths of a weight, one for each index along ``dim`` (or one, for None), apart from its directions.

    w = g * v / |v|; the state has ``parametrizations.<name>.original0`` for g and ``.original1`` for v. Salimans and
    Kingma 2016, "Weight normalization".

    >>> import treadle.nn as nn
    >>> layer = weight_norm(nn.Linear(4, 3))
    >>> [parameter.shape for parameter in layer.parameters()]
    [(3,), (3, 1), (3, 4)]
    """
    return register_parametrization(module, name, _WeightNorm(None if dim == -1 else dim))


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if n_power_iterations < 1:
            raise ValueError(f"spectral_norm: n_power_iterations must be 1 or more, not {n_power_iterations}")
        if not -weight.ndim <= dim < weight.ndim:
            raise nd.ShapeError(f"spectral_norm: dim {dim} of a weight of shape {weight.shape}")
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            for place, length in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
                drawn = nd.random.normal(0.0, 1.0, (length,), dtype=weight.dtype, device=weight.device)
                self.register_buffer(place, normalize(Tensor(drawn), dim=0, eps=eps))
            self._iterate(matrix, _FIRST_ITERATIONS)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = (Tensor(each.data.copy()) for each in self._vectors())
        return weight / _or_one(autograd.sum(u * autograd.matmul(matrix, v)))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # as if it were of norm 1 already

    def _matrix(self, weight: Tensor) -> Tensor:
        axes = (self.dim, *(axis for axis in range(weight.ndim) if axis != self.dim))
        moved = autograd.permute_dims(weight, axes)
        return autograd.reshape(moved, (moved.shape[0], weight.size // max(1, moved.shape[0])))

    def _vectors(self) -> tuple[Any, Any]:
        return vars(self)["_u"], vars(self)["_v"]

    def _iterate(self, matrix: Tensor, count: int) -> None:
        """The power method for the largest singular value, from where it stood."""
        left, right = self._vectors()
        with no_grad():
            for _ in range(count):
                left.data[...] = normalize(autograd.matmul(matrix, right), dim=0, eps=self.eps).data
                right.data[...] = normalize(autograd.matmul(left, matrix), dim=0, eps=self.eps).data


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, as a matrix with the rows of ``dim``.

    The value is estimated by the power method, which goes on for ``n_power_iterations`` whenever the weight is read in
    training mode. ``dim`` is 0, or 1 for transposed convolutions. Miyato et al. 2018, "Spectral normalization for
    generative adversarial networks", algorithm 1.

    >>> import treadle.nn as nn
    >>> layer = nn.Linear(2, 2)
    >>> layer.weight.data[...] = nd.asarray([[4.0, 0.0], [0.0, 1.0]])
    >>> [[round(value, 3) for value in row] for row in spectral_norm(layer).weight.tolist()]
    [[1.0, 0.0], [0.0, 0.25]]
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter {name!r} to parametrize")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep the columns of a weight (..., n, k) orthonormal, or its rows where n < k; unitary for complex ones.

    ``orthogonal_map``: "matrix_exp" and "cayley" of a skew matrix, or "householder", a product of reflections, for
    real weights. None: householder, but matrix_exp for square or complex weights. With ``use_trivialization`` the
    weight is turned from a buffer ``base``, which a weight that is assigned replaces; without it only householder can
    be assigned to. A weight that is not orthogonal becomes so. ValueError for another map, or less than 2 dimensions.
    Lezcano-Casado 2019, "Trivializations for gradient-based optimization on manifolds".

    >>> import treadle.nn as nn
    >>> weight = orthogonal(nn.Linear(4, 2)).weight
    >>> bool(nd.all(nd.abs((weight @ weight.T).data - nd.eye(2)) < 1e-5))
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter {name!r} to parametrize")
    if weight.ndim < 2:
        raise nd.ShapeError(f"orthogonal: a weight of shape {weight.shape} is no matrix, and no stack of them")
    is_complex = weight.dtype.kind == "c"
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] or is_complex else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f"orthogonal_map must be 'matrix_exp', 'cayley' or 'householder', not {orthogonal_map!r}")
    if is_complex and orthogonal_map == "householder":
        raise ValueError("orthogonal: householder is for real weights; write 'matrix_exp' or 'cayley'")
    kind = OrthogonalHouseholder if orthogonal_map == "householder" else Orthogonal
    made = (OrthogonalFromBase if use_trivialization else kind)(weight.shape, orthogonal_map)
    return register_parametrization(module, name, made)
