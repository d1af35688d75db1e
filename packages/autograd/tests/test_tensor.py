"""The tensor: making, reading, changing, printing, and operators beside scalars and foreign data."""

import gc

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


def test_defaults_and_dtypes(device: str) -> None:
    x = ag.Tensor([[1.0, 2.0]])
    assert (x.shape, x.ndim, x.size) == ((1, 2), 2, 2)
    assert x.dtype is nd.float32 and x.device == device
    assert not x.requires_grad and x.grad is None and x.name is None
    assert x.is_leaf and x.op is None and x.inputs == ()
    assert ag.Tensor([1, 2]).dtype is nd.int64
    assert ag.Tensor(np.ones(2)).dtype is nd.float64
    assert ag.Tensor(1.5, dtype="float64", name="w").name == "w"
    assert ag.Tensor(x).data.data_pointer == x.data.data_pointer


def test_tensor_shares_and_tensor_function_copies() -> None:
    source = np.zeros(2, np.float32)
    shared, copied = ag.Tensor(source), ag.tensor(source)
    source[0] = 1.0
    assert shared.tolist() == [1.0, 0.0]
    assert copied.tolist() == [0.0, 0.0]


def test_values(device: str) -> None:
    x = ag.Tensor([1.0, 2.0])
    assert isinstance(x.data, nd.NDArray)
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(x), [1.0, 2.0])
    assert ag.Tensor(2.5).item() == float(ag.Tensor(2.5)) == 2.5
    assert int(ag.Tensor(3)) == [0, 1, 2, 3][ag.Tensor(3)] == 3
    assert len(x) == 2 and [each.item() for each in x] == [1.0, 2.0]
    assert bool(ag.Tensor(True)) and f"{ag.Tensor(1.25):.1f}" == "1.2"
    with pytest.raises(TypeError, match="0-d"):
        len(ag.Tensor(1.0))


def test_repr_shows_shape_op_and_gradient() -> None:
    w = ag.Tensor([1.0, 2.0], requires_grad=True, name="w")
    assert repr(ag.Tensor([1, 2])) == "Tensor([1 2], shape=(2,), dtype=int64)"
    assert "name='w'" in repr(w) and "requires_grad=True" in repr(w) and "grad of shape" not in repr(w)
    y = w * 2
    assert "op=Multiply(right=2)" in repr(y)
    y.sum().backward()
    assert "grad of shape (2,)" in repr(w)
    assert "device=numpy" in repr(ag.Tensor([1.0], device="numpy"))


def test_op_and_inputs_are_read_only() -> None:
    x = ag.Tensor([1.0], requires_grad=True)
    y = x * x
    for name in ("op", "inputs", "is_leaf", "saved"):
        with pytest.raises(AttributeError):
            setattr(y, name, None)
    assert [each is x for each in y.inputs] == [True, True]
    with pytest.raises(AttributeError, match="read-only"):
        y.data = nd.ones(1)


def test_requires_grad_needs_a_floating_leaf() -> None:
    with pytest.raises(nd.DTypeError, match="int64"):
        ag.Tensor([1], requires_grad=True)
    x = ag.Tensor([1.0])
    assert x.requires_grad_() is x and x.requires_grad
    with pytest.raises(ag.GradientError, match="detach"):
        (x * 2).requires_grad = False
    with pytest.raises(nd.DTypeError, match="int64"):
        x.data = nd.asarray([1])


def test_grad_is_checked_when_set() -> None:
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    x.grad = ag.Tensor([1.0, 1.0])
    x.grad = None
    with pytest.raises(nd.ShapeError, match=r"\(3,\)"):
        x.grad = ag.zeros(3)
    with pytest.raises(nd.DTypeError, match="NDArray"):
        x.grad = nd.zeros(2)  # type: ignore[assignment]
    with pytest.raises(nd.DTypeError, match="float64 is not the tensor's float32"):
        x.grad = ag.zeros(2, dtype="float64")
    other = "cpu" if x.device == "numpy" else "numpy"
    with pytest.raises(nd.DeviceError, match=f"is on {other}, the tensor on {x.device}"):
        x.grad = ag.zeros(2, device=other)
    with pytest.raises(nd.DeviceError, match=f"is on {other}, the tensor on {x.device}"):
        (x * 2.0).backward(ag.zeros(2, device=other))
    assert x.grad is None


