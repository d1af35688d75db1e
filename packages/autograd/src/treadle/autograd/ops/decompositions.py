"""Inverses, solutions and factorisations of matrices (..., m, n), with the gradients of Giles (2008) and Seeger et al.

M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation (2008);
M. Seeger, A. Hetzel, Z. Dai, N. Lawrence, Auto-differentiating linear algebra, arXiv:1710.08717; J. Townsend,
Differentiating the singular value decomposition (2016). Rules of symmetric factorisations give the symmetric gradient,
as PyTorch's do.
"""

from typing import Any, NamedTuple

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor, constant
from treadle.autograd._tuples import TupleOp
from treadle.autograd.errors import GradientError
from treadle.autograd.ops._common import Shape, call, fit, floating, on_arrays
from treadle.autograd.ops.indexing import GetItem
from treadle.ndarray import DType, ShapeError

__all__ = ["QR", "SVD", "Cholesky", "Det", "Eig", "Eigh", "Inv", "Pinv", "SlogDet", "Solve"]


class EigResult(NamedTuple):
    """What :func:`eig` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """What :func:`eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What :func:`qr` gives."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What :func:`slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What :func:`svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _square(shape: Shape, op: object) -> Shape:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"{op}: shape {shape}; it is for square matrices (..., n, n)")
    return shape


def _t(xp: Any, x: Any) -> Any:
    return xp.matrix_transpose(x)


def _h(xp: Any, x: Any) -> Any:
    """The conjugate transpose."""
    turned = xp.matrix_transpose(x)
    return xp.conj(turned) if x.dtype.kind == "c" else turned


def _as(xp: Any, x: Any, like: Any) -> Any:
    """A real array beside complex ones."""
    return x if x.dtype is like.dtype else xp.astype(x, like.dtype)


def _identity(xp: Any, like: Any, n: int) -> Any:
    return xp.eye(n, dtype=like.dtype, device=like.device)


def _lower(xp: Any, x: Any, diagonal: float) -> Any:
    """The lower triangle, with the diagonal times a factor."""
    n = x.shape[-1]
    mask = nd.tril(nd.ones((n, n), dtype=x.dtype, device=x.device), k=-1)
    mask = mask + nd.eye(n, dtype=x.dtype, device=x.device) * diagonal
    return x * (mask if on_arrays(xp) else Tensor(mask))


def _product(xp: Any, *matrices: Any) -> Any:
    result = matrices[0]
    for each in matrices[1:]:
        result = xp.matmul(result, each)
    return result


class Inv(Op):
    """The inverse: its gradient is -Y^T G Y^T."""

    holomorphic = True

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = xp.linalg.inv(x)
        return y, (y,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        y = _t(xp, node.saved[0])
        return -_product(xp, y, grad, y)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,) = shapes
        return _square(shape, self), floating(*dtypes)


class Pinv(Op):
    """The Moore-Penrose inverse P of A, with singular values up to ``rtol`` times the largest counted as 0.

    Its gradient where the rank stays as it is, -P* G P* + (1 - A P) G* P P* + P* P G* (1 - P A), needs no singular
    vectors, which equal singular values leave undetermined (Golub and Pereyra, The differentiation of pseudo-inverses
    and nonlinear least squares problems whose variables separate, 1973).
    """

    def __init__(self, rtol: float | None = None) -> None:
        self.rtol = None if rtol is None else float(rtol)

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        p = xp.linalg.pinv(x, rtol=self.rtol)
        return p, (x, p)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, p = node.saved
        turned, back = _h(xp, p), _h(xp, grad)
        columns = _product(xp, back - _product(xp, x, xp.matmul(p, back)), p, turned)
        rows = _product(xp, turned, p, back - _product(xp, xp.matmul(back, p), x))
        return columns + rows - _product(xp, turned, grad, turned)

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,) = shapes
        if len(shape) < 2:
            raise ShapeError(f"{self}: shape {shape} is no matrix, and no stack of them")
        return (*shape[:-2], shape[-1], shape[-2]), floating(*dtypes)


class Solve(Op):
    """The X with A X = B: B's gradient solves with A^T, and A's is -B' X^T."""

    holomorphic = True

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        a, b = arrays
        x = xp.linalg.solve(a, b)
        return x, (a, x)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        a, x = node.saved
        vector = len(node.inputs[1].shape) == 1
        if vector:
            grad, x = xp.expand_dims(grad, axis=-1), xp.expand_dims(x, axis=-1)
        second = xp.linalg.solve(_t(xp, a), grad)
        first = fit(xp, -xp.matmul(second, _t(xp, x)), a.shape, a.dtype) if node.needs_grad(0) else None
        if vector:
            second = xp.squeeze(second, -1)
        operand = node.inputs[1]
        return first, fit(xp, second, operand.shape, operand.dtype) if node.needs_grad(1) else None

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        a, b = shapes
        _square(a, self)
        column = (*b, 1) if len(b) == 1 else b
        if len(column) < 2 or column[-2] != a[-1]:
            raise ShapeError(f"{self}: shapes {a} and {b} do not fit")
        whole = (*nd.broadcast_shapes(a[:-2], column[:-2]), *column[-2:])
        return whole[:-1] if len(b) == 1 else whole, floating(*dtypes)


class Det(Op):
    """The determinant. Its gradient is the cofactor matrix: det times the inverse's transpose where there is one."""

    holomorphic = True

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = xp.linalg.det(x)
        return y, (x, y)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, y = node.saved
        grad = xp.expand_dims(xp.expand_dims(grad, axis=-1), axis=-1)
        if _is_singular(x if on_arrays(xp) else x.data, y if on_arrays(xp) else y.data):
            return grad * (_cofactors(x) if on_arrays(xp) else _minors(xp, x))
        return grad * xp.expand_dims(xp.expand_dims(y, axis=-1), axis=-1) * _t(xp, xp.linalg.inv(x))

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,) = shapes
        return _square(shape, self)[:-2], floating(*dtypes)


def _is_singular(x: Any, determinant: Any) -> bool:
    """Whether a determinant is 0 but for rounding, beside its bound, the product of the rows' norms (Hadamard)."""
    bound = nd.prod(nd.linalg.vector_norm(x, axis=-1), axis=-1)
    eps = float(nd.finfo(x.dtype).eps)
    return bool(nd.any(nd.abs(determinant) <= bound * (x.shape[-1] * eps)))


def _minors(xp: Any, x: Any) -> Any:
    """The cofactor matrices by their definition, n * n determinants of submatrices, so that they have derivatives."""
    n = x.shape[-1]
    if n == 1:
        return xp.ones_like(x)
    kept = [[at for at in range(n) if at != left_out] for left_out in range(n)]
    index = nd.asarray(kept, dtype="int64", device=x.device)
    rows, columns = index[:, None, :, None], index[None, :, None, :]
    signs = nd.reshape(1.0 - 2.0 * nd.astype(nd.arange(n * n, device=x.device) // n % 2, x.dtype), (n, n))
    signs = signs * nd.matrix_transpose(signs)
    return xp.linalg.det(call(xp, GetItem((..., rows, columns)), x)) * constant(signs)


def _cofactors(x: Any) -> Any:
    """The cofactor matrices by the singular value decomposition, which singular matrices have too."""
    u, s, vh = nd.linalg.svd(x)
    n = s.shape[-1]
    keep = nd.ones((n, n), dtype=nd.bool, device=x.device)
    keep = nd.logical_not(nd.astype(nd.eye(n, device=x.device), nd.bool)) & keep
    others = nd.prod(nd.where(keep, s[..., None, :], 1.0), axis=-1)  # the product of the other singular values
    sign = nd.linalg.det(u) * nd.linalg.det(vh)
    return sign[..., None, None] * nd.matmul(nd.conj(u) * others[..., None, :], nd.conj(vh))


class SlogDet(TupleOp):
    """The sign of the determinant, and the logarithm of its magnitude, whose gradient is the inverse's transpose.

    The sign of a complex determinant d is d / |d|, and turns with its angle, by the imaginary part of tr(A^-1 dA).
    """

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        sign, logarithm = xp.linalg.slogdet(x)
        return (sign, logarithm), (x, sign)

    def rule(self, xp: Any, grads: tuple[Any, ...], node: Any) -> Any:
        x, sign = node.saved
        scale = grads[1]
        if x.dtype.kind == "c" and grads[0] is not None:
            turn = xp.imag(grads[0] * xp.conj(sign)) * 1j
            scale = turn if scale is None else scale + turn
        if scale is None:
            return xp.zeros_like(x)
        return xp.expand_dims(xp.expand_dims(scale, axis=-1), axis=-1) * _h(xp, xp.linalg.inv(x))

    def packed(self, items: list[Tensor]) -> SlogdetResult:
        return SlogdetResult(*items)


class Cholesky(Op):
    """The lower triangular L with L L^H = A. Only A's lower triangle is read; the gradient is Hermitian."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        y = xp.linalg.cholesky(x)
        return y, (y,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (y,) = node.saved
        inner = _lower(xp, xp.matmul(_h(xp, y), grad), 0.5)
        inverse = xp.linalg.inv(y)
        whole = _product(xp, _h(xp, inverse), inner, inverse)
        return (whole + _h(xp, whole)) * 0.5

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        (shape,) = shapes
        return _square(shape, self), floating(*dtypes)


class Eigh(TupleOp):
    """Eigenvalues and eigenvectors of Hermitian matrices. Equal eigenvalues have no gradient of their vectors.

    A complex vector is known up to a factor of magnitude 1, so that only what does not see it has a gradient.
    """

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        values, vectors = xp.linalg.eigh(x)
        return (values, vectors), (values, vectors)

    def rule(self, xp: Any, grads: tuple[Any, ...], node: Any) -> Any:
        values, vectors = node.saved
        inner = xp.zeros(vectors.shape, dtype=vectors.dtype, device=vectors.device)
        if grads[0] is not None:
            given = _as(xp, grads[0], vectors)
            inner = inner + xp.expand_dims(given, axis=-2) * _identity(xp, vectors, vectors.shape[-1])
        if grads[1] is not None:
            gaps = xp.expand_dims(values, axis=-2) - xp.expand_dims(values, axis=-1)
            inner = inner + _over_gaps(xp, xp.matmul(_h(xp, vectors), grads[1]), gaps)
        whole = _product(xp, vectors, inner, _h(xp, vectors))
        return (whole + _h(xp, whole)) * 0.5

    def packed(self, items: list[Tensor]) -> EighResult:
        return EighResult(*items)


class Eig(TupleOp):
    """Eigenvalues and eigenvectors of any square matrices, complex both. Equal eigenvalues have no gradient.

    The vectors have length 1 and are known up to a factor of magnitude 1; what sees it has no gradient. After
    C. Boeddeker et al., On the computation of complex-valued gradients, arXiv:1701.00392, section 4.5.
    """

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        values, vectors = xp.linalg.eig(x)
        return (values, vectors), (values, vectors)

    def rule(self, xp: Any, grads: tuple[Any, ...], node: Any) -> Any:
        values, vectors = node.saved
        adjoint = _h(xp, vectors)
        inner = xp.zeros(vectors.shape, dtype=vectors.dtype, device=vectors.device)
        if grads[0] is not None:
            inner = inner + xp.expand_dims(grads[0], axis=-2) * _identity(xp, vectors, vectors.shape[-1])
        if grads[1] is not None:
            turned = xp.matmul(adjoint, grads[1])
            own = xp.sum(xp.real(turned) * _identity(xp, xp.real(vectors), vectors.shape[-1]), axis=-2, keepdims=True)
            gaps = xp.conj(xp.expand_dims(values, axis=-2) - xp.expand_dims(values, axis=-1))
            inner = inner + _over_gaps(xp, turned - xp.matmul(adjoint, vectors) * own, gaps)
        operand = node.inputs[0]
        return fit(xp, xp.linalg.solve(adjoint, xp.matmul(inner, adjoint)), operand.shape, operand.dtype)

    def packed(self, items: list[Tensor]) -> EigResult:
        return EigResult(*items)


def _over_gaps(xp: Any, x: Any, gaps: Any) -> Any:
    """x divided by the gaps between values, and 0 on the diagonal, where there is none."""
    n = gaps.shape[-1]
    diagonal = nd.astype(nd.eye(n, device=gaps.device), nd.bool)
    where = diagonal if on_arrays(xp) else Tensor(diagonal)
    return xp.where(where, 0.0, x / xp.where(where, 1.0, gaps))


class QR(TupleOp):
    """Q with orthonormal columns and R upper triangular, with QR = A. mode "reduced"; "complete" only where square."""

    def __init__(self, mode: str = "reduced") -> None:
        self.mode = mode

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        q, r = xp.linalg.qr(x, mode=self.mode)
        return (q, r), (x, q, r)

    def rule(self, xp: Any, grads: tuple[Any, ...], node: Any) -> Any:
        x, q, r = node.saved
        rows, columns = x.shape[-2:]
        if self.mode == "complete" and rows > columns:
            raise GradientError(f"{self}: the further columns of Q are arbitrary; use mode='reduced' for gradients")
        g_q = xp.zeros(q.shape, dtype=x.dtype, device=x.device) if grads[0] is None else grads[0]
        g_r = xp.zeros(r.shape, dtype=x.dtype, device=x.device) if grads[1] is None else grads[1]
        if rows >= columns:
            return _qr_tall(xp, g_q, g_r, q, r)
        rest, g_rest = x[..., :, rows:], g_r[..., :, rows:]
        g_q = g_q + xp.matmul(rest, _h(xp, g_rest))
        return xp.concat([_qr_tall(xp, g_q, g_r[..., :, :rows], q, r[..., :, :rows]), xp.matmul(q, g_rest)], axis=-1)

    def packed(self, items: list[Tensor]) -> QRResult:
        return QRResult(*items)


def _qr_tall(xp: Any, g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    lower = _lower(xp, xp.matmul(r, _h(xp, g_r)) - xp.matmul(_h(xp, g_q), q), 0.5)  # R has a real diagonal
    hermitian = lower + _h(xp, lower)
    return _h(xp, xp.linalg.solve(r, _h(xp, g_q + xp.matmul(q, hermitian))))


class SVD(TupleOp):
    """U, the singular values S, descending, and V^H. Gradients need distinct, non-zero values, and reduced matrices.

    Complex vectors are known up to a factor of magnitude 1 for both of a pair; what sees it has no gradient.
    """

    def __init__(self, full_matrices: bool = False) -> None:
        self.full_matrices = full_matrices

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        (x,) = arrays
        u, s, vh = xp.linalg.svd(x, full_matrices=self.full_matrices)
        return (u, s, vh), (u, s, vh)

    def rule(self, xp: Any, grads: tuple[Any, ...], node: Any) -> Any:
        u, s, vh = node.saved
        g_u, g_s, g_vh = grads
        n = s.shape[-1]
        if self.full_matrices and (u.shape[-1] > n or vh.shape[-2] > n):
            if g_u is not None or g_vh is not None:
                raise GradientError(f"{self}: the further singular vectors are arbitrary; use full_matrices=False")
            u, vh = u[..., :, :n], vh[..., :n, :]
        v = _h(xp, vh)
        inner = xp.zeros((*u.shape[:-2], n, n), dtype=u.dtype, device=u.device)
        if g_s is not None:
            inner = inner + xp.expand_dims(_as(xp, g_s, u), axis=-2) * _identity(xp, u, n)
        row, column = xp.expand_dims(s, axis=-2), xp.expand_dims(s, axis=-1)
        gaps = row * row - column * column
        extra: Any = None
        if g_u is not None:
            turned = xp.matmul(_h(xp, u), g_u)
            inner = inner + _over_gaps(xp, turned - _h(xp, turned), gaps) * row
            if u.dtype.kind == "c":  # the factor that a pair has in common
                inner = inner + (turned - _h(xp, turned)) * _identity(xp, u, n) / (row * 2.0)
            extra = _product(xp, (g_u - xp.matmul(u, turned)) / row, vh) if u.shape[-2] > n else None
        if g_vh is not None:
            g_v = _h(xp, g_vh)
            turned = xp.matmul(vh, g_v)
            inner = inner + column * _over_gaps(xp, turned - _h(xp, turned), gaps)
            if v.shape[-2] > n:
                more = xp.matmul(u, _h(xp, (g_v - xp.matmul(v, turned)) / row))
                extra = more if extra is None else extra + more
        whole = _product(xp, u, inner, vh)
        return whole if extra is None else whole + extra

    def packed(self, items: list[Tensor]) -> SVDResult:
        return SVDResult(*items)
