"""Complex gradients: PyTorch's for every op where complex numbers are defined, and central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.ndarray.opset import COMPLEX, OPS, Family

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

RNG = np.random.default_rng(3)


def _values(shape: tuple[int, ...], dtype: str = "complex128") -> Any:
    values = RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if dtype.startswith("complex") else 0.0)
    return values.astype(dtype)


def _outputs(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def _compare(ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: Any, second: bool = True) -> None:
    """Values, and the gradients of every operand for the same complex seeds, against PyTorch; then gradgradcheck."""
    mine = [ag.Tensor(each, requires_grad=each.dtype.kind in "fc") for each in arrays]
    other = [torch.tensor(each, requires_grad=each.dtype.kind in "fc") for each in arrays]
    results, expected = _outputs(ours(*mine)), _outputs(theirs(*other))
    seeds = []
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.numpy(), wanted.detach().resolve_conj().numpy(), rtol=1e-9, atol=1e-10)
        assert result.dtype.name == str(wanted.dtype).removeprefix("torch.")
        seeds.append(_values(result.shape, result.dtype.name))
    ag.backward(results, [ag.Tensor(each) for each in seeds])
    torch.autograd.backward(expected, [torch.tensor(each) for each in seeds])
    for x, y in zip(mine, other, strict=True):
        if x.requires_grad:
            assert x.grad is not None and x.grad.dtype is x.dtype
            np.testing.assert_allclose(x.grad.numpy(), y.grad.resolve_conj().numpy(), rtol=1e-8, atol=1e-9)
    assert ag.gradcheck(ours, mine)
    assert not second or ag.gradgradcheck(ours, mine, atol=1e-4)


def _rows(family: Family) -> list[str]:
    return [row.name for row in OPS.values() if row.family is family and row.differentiable and row.name in COMPLEX]


@pytest.mark.parametrize("name", [*_rows(Family.UNARY), "sign", "conj", "angle", "real", "imag"])
def test_elementwise_ops_of_one_operand(name: str) -> None:
    theirs = {"sign": torch.sgn, "conj": lambda x: torch.conj(x).resolve_conj()}.get(name) or getattr(torch, name)
    _compare(getattr(ag, name), theirs, _values((2, 3)))


@pytest.mark.parametrize("left", ["complex128", "float64"])
@pytest.mark.parametrize("right", ["complex128", "float64"])
@pytest.mark.parametrize("name", _rows(Family.BINARY))
def test_elementwise_ops_of_two_operands(name: str, left: str, right: str) -> None:
    if {left, right} == {"float64"}:
        return
    x, y = _values((2, 1), left), _values((3,), right)
    if name == "pow":
        x = abs(x) if left == "float64" else x
    _compare(getattr(ag, name), getattr(torch, name), x, y)


@pytest.mark.parametrize("scalar", [2.0, 3, -1, 0, 1, 0.5, 2j, 1.5 - 0.5j])
@pytest.mark.parametrize("name", _rows(Family.BINARY))
def test_scalars_on_either_side(name: str, scalar: complex) -> None:
    x = _values((3,))
    if not (name == "divide" and scalar == 0):
        _compare(lambda x: getattr(ag, name)(x, scalar), lambda x: getattr(torch, name)(x, scalar), x)
    if scalar and not (name == "pow" and scalar == -1):
        _compare(lambda x: getattr(ag, name)(scalar, x), lambda x: getattr(torch, name)(torch.tensor(scalar), x), x)


def test_complex_scalars_keep_the_precision_and_make_real_tensors_complex() -> None:
    for dtype, wide in (("float32", "complex64"), ("float64", "complex128"), ("complex64", "complex64")):
        x = ag.Tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
        for y in (x * 1j, 2j + x, x - np.complex64(1j), (1 + 1j) / x):
            assert y.dtype == wide
        (x * 3j).backward(ag.Tensor([1j, 1.0], dtype=wide))
        assert x.grad is not None and x.grad.dtype == dtype
        np.testing.assert_array_equal(x.grad.numpy(), [3.0, 0.0 if dtype.startswith("float") else -3j])
    with pytest.raises(nd.DTypeError, match="complex"):
        ag.ops.Multiply(right=1j)  # type: ignore[arg-type]


def _herm(library: Any, x: Any) -> Any:
    return x @ library.conj(x.mT) + library.eye(x.shape[-1], dtype=x.dtype) * 2.0


def _ours_herm(x: Any) -> Any:
    return _herm(ag, x)


def _theirs_herm(x: Any) -> Any:
    return _herm(torch, x)


AL, TL = ag.linalg, torch.linalg
MATRICES: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[tuple[int, ...]]]] = {
    "matmul": (ag.matmul, torch.matmul, [(2, 2, 3), (3, 2)]),
    "matmul transposed": (
        ag.ops.MatMul(transpose_a=True, transpose_b=True),
        lambda a, b: torch.matmul(a.mT, b.mT),
        [(3, 2), (2, 3)],
    ),
    "matrix vector": (ag.matmul, torch.matmul, [(2, 3), (3,)]),
    "linear": (ag.linear, torch.nn.functional.linear, [(2, 3), (4, 3), (4,)]),
    "einsum": (
        lambda *x: ag.einsum("bij,jk,ik->bk", *x),
        lambda *x: torch.einsum("bij,jk,ik->bk", *x),
        [(2, 2, 3), (3, 2), (2, 2)],
    ),
    "einsum diagonal": (lambda x: ag.einsum("ii->i", x), lambda x: torch.einsum("ii->i", x), [(3, 3)]),
    "vecdot": (ag.vecdot, TL.vecdot, [(2, 3), (3,)]),
    "tensordot": (
        lambda a, b: ag.tensordot(a, b, axes=1),
        lambda a, b: torch.tensordot(a, b, dims=1),
        [(2, 3), (3, 2)],
    ),
    "kron": (ag.kron, torch.kron, [(2, 2), (2, 1)]),
    "conv": (ag.conv, torch.nn.functional.conv1d, [(1, 2, 5), (2, 2, 3), (2,)]),
    "conv transposed": (ag.conv_transpose, torch.nn.functional.conv_transpose1d, [(1, 2, 3), (2, 2, 3), (2,)]),
    "solve": (AL.solve, TL.solve, [(2, 3, 3), (2, 3, 2)]),
    "solve vector": (AL.solve, TL.solve, [(3, 3), (3,)]),
    "inv": (AL.inv, TL.inv, [(2, 3, 3)]),
    "det": (AL.det, TL.det, [(2, 3, 3)]),
    "slogdet": (lambda x: tuple(AL.slogdet(x)), lambda x: tuple(TL.slogdet(x)), [(3, 3)]),
    "cholesky": (lambda x: AL.cholesky(_ours_herm(x)), lambda x: TL.cholesky(_theirs_herm(x)), [(2, 3, 3)]),
    "cholesky upper": (
        lambda x: AL.cholesky(_ours_herm(x), upper=True),
        lambda x: TL.cholesky(_theirs_herm(x), upper=True),
        [(2, 2)],
    ),
    "eigvalsh": (lambda x: AL.eigvalsh(_ours_herm(x)), lambda x: TL.eigvalsh(_theirs_herm(x)), [(3, 3)]),
    "eigh": (
        lambda x: ag.abs(AL.eigh(_ours_herm(x)).eigenvectors),
        lambda x: torch.abs(TL.eigh(_theirs_herm(x)).eigenvectors),
        [(3, 3)],
    ),
    "qr": (lambda x: tuple(AL.qr(x)), lambda x: tuple(TL.qr(x)), [(4, 2)]),
    "qr wide": (lambda x: tuple(AL.qr(x)), lambda x: tuple(TL.qr(x)), [(2, 3)]),
    "svdvals": (AL.svdvals, TL.svdvals, [(3, 2)]),
    "svd": (
        lambda x: (lambda f: (f.U * ag.expand_dims(f.S**2, axis=-2)) @ f.Vh)(AL.svd(x, full_matrices=False)),
        lambda x: (lambda f: (f.U * (f.S**2).unsqueeze(-2)) @ f.Vh)(TL.svd(x, full_matrices=False)),
        [(2, 3)],
    ),
    "svd u": (
        lambda x: ag.abs(AL.svd(x, full_matrices=False).U),
        lambda x: torch.abs(TL.svd(x, full_matrices=False).U),
        [(3, 2)],
    ),
    "svd v": (
        lambda x: ag.abs(AL.svd(x, full_matrices=False).Vh),
        lambda x: torch.abs(TL.svd(x, full_matrices=False).Vh),
        [(2, 3)],
    ),
    "pinv": (AL.pinv, TL.pinv, [(3, 2)]),
    "matrix power": (lambda x: AL.matrix_power(x, 3), lambda x: TL.matrix_power(x, 3), [(2, 2)]),
    "matrix norm": (AL.matrix_norm, TL.matrix_norm, [(2, 3)]),
    "nuclear norm": (lambda x: AL.matrix_norm(x, ord="nuc"), lambda x: TL.matrix_norm(x, "nuc"), [(2, 3)]),
    "vector norm": (lambda x: AL.vector_norm(x, axis=0), lambda x: TL.vector_norm(x, dim=0), [(2, 3)]),
    "vector norm 3": (lambda x: AL.vector_norm(x, ord=3), lambda x: TL.vector_norm(x, 3), [(2, 3)]),
    "trace": (ag.trace, torch.trace, [(3, 3)]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_products_and_factorisations(name: str) -> None:
    ours, theirs, shapes = MATRICES[name]
    _compare(ours, theirs, *[_values(shape) for shape in shapes])


@pytest.mark.parametrize("name", ["matmul", "linear", "einsum", "conv", "solve", "kron", "vecdot"])
@pytest.mark.parametrize("real", [0, 1])
def test_real_operands_beside_complex_ones(name: str, real: int) -> None:
    ours, theirs, shapes = MATRICES[name]
    arrays = [_values(shape, "float64" if at == real else "complex128") for at, shape in enumerate(shapes)]
    mine = [ag.Tensor(each, requires_grad=True) for each in arrays]
    assert ag.gradcheck(ours, mine) and ag.gradgradcheck(ours, mine)
    results = ours(*mine)
    seed = _values(results.shape)
    results.backward(ag.Tensor(seed))
    other = [torch.tensor(each, requires_grad=True) for each in arrays]
    theirs(*[each.to(torch.complex128) for each in other]).backward(torch.tensor(seed))
    for x, y in zip(mine, other, strict=True):
        assert x.grad is not None and x.grad.dtype is x.dtype
        np.testing.assert_allclose(x.grad.numpy(), y.grad.resolve_conj().numpy(), rtol=1e-9, atol=1e-10)


INDEX = np.array([2, 0, 0])
REST: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (lambda x: ag.sum(x, axis=1), lambda x: torch.sum(x, 1)),
    "mean": (lambda x: ag.mean(x, axis=0, keepdims=True), lambda x: torch.mean(x, 0, keepdim=True)),
    "prod": (lambda x: ag.prod(x, axis=1), lambda x: torch.prod(x, 1)),
    "var": (lambda x: ag.var(x, axis=1, correction=1), lambda x: torch.var(x, 1)),
    "std": (lambda x: ag.std(x, axis=1, correction=1), lambda x: torch.std(x, 1)),
    "norm": (ag.norm, torch.linalg.norm),
    "cumsum": (lambda x: ag.cumsum(x, axis=1), lambda x: torch.cumsum(x, 1)),
    "cumprod": (lambda x: ag.cumprod(x, axis=1), lambda x: torch.cumprod(x, 1)),
    "reshape": (lambda x: ag.reshape(x, (3, -1)), lambda x: torch.reshape(x, (3, -1))),
    "transpose": (lambda x: ag.permute_dims(x, (1, 0)), lambda x: torch.permute(x, (1, 0))),
    "flip": (lambda x: ag.flip(x, axis=0), lambda x: torch.flip(x, (0,))),
    "roll": (lambda x: ag.roll(x, 1, axis=1), lambda x: torch.roll(x, 1, 1)),
    "broadcast": (lambda x: ag.broadcast_to(x, (2, 3, 4)), lambda x: torch.broadcast_to(x, (2, 3, 4))),
    "index": (lambda x: x[INDEX, ::2], lambda x: x[INDEX, ::2]),
    "take": (lambda x: ag.take(x, ag.Tensor(INDEX), axis=1), lambda x: torch.index_select(x, 1, torch.tensor(INDEX))),
    "concat": (lambda x: ag.concat([x, x * 2.0], axis=1), lambda x: torch.concat([x, x * 2.0], 1)),
    "stack": (lambda x: ag.stack([x, x * 2.0]), lambda x: torch.stack([x, x * 2.0])),
    "pad": (lambda x: ag.pad(x, ((0, 0), (1, 2))), lambda x: torch.nn.functional.pad(x, (1, 2))),
    "tril": (ag.tril, torch.tril),
    "diagonal": (ag.diagonal, torch.diagonal),
    "where": (
        lambda x: ag.where(ag.Tensor(INDEX[:, None] > 0), x, 1.0),
        lambda x: torch.where(torch.tensor(INDEX[:, None] > 0), x, 1.0),
    ),
    "to complex64 and back": (
        lambda x: x.astype("complex64").astype("complex128") * 0 + x,
        lambda x: x.to(torch.complex64).to(torch.complex128) * 0 + x,
    ),
}


@pytest.mark.parametrize("name", REST)
def test_reductions_and_views(name: str) -> None:
    _compare(*REST[name], _values((3, 4)))


NORMS = ["backward", "ortho", "forward"]
LENGTHS = [None, 3, 4, 7, 1]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_fourier_transforms(name: str, n: int | None, norm: str) -> None:
    ours, theirs = getattr(ag.fft, name), getattr(torch.fft, name)
    for dtype in ("float64", "complex128"):
        if dtype == "complex128" and name in ("rfft", "ihfft"):
            continue
        x = _values((5, 2), dtype)
        wide = (lambda x: x + 0j) if name in ("irfft", "hfft") else (lambda x: x)
        _compare(
            lambda x: ours(x, n=n, axis=0, norm=norm),
            lambda x, wide=wide: theirs(wide(x), n=n, dim=0, norm=norm).resolve_conj(),
            x,
        )


@pytest.mark.parametrize("s", [None, (3, 2), (-1, 5)])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_fourier_transforms_over_several_axes(name: str, s: Any) -> None:
    x = _values((2, 3, 4), "float64" if name == "rfftn" else "complex128")
    ours, theirs = getattr(ag.fft, name), getattr(torch.fft, name)
    lengths = None if s is None else tuple(x.shape[at] if n == -1 else n for n, at in zip(s, (0, 2), strict=True))
    _compare(lambda x: ours(x, s=s, axes=(0, 2)), lambda x: theirs(x, s=lengths, dim=(0, 2)), x)
    np.testing.assert_array_equal(ours(ag.Tensor(x), s=s).numpy(), getattr(nd.fft, name)(nd.asarray(x), s=s).numpy())


def test_fourier_errors_shifts_and_frequencies() -> None:
    x = ag.Tensor(_values((2, 3)), requires_grad=True)
    for use, error in (
        (lambda: ag.fft.fft(x, axis=2), nd.ShapeError),
        (lambda: ag.fft.fft(x, n=0), nd.ShapeError),
        (lambda: ag.fft.fft(x, norm="none"), ValueError),
        (lambda: ag.fft.hfft(x, norm="none"), ValueError),
        (lambda: ag.fft.rfft(x), nd.DTypeError),
        (lambda: ag.fft.fftn(x, axes=(0, 0)), nd.ShapeError),
        (lambda: ag.fft.fftn(x, s=(1,), axes=(0, 1)), nd.ShapeError),
        (lambda: ag.fft.rfftn(ag.real(x), axes=()), nd.ShapeError),
        (lambda: ag.ops.FourierTransform("dct"), ValueError),
    ):
        with pytest.raises(error):
            use()
    assert ag.fft.fftn(ag.real(x), axes=()).dtype == "complex128"
    _compare(ag.fft.fftshift, torch.fft.fftshift, x.numpy())
    _compare(lambda x: ag.fft.ifftshift(x, axes=1), lambda x: torch.fft.ifftshift(x, 1), x.numpy())
    np.testing.assert_array_equal(ag.fft.fftfreq(5, d=0.1).numpy(), nd.fft.fftfreq(5, d=0.1).numpy())
    np.testing.assert_array_equal(ag.fft.rfftfreq(5).numpy(), nd.fft.rfftfreq(5).numpy())


def test_a_complex_tensor_has_no_gradient_by_default() -> None:  # as in PyTorch
    z = ag.Tensor(1 + 2j, requires_grad=True)
    with pytest.raises(ag.GradientError, match="complex"):
        (z * z).backward()
    with pytest.raises(ag.GradientError, match="complex"):
        ag.grad(z * z, z)
    (z * z).backward(ag.Tensor(1.0 + 0j))
    assert z.grad is not None and z.grad.item() == 2 - 4j  # conj(2 z)


def test_a_step_against_the_gradient_descends() -> None:
    """|z - a|^2 has the gradient 2 (z - a), twice the conjugate Wirtinger derivative: half a step of it arrives."""
    z, a = ag.Tensor([1 + 2j, -3j], requires_grad=True), ag.Tensor([0.5 - 1j, 2.0 + 0j])
    (ag.abs(z - a) ** 2).sum().backward()
    assert z.grad is not None
    np.testing.assert_allclose((z - z.grad * 0.5).numpy(), a.numpy(), rtol=1e-6)


def test_singular_points() -> None:
    for function in (ag.abs, ag.norm, ag.sign, ag.std, ag.angle):
        z = ag.Tensor([0j, 0j], requires_grad=True)
        result = function(z)
        result.backward(ag.zeros_like(result) if function is ag.angle else ag.ones_like(result))
        assert z.grad is not None
        np.testing.assert_array_equal(z.grad.numpy(), 0.0)
    z = ag.Tensor([0j, 1j, -4 + 0j], requires_grad=True)
    ag.where(ag.abs(z) > 0.0, ag.log(z) + ag.sqrt(z), z).backward(ag.ones(3, dtype="complex64"))
    assert z.grad is not None and np.isfinite(z.grad.numpy()).all()


def test_numerical_gradients_are_of_both_parts() -> None:
    z = ag.Tensor([1 + 2j, 3 - 1j], dtype="complex64")
    gradient = ag.numerical_gradient(lambda z: (ag.real(z) ** 2 + ag.imag(z) * 3.0).sum(), z)
    assert gradient.dtype == "complex128" and z.dtype == "complex64"
    np.testing.assert_allclose(gradient.numpy(), [2 + 3j, 6 + 3j], atol=1e-8)
    with pytest.raises(nd.DTypeError, match="complex"):
        ag.numerical_gradient(lambda z: z.sum(), z)


class Square(ag.Op):
    """z * z as an own op, once with PyTorch's rule and once as for real numbers."""

    def __init__(self, holomorphic: bool, wrong: bool = False) -> None:
        self.holomorphic = holomorphic
        self.wrong = wrong

    def forward(self, xp: Any, *arrays: Any) -> Any:
        return arrays[0] * arrays[0], (arrays[0],)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (x,) = node.saved
        return grad * (x if self.holomorphic or self.wrong else xp.conj(x)) * 2.0


