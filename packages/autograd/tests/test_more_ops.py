"""Contractions, convolution, pooling, order, rearranging, factorisations: derivatives, shapes, errors."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd

RNG = np.random.default_rng(11)


def _leaf(*shape: int) -> ag.Tensor:
    return ag.Tensor(RNG.normal(size=shape), requires_grad=True)


def _distinct(*shape: int) -> ag.Tensor:
    size = int(np.prod(shape))
    return ag.Tensor(RNG.permutation(size).reshape(shape) / 4.0 - 1.0, requires_grad=True)


def _check(function: Callable[..., Any], *inputs: ag.Tensor) -> None:
    assert ag.gradcheck(function, inputs)
    assert ag.gradgradcheck(function, inputs)


def _infers(op: Any, *inputs: ag.Tensor) -> None:
    result = op(*inputs)
    assert op.infer(tuple(x.shape for x in inputs), tuple(x.dtype for x in inputs)) == (result.shape, result.dtype)


# --- contractions ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]),
        ("...ij,...jk->...ik", [(2, 2, 3), (3, 2)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iij->ji", [(2, 2, 3)]),
        ("ij->", [(2, 3)]),
        ("ij->j", [(2, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("i,i,i->", [(3,), (3,), (3,)]),
        ("ij,kl->jk", [(2, 3), (4, 2)]),
        ("...,...->...", [(2, 3), (3,)]),
        (",ij->ij", [(), (2, 3)]),
        ("ij,ij->ij", [(1, 3), (2, 3)]),
        ("i...->...", [(2, 3)]),
        ("ij,jk->ik", [(2, 0), (0, 3)]),
    ],
)
def test_einsum(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = [_leaf(*shape) for shape in shapes]
    expected = np.einsum(subscripts, *[x.numpy() for x in inputs])
    np.testing.assert_allclose(ag.einsum(subscripts, *inputs).numpy(), expected, atol=1e-12)
    _infers(ag.ops.Einsum(subscripts), *inputs)
    _check(lambda *xs: ag.einsum(subscripts, *xs), *inputs)


def test_products_made_of_einsum() -> None:
    a, b = _leaf(2, 3, 4), _leaf(4, 3, 2)
    np.testing.assert_allclose(
        ag.tensordot(a, b, axes=([1, 2], [1, 0])).numpy(), np.tensordot(a.numpy(), b.numpy(), ([1, 2], [1, 0]))
    )
    _check(lambda a, b: ag.tensordot(a, b, axes=1), a, b)
    u, v = _leaf(3), _leaf(3)
    _check(ag.outer, u, v)
    _check(ag.vecdot, _leaf(2, 3), v)
    _check(ag.dot, u, v)
    c = _leaf(5, 4, 2)
    np.testing.assert_allclose(ag.dot(a, c).numpy(), np.dot(a.numpy(), c.numpy()), rtol=1e-12)
    with pytest.raises(nd.ShapeError, match="tensordot"):
        ag.tensordot(a, b, axes=([0], [0]))
    with pytest.raises(nd.ShapeError, match="outer"):
        ag.outer(a, v)


# --- convolution and pooling ------------------------------------------------------------------------------------------
CONVOLUTIONS: list[Any] = [
    ((2, 2, 5), (3, 2, 3), {}),
    ((1, 4, 6), (4, 2, 2), {"groups": 2, "stride": 2}),
    ((1, 2, 7), (2, 2, 2), {"dilation": 2, "padding": 1}),
    ((1, 2, 4), (2, 2, 3), {"padding": "same"}),
    ((2, 2, 4, 5), (3, 2, 2, 3), {"stride": (1, 2), "padding": (1, 0)}),
    ((1, 1, 4, 4), (2, 1, 3, 3), {"padding": ((0, 1), (2, 0))}),
    ((1, 1, 3, 3, 3), (1, 1, 2, 2, 2), {"padding": 1, "stride": 2}),
    ((0, 1, 4), (2, 1, 3), {}),
]


@pytest.mark.parametrize(("x", "w", "options"), CONVOLUTIONS)
def test_convolution_and_its_gradients(x: Any, w: Any, options: Any) -> None:
    a, b, c = _leaf(*x), _leaf(*w), _leaf(w[0])
    np.testing.assert_allclose(
        ag.conv(a, b, c, **options).numpy(), nd.conv(a.data, b.data, c.data, **options).numpy(), rtol=1e-12
    )
    _infers(ag.ops.Conv(**options), a, b)
    _check(lambda a, b, c: ag.conv(a, b, c, **options), a, b, c)


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((1, 2, 3), (2, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((1, 4, 3), (4, 1, 2), {"groups": 2, "dilation": 2}),
        ((2, 2, 2, 3), (2, 1, 2, 2), {"stride": (2, 1)}),
    ],
)
def test_transposed_convolution(x: Any, w: Any, options: Any) -> None:
    a, b, c = _leaf(*x), _leaf(*w), _leaf(w[1] * options.get("groups", 1))
    _check(lambda a, b, c: ag.conv_transpose(a, b, c, **options), a, b, c)
    torch = pytest.importorskip("torch")
    function = torch.conv_transpose1d if len(x) == 3 else torch.conv_transpose2d
    expected = function(*[torch.tensor(each.numpy()) for each in (a, b, c)], **options)
    np.testing.assert_allclose(ag.conv_transpose(a, b, c, **options).numpy(), expected.numpy(), atol=1e-12)


def test_convolution_errors_name_shapes() -> None:
    with pytest.raises(nd.ShapeError, match=r"\(1, 3, 5\)"):
        ag.conv(_leaf(1, 3, 5), _leaf(2, 2, 3))
    with pytest.raises(nd.ShapeError, match="output_padding"):
        ag.conv_transpose(_leaf(1, 1, 3), _leaf(1, 1, 3), output_padding=1)
    with pytest.raises(nd.ShapeError, match="conv_transpose"):
        ag.conv_transpose(_leaf(1, 2, 3), _leaf(1, 1, 3))


@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((1, 2, 6), 2, {}),
        ((1, 1, 7), 3, {"stride": 2, "padding": 1}),
        ((2, 1, 5, 4), (2, 2), {"stride": 1}),
        ((1, 1, 5, 5), 2, {"ceil_mode": True}),
        ((1, 1, 4, 4, 4), 2, {}),
    ],
)
def test_pooling(shape: Any, kernel: Any, options: Any) -> None:
    x = _distinct(*shape)
    for op in (ag.ops.MaxPool(kernel, **options), ag.ops.AvgPool(kernel, **options)):
        _infers(op, x)
        _check(op, x)
    if len(shape) == 3:
        _check(ag.ops.MaxPool(kernel, dilation=2, **options), x)
        _check(ag.ops.AvgPool(kernel, count_include_pad=False, **options), x)


# --- order -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(axis: int, descending: bool) -> None:
    x = _distinct(3, 4)
    _infers(ag.ops.Sort(axis, descending), x)
    _check(lambda x: ag.sort(x, axis=axis, descending=descending), x)
    _check(lambda x: ag.topk(x, 2, axis=axis, largest=descending).values, x)
    _infers(ag.ops.TopKValues(2, axis), x)
    top = ag.topk(x, 2, axis=axis, largest=descending)
    np.testing.assert_array_equal(ag.take_along_axis(x, top.indices, axis=axis).numpy(), top.values.numpy())
    assert not ag.argsort(x, axis=axis).requires_grad


# --- rearranging -----------------------------------------------------------------------------------------------------
REARRANGING: dict[str, tuple[Callable[[ag.Tensor], Any], Callable[[Any], Any]]] = {
    "pad": (lambda x: ag.pad(x, ((1, 2), (0, 3))), lambda x: np.pad(x, ((1, 2), (0, 3)))),
    "pad number": (lambda x: ag.pad(x, 1, constant_values=2.0), lambda x: np.pad(x, 1, constant_values=2.0)),
    "pad reflect": (lambda x: ag.pad(x, (1, 1), mode="reflect"), lambda x: np.pad(x, (1, 1), mode="reflect")),
    "pad wrap": (lambda x: ag.pad(x, 2, mode="wrap"), lambda x: np.pad(x, 2, mode="wrap")),
    "roll": (lambda x: ag.roll(x, 2), lambda x: np.roll(x, 2)),
    "roll axes": (lambda x: ag.roll(x, (1, -1), axis=(0, 1)), lambda x: np.roll(x, (1, -1), axis=(0, 1))),
    "repeat": (lambda x: ag.repeat(x, 2), lambda x: np.repeat(x, 2)),
    "repeat each": (
        lambda x: ag.repeat(x, ag.Tensor([1, 0, 2]), axis=0),
        lambda x: np.repeat(x, [1, 0, 2], axis=0),
    ),
    "tile": (lambda x: ag.tile(x, (2, 1, 2)), lambda x: np.tile(x, (2, 1, 2))),
    "rot90": (lambda x: ag.rot90(x), np.rot90),
    "rot270": (lambda x: ag.rot90(x, k=3), lambda x: np.rot90(x, 3)),
    "rot180": (lambda x: ag.rot90(x, k=-2), lambda x: np.rot90(x, 2)),
    "tril": (lambda x: ag.tril(x, k=1), lambda x: np.tril(x, 1)),
    "triu": (lambda x: ag.triu(x, k=-1), lambda x: np.triu(x, -1)),
    "diagonal": (lambda x: ag.diagonal(x, offset=1), lambda x: np.diagonal(x, 1)),
    "trace": (lambda x: ag.trace(x, offset=-1), lambda x: np.trace(x, -1)),
    "diff": (lambda x: ag.diff(x, axis=0, n=2), lambda x: np.diff(x, 2, axis=0)),
    "split": (lambda x: ag.split(x, [1, 3], axis=1)[1], lambda x: np.split(x, [1, 3], axis=1)[1]),
    "unstack": (lambda x: ag.unstack(x, axis=1)[2], lambda x: x[:, 2]),
    "kron": (lambda x: ag.kron(x, ag.Tensor([[1.0, 2.0]], dtype="float64")), lambda x: np.kron(x, [[1.0, 2.0]])),
}


@pytest.mark.parametrize("name", REARRANGING)
def test_rearranging(name: str) -> None:
    function, expected = REARRANGING[name]
    x = _leaf(3, 4)
    np.testing.assert_allclose(function(x).numpy(), expected(x.numpy()), rtol=1e-12)
    _check(function, x)
    result = function(x)
    if len(result.inputs) == 1 and result.inputs[0] is x:
        _infers(result.op, x)


# --- factorisations --------------------------------------------------------------------------------------------------
def _symmetric(x: ag.Tensor) -> ag.Tensor:
    return (x + ag.matrix_transpose(x)) * 0.5


def _positive(x: ag.Tensor) -> ag.Tensor:
    return x @ ag.matrix_transpose(x) + ag.eye(x.shape[-1], dtype="float64") * 2.0


FACTORISATIONS: dict[str, tuple[Callable[[ag.Tensor], Any], tuple[int, ...]]] = {
    "inv": (lambda x: ag.linalg.inv(_positive(x)), (2, 3, 3)),
    "det": (ag.linalg.det, (2, 3, 3)),
    "slogdet": (lambda x: ag.linalg.slogdet(x).logabsdet, (3, 3)),
    "cholesky": (lambda x: ag.linalg.cholesky(_positive(x)), (3, 3)),
    "cholesky upper": (lambda x: ag.linalg.cholesky(_positive(x), upper=True), (2, 2, 2)),
    "eigenvalues": (lambda x: ag.linalg.eigvalsh(_symmetric(x)), (3, 3)),
    "eigenvectors": (lambda x: ag.linalg.eigh(_symmetric(x)).eigenvectors ** 2, (3, 3)),
    "singular values": (ag.linalg.svdvals, (3, 2)),
    "svd rebuilt": (
        lambda x: (lambda f: (f.U * ag.expand_dims(f.S**2, axis=-2)) @ f.Vh)(ag.linalg.svd(x, full_matrices=False)),
        (2, 3),
    ),
    "svd u": (lambda x: ag.linalg.svd(x, full_matrices=False).U ** 2, (3, 2)),
    "svd v": (lambda x: ag.linalg.svd(x, full_matrices=False).Vh ** 2, (2, 3)),
    "qr square": (lambda x: ag.linalg.qr(x).Q @ ag.tanh(ag.linalg.qr(x).R), (3, 3)),
    "qr tall": (lambda x: ag.linalg.qr(x).Q, (4, 2)),
    "qr wide": (lambda x: ag.linalg.qr(x).R, (2, 4)),
    "pinv": (ag.linalg.pinv, (3, 2)),
    "power": (lambda x: ag.linalg.matrix_power(x, 3), (2, 2)),
    "inverse power": (lambda x: ag.linalg.matrix_power(_positive(x), -2), (2, 2)),
    "exponential": (ag.linalg.matrix_exp, (3, 3)),
    "exponentials halved as often as each needs": (
        lambda x: ag.linalg.matrix_exp(x * ag.Tensor([[[0.1]], [[4.0]]], dtype="float64")) * 1e-2,
        (2, 2, 2),
    ),
    "triangular": (lambda x: ag.linalg.solve_triangular(_positive(x), x, upper=False, left=False), (2, 3, 3)),
    "unitriangular": (lambda x: ag.linalg.solve_triangular(x, x, upper=True, unitriangular=True), (3, 3)),
    "least squares": (lambda x: ag.linalg.lstsq(x, x[:, 0] ** 2)[:2], (4, 2)),
    "condition": (ag.linalg.cond, (3, 2)),
    "conditions in another norm": (lambda x: ag.linalg.cond(x, "fro"), (2, 2, 2)),
    "product of many": (lambda x: ag.linalg.multi_dot([x[0], x, ag.matrix_transpose(x), x[:, 1]]), (2, 2)),
    "reflections": (lambda x: ag.linalg.householder_product(x, ag.tanh(x[0])), (4, 3)),
    "nuclear": (lambda x: ag.linalg.matrix_norm(x, ord="nuc"), (2, 3)),
    "one norm": (lambda x: ag.linalg.matrix_norm(x, ord=1, keepdims=True), (2, 3)),
    "vector 3": (lambda x: ag.linalg.vector_norm(x, ord=3, axis=0), (2, 3)),
    "vector inf": (lambda x: ag.linalg.vector_norm(x, ord=float("inf")), (2, 3)),
}


@pytest.mark.parametrize("name", FACTORISATIONS)
def test_factorisations(name: str) -> None:
    function, shape = FACTORISATIONS[name]
    x = _leaf(*shape)
    assert ag.gradcheck(function, x, atol=1e-5)
    assert ag.gradgradcheck(function, x, atol=1e-4)


@pytest.mark.parametrize(("a", "b"), [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 1))])
def test_solve(a: Any, b: Any) -> None:
    x, y = _leaf(*a), _leaf(*b)
    _infers(ag.ops.Solve(), x, y)
    _check(lambda x, y: ag.linalg.solve(_positive(x), y), x, y)


def test_the_gradient_of_a_singular_determinant_is_the_cofactor_matrix() -> None:
    x = ag.Tensor(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]), requires_grad=True)
    ag.linalg.det(x).backward()
    a = x.numpy()
    expected = np.array(
        [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)] for i in range(3)]
    )
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-12)


def test_gradients_that_do_not_exist_are_refused() -> None:
    x = _leaf(3, 2)
    with pytest.raises(ag.GradientError, match="full_matrices"):
        ag.linalg.svd(x).U.sum().backward()
    with pytest.raises(ag.GradientError, match="reduced"):
        ag.linalg.qr(x, mode="complete").Q.sum().backward()
    ag.linalg.svd(x).S.sum().backward()


def test_several_results_share_one_node_and_leave_nothing() -> None:
    gc.collect()
    before = ag.live_tensor_count()
    x = _leaf(3, 3)
    values, vectors = ag.linalg.eigh(_symmetric(x))
    assert values.inputs[0] is vectors.inputs[0] and str(values.inputs[0].op) == "Eigh()"
    (values.sum() + (vectors * vectors).sum()).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-10)
    del values, vectors, x
    assert ag.live_tensor_count() == before
    with ag.no_grad():
        assert not ag.linalg.qr(_leaf(2, 2)).Q.requires_grad


# --- setting ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("index", "values"),
    [
        (slice(1, None), (4,)),
        ((0, slice(None, None, -2)), (2,)),
        (..., ()),
        ((np.array([0, 2]), np.array([1, 3])), (2,)),
        (np.array([[True, False, True, False]] * 3), (6,)),
        ((slice(None), [0, 0, 1]), (3, 3)),
        (ag.Tensor([2, 0]), (1, 4)),
    ],
)
def test_set_item(index: Any, values: Any) -> None:
    x, v = _leaf(3, 4), _leaf(*values)
    expected = x.numpy().copy()
    key = index.numpy() if isinstance(index, ag.Tensor) else index
    expected[key] = v.numpy()
    np.testing.assert_array_equal(ag.set_item(x, index, v).numpy(), expected)
    _infers(ag.ops.SetItem(index), x, v)
    _check(lambda x, v: ag.set_item(x, index, v), x, v)


def test_assignment_under_gradient_names_the_op_and_the_line() -> None:
    x = _leaf(3)
    y = ag.exp(x)
    with pytest.raises(ag.GradientError, match=r"(?s)Exp\(\).*test_more_ops.py.*y = ag.exp\(x\).*set_item"):
        y[0] = 1.0
    with pytest.raises(ag.GradientError, match="leaf"):
        x[0] = 1.0
    with ag.no_grad():
        y[0] = 1.0
    with pytest.raises(ag.SavedValueError, match=r"Exp\(\)"):
        y.sum().backward()


def test_index_arrays_are_the_ops_own() -> None:
    x, index = _leaf(3), np.array([0, 1])
    y = x[index]
    index[:] = 2
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0, 0.0]
