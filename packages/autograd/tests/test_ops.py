"""Products, shapes, joining, indexing and losses: gradients, inferred shapes, errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd

pytestmark = pytest.mark.usefixtures("device")
RNG = np.random.default_rng(7)


def _leaf(*shape: int) -> ag.Tensor:
    return ag.Tensor(RNG.normal(size=shape), requires_grad=True, device=nd.default_device())


def _check(function: Callable[..., Any], *inputs: ag.Tensor) -> None:
    assert ag.gradcheck(function, inputs)
    assert ag.gradgradcheck(function, inputs)


# --- products -----------------------------------------------------------------------------------------------------

PRODUCTS = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((3,), (5, 3, 2)),
    ((5, 2, 3), (3,)),
    ((2, 0), (0, 3)),
    ((0, 2), (2, 3)),
]


@pytest.mark.parametrize(("a", "b"), PRODUCTS)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = _leaf(*a), _leaf(*b)
    np.testing.assert_allclose((x @ y).numpy(), np.matmul(x.numpy(), y.numpy()), rtol=1e-12)
    _check(ag.matmul, x, y)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_matmul_with_transposed_operands(transpose_a: bool, transpose_b: bool, batch: tuple[int, ...]) -> None:
    x = _leaf(*batch, *((3, 2) if transpose_a else (2, 3)))
    y = _leaf(*((4, 3) if transpose_b else (3, 4)))
    op = ag.ops.MatMul(transpose_a=transpose_a, transpose_b=transpose_b)
    expected = (np.swapaxes(x.numpy(), -1, -2) if transpose_a else x.numpy()) @ (
        y.numpy().T if transpose_b else y.numpy()
    )
    np.testing.assert_allclose(op(x, y).numpy(), expected, rtol=1e-12)
    _check(op, x, y)


def test_transposed_vector_operands() -> None:
    _check(ag.ops.MatMul(transpose_a=True), _leaf(3, 2), _leaf(3))
    _check(ag.ops.MatMul(transpose_b=True), _leaf(3), _leaf(2, 3))
    with pytest.raises(nd.ShapeError, match=r"MatMul\(transpose_b=True\).*transpose"):
        ag.ops.MatMul(transpose_b=True)(_leaf(3), _leaf(3))
    with pytest.raises(nd.ShapeError, match=r"(?i)matmul"):
        _leaf(2, 3) @ _leaf(2, 3)


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 5, 3), (0, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape: tuple[int, ...], bias: bool) -> None:
    operands = (_leaf(*shape), _leaf(4, 3), _leaf(4))[: 3 if bias else 2]
    expected = operands[0].numpy() @ operands[1].numpy().T + (operands[2].numpy() if bias else 0.0)
    np.testing.assert_allclose(ag.linear(*operands).numpy(), expected, rtol=1e-12, atol=1e-12)
    _check(ag.linear, *operands)


def test_linear_checks_shapes() -> None:
    for shapes in ([(5, 2), (4, 3), (4,)], [(5, 3), (4, 3), (3,)], [(5, 3), (3,), (4,)]):
        with pytest.raises(nd.ShapeError, match="Linear"):
            ag.linear(*[_leaf(*shape) for shape in shapes])
    for count in (1, 4):  # of which the last has no part in the result
        with pytest.raises(ag.OpContractError, match=f"Linear.. takes 2 or 3 tensors, not {count}"):
            ag.ops.Linear()(*[_leaf(4, 4), _leaf(4, 4), _leaf(4), _leaf(4)][:count])


# --- shapes -------------------------------------------------------------------------------------------------------

SHAPE_OPS: list[tuple[ag.Op, list[tuple[int, ...]]]] = [
    (ag.ops.Reshape((3, -1)), [(2, 3)]),
    (ag.ops.Reshape(()), [(1, 1)]),
    (ag.ops.Reshape(-1), [(2, 3)]),
    (ag.ops.PermuteDims((2, 0, 1)), [(2, 3, 4)]),
    (ag.ops.PermuteDims((-1, 0)), [(2, 3)]),
    (ag.ops.MatrixTranspose(), [(2, 3, 4)]),
    (ag.ops.BroadcastTo((2, 3, 4)), [(3, 1)]),
    (ag.ops.BroadcastTo((2,)), [()]),
    (ag.ops.ExpandDims(1), [(2, 3)]),
    (ag.ops.ExpandDims(-1), [(2, 3)]),
    (ag.ops.Squeeze(1), [(2, 1, 3)]),
    (ag.ops.Squeeze((0, -1)), [(1, 2, 1)]),
    (ag.ops.Squeeze(), [(1, 2, 1)]),
    (ag.ops.Flip(), [(2, 3)]),
    (ag.ops.Flip(-1), [(2, 3)]),
    (ag.ops.Concat(1), [(2, 1), (2, 3), (2, 0)]),
    (ag.ops.Concat(-2), [(1, 2), (3, 2)]),
    (ag.ops.Stack(), [(2, 3), (2, 3)]),
    (ag.ops.Stack(-1), [(2, 3), (2, 3), (2, 3)]),
    (ag.ops.AsType("float64"), [(2,)]),
    (ag.ops.ToDevice("cpu"), [(2,)]),
    (ag.ops.GetItem((0, slice(None, None, -1))), [(2, 3)]),
    (ag.ops.GetItem((slice(0, 0), None, ...)), [(2, 3)]),
    (ag.ops.GetItem([0, 0, 2]), [(3, 2)]),
    (ag.ops.GetItem((slice(None), [[1, -1], [0, 1]])), [(2, 3)]),
    (ag.ops.GetItem((nd.asarray([0, 1]), nd.asarray([2, 2]))), [(2, 3)]),
    (ag.ops.GetItem(nd.asarray([True, False, True])), [(3, 2)]),
    (ag.ops.GetItem(nd.asarray([[True, False], [False, True]])), [(2, 2, 3)]),
    (ag.ops.GetItem(()), [()]),
    (ag.ops.PutItem((4, 2), [0, 0, 3]), [(3, 2)]),
    (ag.ops.PutItem((4, 2), slice(1, 3)), [(2, 2)]),
    (ag.ops.Linear(), [(5, 3), (4, 3), (4,)]),
    (ag.ops.MatMul(transpose_b=True), [(5, 3), (4, 3)]),
    (ag.ops.MatMul(), [(3,), (2, 3, 4)]),
    (ag.ops.MatMul(), [(3,), (3,)]),
    (ag.ops.Sum(axis=1, keepdims=True), [(2, 3)]),
    (ag.ops.Mean((0, -1)), [(2, 3, 4)]),
    (ag.ops.Var(correction=1.0), [(2, 3)]),
    (ag.ops.Norm(axis=0), [(2, 3)]),
    (ag.ops.Cumprod(-1), [(2, 3)]),
    (ag.ops.LogSumExp(axis=0), [(2, 3)]),
    (ag.ops.Softmax(), [(2, 3)]),
    (ag.ops.Where(y=1.0), [(2, 1), (1, 3)]),
    (ag.ops.Clip(0.0, None), [(2, 3)]),
    (ag.ops.Multiply(left=2), [(2, 3)]),
    (ag.ops.Add(), [(2, 1), (3,)]),
    (ag.ops.Exp(), [(2, 3)]),
]


@pytest.mark.parametrize(("op", "shapes"), SHAPE_OPS, ids=lambda value: repr(value) if isinstance(value, ag.Op) else "")
def test_gradient_and_inference(op: ag.Op, shapes: list[tuple[int, ...]]) -> None:
    inputs = [_leaf(*shape) for shape in shapes]
    if isinstance(op, ag.ops.Where):
        inputs[0] = ag.Tensor(RNG.random(shapes[0]) > 0.5, device=nd.default_device())
    result = op(*inputs)
    assert op.infer(tuple(shapes), tuple(each.dtype for each in inputs)) == (result.shape, result.dtype)
    _check(op, *inputs)


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (ag.ops.Reshape((4, 2)), (2, 3)),
        (ag.ops.PermuteDims((0, 0)), (2, 3)),
        (ag.ops.MatrixTranspose(), (2,)),
        (ag.ops.BroadcastTo((2, 2)), (3,)),
        (ag.ops.Squeeze(0), (2, 3)),
        (ag.ops.Flip(2), (2, 3)),
        (ag.ops.Sum(axis=2), (2, 3)),
        (ag.ops.Sum(axis=(0, 0)), (2, 3)),
        (ag.ops.Softmax(2), (2, 3)),
        (ag.ops.Cumsum(2), (2, 3)),
    ],
    ids=lambda value: repr(value) if isinstance(value, ag.Op) else "",
)
def test_wrong_shapes_raise_at_once_and_in_inference(op: ag.Op, shape: tuple[int, ...]) -> None:
    with pytest.raises(nd.ShapeError):
        op(_leaf(*shape))
    with pytest.raises(nd.ShapeError):
        op.infer((shape,), (nd.float64,))


def test_functions_of_shape() -> None:
    x = _leaf(2, 3, 4)
    assert ag.swapaxes(x, 0, -1).shape == (4, 3, 2)
    assert ag.moveaxis(x, 0, -1).shape == (3, 4, 2)
    assert ag.concat([x, x], axis=None).shape == (48,)
    assert ag.stack([x, x], axis=1).shape == (2, 2, 3, 4)
    with pytest.raises(nd.ShapeError, match="concat: no tensors"):
        ag.concat([])
    with pytest.raises(nd.DTypeError, match="concat"):
        ag.concat(x)  # type: ignore[arg-type]
    assert ag.cumsum(x).shape == ag.cumprod(x).shape == ag.logcumsumexp(x).shape == (24,)
    assert ag.cumsum(ag.Tensor([1.0, 2.0])).tolist() == [1.0, 3.0]


def test_linear_infers_the_fit_of_the_bias() -> None:
    op, dtypes = ag.ops.Linear(), (nd.float32,) * 3
    assert op.infer(((5, 3), (2, 3), (2,)), dtypes) == ((5, 2), nd.float32)
    for bias in ((3,), (), (1,), (2, 1)):
        with pytest.raises(nd.ShapeError, match="Linear: bias of shape"):
            op.infer(((5, 3), (2, 3), bias), dtypes)


# --- indexing -----------------------------------------------------------------------------------------------------


def test_repeated_indices_add() -> None:  # pytorch/pytorch#1528
    x = ag.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    seed = ag.Tensor([1.0, 10.0, 100.0, 1000.0])
    for y in (
        x[[0, 0, 2, 0]],
        x[ag.Tensor([0, 0, 2, 0])],
        x[np.array([0, 0, 2, 0])],
        ag.take(x, ag.Tensor([0, 0, 2, 0])),
    ):
        x.grad = None
        y.backward(seed)
        assert x.grad is not None
        assert x.grad.tolist() == [1011.0, 0.0, 100.0]


def test_masks_keep_the_gradient() -> None:  # pytorch/pytorch#1528
    x = ag.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[ag.Tensor([True, False, True])].sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 0.0, 1.0]
    x.grad = None
    x[x > 1.5].sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, 1.0, 1.0]


def test_index_errors() -> None:
    x = _leaf(2, 3)
    for index in (5, (0, 0, 0), [7]):
        with pytest.raises(IndexError):
            x[index]


def test_selecting_with_index_operands() -> None:
    x = _leaf(3, 4)
    rows = ag.Tensor([[2, 0], [2, 2]])
    assert ag.take(x, rows, axis=0).shape == (2, 2, 4)
    _check(lambda x: ag.take(x, rows, axis=0), x)
    _check(lambda x: ag.take(x, rows, axis=-1), x)
    along = ag.Tensor([[0, 3], [1, 1], [-1, 0]])
    np.testing.assert_array_equal(
        ag.take_along_axis(x, along, axis=1).numpy(), np.take_along_axis(x.numpy(), along.numpy(), axis=1)
    )
    _check(lambda x: ag.take_along_axis(x, along, axis=1), x)
    _check(lambda x: ag.take_along_axis(x, ag.Tensor([[0, 2, 1, 1]]), axis=0), x)
    values = _leaf(2, 2, 4)
    _check(lambda x, values: ag.scatter_add(x, rows, values, axis=0), x, values)
    with pytest.raises(nd.DTypeError, match="float32"):
        ag.scatter_add(x, rows, values.detach().astype("float32"))
    for op, shapes in (
        (ag.ops.Take(1), ((3, 4), (2, 2))),
        (ag.ops.TakeAlongAxis(1), ((3, 4), (3, 2))),
        (ag.ops.ScatterAdd(0), ((3, 4), (2, 2), (2, 2, 4))),
    ):
        operands = [_leaf(*shapes[0]), ag.zeros(shapes[1], dtype="int64"), *[_leaf(*shape) for shape in shapes[2:]]]
        result = op(*operands)
        assert op.infer(shapes, tuple(each.dtype for each in operands)) == (result.shape, result.dtype)


# --- cross-entropy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 4, 3)])
def test_cross_entropy_against_torch(
    reduction: str, label_smoothing: float, weighted: bool, shape: tuple[int, ...]
) -> None:
    torch = pytest.importorskip("torch")
    logits = RNG.normal(size=shape) * 3
    counts = shape[:1] + shape[2:] if len(shape) > 1 else ()
    targets = RNG.integers(0, 4, size=counts)
    if counts:
        targets.reshape(-1)[0] = -100
    weight = np.array([1.0, 0.5, 2.0, 3.0]) if weighted else None
    x = ag.Tensor(logits, requires_grad=True)
    w = None if weight is None else ag.Tensor(weight)
    loss = ag.cross_entropy(x, ag.Tensor(targets), w, reduction=reduction, label_smoothing=label_smoothing)
    theirs = torch.tensor(logits, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(
        theirs,
        torch.tensor(targets),
        weight=None if weight is None else torch.tensor(weight),
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
    np.testing.assert_allclose(loss.numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-13)
    loss.sum().backward()
    expected.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy(), rtol=1e-11, atol=1e-14)
    op = ag.ops.CrossEntropy(reduction, label_smoothing=label_smoothing)
    shapes = (shape, counts) if weight is None else (shape, counts, (4,))
    assert op.infer(shapes, (nd.float64, nd.int64, nd.float64)) == (loss.shape, loss.dtype)
    _check(
        lambda x: ag.cross_entropy(x, ag.Tensor(targets), w, reduction=reduction, label_smoothing=label_smoothing), x
    )


def test_cross_entropy_with_every_target_ignored() -> None:  # pytorch/pytorch#116349, #63004
    for reduction, expected in (("mean", [np.nan]), ("sum", [0.0]), ("none", [0.0, 0.0])):
        x = ag.Tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], requires_grad=True)
        loss = ag.cross_entropy(x, ag.Tensor([7, 7]), ignore_index=7, reduction=reduction)
        np.testing.assert_array_equal(loss.numpy().reshape(-1), expected)
        loss.sum().backward()
        assert x.grad is not None and x.grad.tolist() == [[0.0] * 3] * 2


def test_cross_entropy_of_an_impossible_class() -> None:  # pytorch/pytorch#116349, #63004
    x = ag.Tensor([[-np.inf, 1.0, 1.0]], dtype="float64", requires_grad=True)
    loss = ag.cross_entropy(x, ag.Tensor([1]))
    assert loss.item() == pytest.approx(np.log(2.0))
    loss.backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [[0.0, -0.5, 0.5]], atol=1e-15)


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_cross_entropy_with_labels_of_other_integers(dtype: str) -> None:
    x = _leaf(3, 4)
    expected = ag.cross_entropy(x, ag.Tensor([3, 0, 1]), ignore_index=0)
    assert ag.cross_entropy(x, ag.Tensor([3, 0, 1], dtype=dtype), ignore_index=0).item() == expected.item()
    assert np.isfinite(ag.cross_entropy(x, ag.Tensor([3, 0, 1], dtype=dtype)).item())


@pytest.mark.eager_only("class indices are looked at when the loss is computed")
def test_cross_entropy_checks_its_operands() -> None:
    x = _leaf(5, 4)
    for use, error in (
        (lambda: ag.cross_entropy(x, ag.zeros(5)), nd.DTypeError),
        (lambda: ag.cross_entropy(x, ag.zeros(4, dtype="int64")), nd.ShapeError),
        (lambda: ag.cross_entropy(x, ag.zeros(5, dtype="int64"), ag.zeros(3)), nd.ShapeError),
        (lambda: ag.cross_entropy(x, ag.Tensor([0, 1, 2, 3, 4])), IndexError),
        (lambda: ag.cross_entropy(x, ag.Tensor([0, 1, 2, 3, -1])), IndexError),
        (lambda: ag.ops.CrossEntropy("average"), ValueError),
        (lambda: ag.ops.CrossEntropy(label_smoothing=1.5), ValueError),
    ):
        with pytest.raises(error):
            use()


def test_a_network_against_torch() -> None:
    torch = pytest.importorskip("torch")
    arrays = [RNG.normal(size=shape) for shape in ((6, 5), (8, 5), (8,), (3, 8), (3,))]
    targets = np.array([0, 1, 2, 2, 1, 0])
    x, *ours = [ag.Tensor(each.copy(), requires_grad=True) for each in arrays]
    y, *theirs = [torch.tensor(each, requires_grad=True) for each in arrays]
    hidden = ag.relu(ag.linear(x, ours[0], ours[1]))
    ag.cross_entropy(ag.linear(ag.tanh(hidden), ours[2], ours[3]), ag.Tensor(targets)).backward()
    functional = torch.nn.functional
    other = functional.relu(functional.linear(y, theirs[0], theirs[1])).tanh()
    functional.cross_entropy(functional.linear(other, theirs[2], theirs[3]), torch.tensor(targets)).backward()
    for mine, reference in zip([x, *ours], [y, *theirs], strict=True):
        assert mine.grad is not None
        np.testing.assert_allclose(mine.grad.numpy(), reference.grad.numpy(), rtol=1e-10, atol=1e-14)