def test_own_ops_choose_how_their_rule_is_written() -> None:
    z = ag.Tensor(_values((3,)), requires_grad=True)
    for op in (Square(True), Square(False)):
        assert ag.gradcheck(op, z) and ag.gradgradcheck(op, z)
    with pytest.raises(ag.GradientCheckError):
        ag.gradcheck(Square(False, wrong=True), z)


def test_functional_transformations_of_complex_arguments() -> None:
    z, t = ag.Tensor(_values((3,))), ag.Tensor(_values((3,)))
    gradient = ag.functional.grad(lambda z: (ag.abs(z) ** 2).sum())(z)
    np.testing.assert_allclose(gradient.numpy(), 2 * z.numpy(), rtol=1e-10)
    _, moved = ag.functional.jvp(lambda z: ag.exp(z) * ag.conj(z), [z], [t])
    x, d = z.numpy(), t.numpy()
    np.testing.assert_allclose(moved.numpy(), np.exp(x) * d * x.conj() + np.exp(x) * d.conj(), rtol=1e-10)
    _, pullback = ag.functional.vjp(ag.exp, z)
    np.testing.assert_allclose(pullback(t)[0].numpy(), d * np.exp(x).conj(), rtol=1e-10)
    with pytest.raises(ag.GradientError, match="complex"):
        ag.functional.grad(lambda z: z.sum())(z)


def test_lazy_mode_gives_the_same() -> None:
    x = _values((2, 3))
    gradients = []
    for lazy in (False, True):
        z = ag.Tensor(x, requires_grad=True)
        with ag.lazy(lazy):
            loss = ag.norm(ag.fft.fft(ag.exp(z) * 2j, axis=0))
        loss.backward()
        assert z.grad is not None
        gradients.append(z.grad.numpy())
    np.testing.assert_array_equal(*gradients)


def test_debugging_tools_follow_complex_rules() -> None:
    z = ag.Tensor(_values((2,)), requires_grad=True)
    loss = (ag.abs(ag.exp(z) * z) ** 2).sum()
    assert ag.check_rules(loss) == []
    loss.backward(retain_graph=True)
    stepper = ag.Stepper(loss).backward()
    while stepper.step() is not None:
        pass
    assert z.grad is not None
    np.testing.assert_allclose(ag.why(z, loss).gradient.numpy(), z.grad.numpy())