def test_detach_shares_memory_without_graph() -> None:
    x = ag.Tensor([1.0], requires_grad=True)
    y = (x * 2).detach()
    assert y.is_leaf and not y.requires_grad
    detached = x.detach()
    detached.data[0] = 5.0
    assert x.item() == 5.0


class Parameter(ag.Tensor):
    """A subclass with attributes of its own, as libraries above make."""

    def __init__(self, data: object) -> None:
        super().__init__(data, requires_grad=True)
        self.tags = ["a"]


def test_subclass() -> None:
    w = Parameter([1.0, 2.0])
    assert type(w * 2) is ag.Tensor
    (w * w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [2.0, 4.0]


def test_live_tensor_count() -> None:
    gc.disable()
    try:
        before = ag.live_tensor_count()
        x = ag.Tensor([1.0], requires_grad=True)
        y = ag.exp(x) * 2
        assert ag.live_tensor_count() == before + 3
        y.backward()
        assert ag.live_tensor_count() == before + 3  # x, y and x.grad; the exponential went with the graph
        del x, y
        assert ag.live_tensor_count() == before
    finally:
        gc.enable()
    with pytest.raises(nd.DTypeError):
        ag.Tensor("no number")
    assert ag.live_tensor_count() == before


# --- operators ----------------------------------------------------------------------------------------------------


def test_python_scalars_are_weak(device: str) -> None:
    x = ag.Tensor([1.0, 2.0])
    for y in (x + 1, 1 + x, x - 1.5, 1.5 - x, x * 2, 2 * x, x / 2, 2 / x, x**2, 2**x, x**0.5, -x, +x, abs(x)):
        assert y.dtype is nd.float32
    assert (2 - x).tolist() == [1.0, 0.0]
    assert (2 / x).tolist() == [2.0, 1.0]
    assert (2**x).tolist() == [2.0, 4.0]
    assert (ag.Tensor([1, 2]) * 2).dtype is nd.int64
    assert (ag.Tensor([1, 2]) * 2.5).dtype is nd.float32
    assert (ag.Tensor([7, -7]) // 2).tolist() == [3, -4]
    assert (ag.Tensor([7, -7]) % 2).tolist() == [1, 1]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_numpy_scalars_on_either_side_are_weak(kind: type) -> None:  # pytorch/pytorch#9651
    def gradient(y: ag.Tensor, x: ag.Tensor) -> list[float]:
        assert type(y) is ag.Tensor and y.dtype is nd.float32
        x.grad = None
        y.sum().backward()
        assert x.grad is not None
        result: list[float] = x.grad.tolist()
        return result

    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    assert gradient(kind(2) * x, x) == [2.0, 2.0]
    assert gradient(kind(1) + x, x) == [1.0, 1.0]
    assert gradient(kind(3) - x, x) == [-1.0, -1.0]
    assert gradient(kind(2) / x, x) == [-2.0, -0.5]
    assert gradient(x * kind(2), x) == [2.0, 2.0]


@pytest.mark.parametrize("other", [[1.0, 2.0], (1.0, 2.0), np.ones(2), nd.ones(2)])
def test_plain_data_is_refused_with_advice(other: object) -> None:
    x = ag.Tensor([1.0, 2.0])
    for use in (
        lambda: x + other,
        lambda: other * x,
        lambda: x @ other,
        lambda: ag.add(x, other),
        lambda: ag.exp(other),
        lambda: ag.ops.MatMul()(x, other),
        lambda: ag.concat([x, other]),  # type: ignore[list-item]
        lambda: x < other,
        lambda: x == other,
    ):
        with pytest.raises(nd.DTypeError, match=r"wrap it with Tensor\(\.\.\.\)"):
            use()


def test_foreign_objects_keep_their_operators() -> None:
    class Right:
        def __radd__(self, other: object) -> str:
            return "mine"

    assert ag.Tensor([1.0]) + Right() == "mine"
    with pytest.raises(TypeError, match="unsupported operand"):
        ag.Tensor([1.0]) + "text"


def test_comparisons_are_constants(device: str) -> None:
    x, y = ag.Tensor([1.0, 2.0], requires_grad=True), ag.Tensor([2.0, 2.0])
    for result, expected in (
        (x < y, [True, False]),
        (x <= 1.0, [True, False]),
        (x > y, [False, False]),
        (x >= 2, [False, True]),
        (x == y, [False, True]),
        (x != y, [True, False]),
    ):
        assert result.tolist() == expected and not result.requires_grad and result.dtype is nd.bool
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert x in {x: 1} and y not in {x: 1}
    assert (~(x < y) | (x > 0)).tolist() == [True, True]
    assert ((x > 0) & (x < 2)).tolist() == [True, False]
    assert ((x > 0) ^ (x < 2)).tolist() == [False, True]


def test_methods_are_the_functions(device: str) -> None:
    x = ag.Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.sum(axis=0).tolist() == [4.0, 6.0] and x.mean().item() == 2.5
    assert x.prod(1).tolist() == [2.0, 12.0] and x.max().item() == 4.0 and x.min(axis=1).tolist() == [1.0, 3.0]
    assert x.var().item() == pytest.approx(1.25) and x.std(correction=1).item() == pytest.approx((5 / 3) ** 0.5)
    assert x.argmax(axis=1).tolist() == [1, 1] and x.argmin().item() == 0
    assert x.reshape(4).shape == x.reshape((4,)).shape == x.reshape(-1).shape == (4,)
    assert x.T.tolist() == x.mT.tolist() == x.transpose().tolist() == x.transpose(1, 0).tolist() == [[1, 3], [2, 4]]
    assert x.reshape(1, 4).squeeze(0).shape == (4,)
    assert x.reshape(np.int64(4)).transpose(np.int64(0)).shape == x.reshape(np.array(4)).transpose(None).shape == (4,)
    for call in (lambda: x.reshape(None), lambda: x.reshape(4.0), lambda: ag.broadcast_to(x, None)):
        with pytest.raises(nd.ShapeError, match="an int or a sequence"):
            call()
    assert x.astype("int64").dtype is nd.int64
    assert x.to("numpy").device == "numpy" and x.to(dtype="float64").dtype is nd.float64 and x.to(device) is x
    with pytest.raises(nd.ShapeError, match="mT"):
        _ = ag.zeros((1, 2, 3)).T


def test_assignment(device: str) -> None:
    x = ag.Tensor([1.0, 2.0, 3.0])
    x[0] = 5.0
    x[1:] = ag.Tensor([7.0, 8.0])
    x[x > 7.5] = 0.0
    assert x.tolist() == [5.0, 7.0, 0.0]
    w = ag.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(ag.GradientError, match="not recorded"):
        w[0] = 1.0
    with pytest.raises(ag.GradientError, match="not recorded"):
        x[0] = w[0]
    with ag.no_grad():
        w[ag.Tensor([0, 1])] = 4.0
    assert w.tolist() == [4.0, 4.0, 3.0]


def test_shifts_are_operators_too() -> None:
    x = ag.Tensor([1, 2, 5])
    assert (x << 1).tolist() == [2, 4, 10] and (x >> 1).tolist() == [0, 1, 2]
    assert (1 << x).tolist() == [2, 4, 32] and (64 >> x).tolist() == [32, 16, 2]
    with pytest.raises(nd.DTypeError, match="bitwise_left_shift"):
        ag.Tensor([1.0]) << 1


def test_a_list_of_tensors_does_not_lose_their_gradients_unnoticed() -> None:
    x = ag.Tensor(1.5, requires_grad=True)
    for function in (ag.Tensor, nd.asarray, ag.tensor):
        with pytest.raises(nd.DTypeError, match=r"stack\(\) such, or take detach"):
            function([x, 2.0])
        assert function([x.detach(), 2.0]).tolist() == [1.5, 2.0]  # type: ignore[attr-defined]
    assert ag.Tensor([[1.0]]).squeeze().shape == ()
