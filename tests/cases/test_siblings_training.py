"""Faults that users of other libraries reported of optimizers and gradient clipping, looked for in their relatives.

Expected values come from mathematics, float64 and PyTorch.
"""

import math
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle import nn, optim
from treadle.autograd import Tensor

each_device = pytest.mark.parametrize("device", ["cpu", "numpy"])

EVERY: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {"lr": 0.1},
    "AdamW": {"lr": 0.1, "weight_decay": 0.0},
    "Adamax": {"lr": 0.1},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "RMSprop": {"lr": 0.1},
    "Adagrad": {"lr": 0.1},
    "Adadelta": {"lr": 0.1},
    "Rprop": {"lr": 0.1},
    "ASGD": {"lr": 0.1, "lambd": 0.0},
    "Lion": {"lr": 0.1},
}


def parameter(values: Any, dtype: str = "float32", device: str = "cpu") -> nn.Parameter:
    return nn.Parameter(nd.asarray(values, dtype=dtype, device=device, copy=True))


def stepped(name: str, options: dict[str, Any], x: nn.Parameter, slopes: Any, steps: int) -> list[float]:
    optimizer = getattr(optim, name)([x], **options)
    for _ in range(steps):
        x.grad = Tensor(nd.asarray(slopes, dtype=x.dtype, device=x.device))
        optimizer.step()
    return x.tolist()  # type: ignore[no-any-return]


@each_device
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", EVERY)
def test_a_parameter_that_is_infinite_stays_so(name: str, dtype: str, device: str) -> None:
    """pytorch/pytorch#103963 at the optimizer: a mask of -inf that is a parameter is not turned into NaN by 0 * inf."""
    found = stepped(name, EVERY[name], parameter([-math.inf, math.inf, 1.0], dtype, device), [0.0, 0.0, 0.5], 3)
    assert found[:2] == [-math.inf, math.inf] and math.isfinite(found[2]) and found[2] != 1.0


@each_device
@pytest.mark.parametrize("slope", [0.1, 123.4])
def test_centered_rmsprop_of_a_constant_slope(slope: float, device: str) -> None:
    """apache/mxnet#6235, google-deepmind/optax#1785: a variance that rounds below 0 has no root."""
    x = parameter([0.0, 0.0], device=device)
    found = stepped("RMSprop", {"lr": 1e-3, "centered": True}, x, [slope, -slope], 1300)
    assert all(map(math.isfinite, found)) and found[0] == -found[1] < 0.0


@pytest.mark.parametrize("name", ["Adam", "NAdam", "RAdam", "RMSprop"])
def test_slopes_whose_squares_overflow_alone(name: str) -> None:
    """pytorch/pytorch#43211 upside down: (1 - beta) g^2 fits where g^2 does not; float64 says what is right."""
    options: dict[str, Any] = {"lr": 0.1, "amsgrad": True} if name == "Adam" else {"lr": 0.1}
    if name == "RAdam":
        options = {"lr": 0.1, "betas": (0.5, 0.9999)}
    wide = stepped(name, options, parameter([1.0], "float64"), [1e20], 2)
    assert stepped(name, options, parameter([1.0]), [1e20], 2) == pytest.approx(wide, rel=1e-4)


def test_parameters_without_an_order_are_refused() -> None:
    """A set of them: the state dict would be another one in the next process."""
    x = parameter([1.0])
    for given in ({x}, frozenset([x]), [{"params": {x}}]):
        with pytest.raises(TypeError, match="in an order"):
            optim.SGD(given, lr=0.1)


# --- norms of gradients ---------------------------------------------------------------------------------------------
SIZES = [("float16", 300.0), ("float16", 1e-4), ("bfloat16", 1e25), ("float32", 1e30), ("float32", 1e-30)]


@each_device
@pytest.mark.parametrize(("dtype", "size"), [*SIZES, ("float64", 1e200), ("float64", 1e-200)])
def test_lengths_whose_squares_overflow_or_vanish(dtype: str, size: float, device: str) -> None:
    """pytorch/pytorch#43211, #51912: the norm, its gradient, the clipping by it, unit vectors and cosines."""
    values = nd.asarray([size, -size, 0.5 * size], dtype=dtype, device=device)
    exact = values.astype("float64").numpy()
    x = Tensor(values, requires_grad=True)
    ag.norm(x).backward()
    unit, rough = exact / 1.5 / abs(exact[0]), {"float64": 1e-12, "float32": 1e-6}.get(dtype, 1e-2)
    assert ag.norm(x).item() == pytest.approx(1.5 * abs(exact[0]), rel=rough)
    assert nd.linalg.vector_norm(values).item() == pytest.approx(1.5 * abs(exact[0]), rel=rough)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.data.astype("float64").numpy(), unit, rtol=rough)
    if size > 1.0:
        found = nn.functional.normalize(x, dim=0).data.astype("float64").numpy()
        np.testing.assert_allclose(found, unit, rtol=rough)
        assert nn.functional.cosine_similarity(x, x, dim=0).item() == pytest.approx(1.0, rel=2 * rough)
        p = parameter([0.0] * 3, dtype, device)
        p.grad = Tensor(values.copy())
        assert nn.utils.clip_grad_norm_(p, 1.0).item() == pytest.approx(1.5 * abs(exact[0]), rel=rough)
        np.testing.assert_allclose(p.grad.data.astype("float64").numpy(), unit, rtol=2 * rough)


@each_device
@pytest.mark.parametrize("order", [-3.0, -1.0, 1.5, 3.0])
@pytest.mark.parametrize("size", [1e-30, 1e-15, 1e15, 1e30])
def test_powers_that_overflow_or_vanish(size: float, order: float, device: str) -> None:
    """pytorch/pytorch#43211 for other orders, in float32."""
    values = np.array([[1.0, -2.0, 0.5], [0.25, 0.25, 3.0]])
    expected = np.linalg.norm(values, ord=order, axis=1)
    x = Tensor(nd.asarray(values * size, dtype="float32", device=device), requires_grad=True)
    y = ag.linalg.vector_norm(x, axis=1, ord=order)
    y.sum().backward()
    slope = np.sign(values) * (np.abs(values) / expected[:, None]) ** (order - 1.0)
    np.testing.assert_allclose(y.numpy() / size, expected, rtol=1e-5)
    np.testing.assert_allclose(nd.linalg.vector_norm(x.data, axis=1, ord=order).numpy() / size, expected, rtol=1e-5)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_unit_vectors_of_nothing_are_nothing(dtype: str) -> None:
    """pytorch/pytorch#32137: an eps that the dtype rounds to 0 guards nothing."""
    x = Tensor(nd.zeros((2, 3), dtype=dtype), requires_grad=True)
    y = nn.functional.normalize(x)
    cosine = nn.functional.cosine_similarity(x, x)
    assert y.tolist() == [[0.0] * 3] * 2 and cosine.tolist() == [0.0, 0.0]
    (y.sum() + cosine.sum()).backward()
    assert x.grad is not None and y.dtype == cosine.dtype == x.grad.dtype == dtype
    assert not np.isnan(x.grad.data.astype("float32").numpy()).any()


@each_device
@pytest.mark.parametrize("order", [-2.0, -1.0, -0.5, 0.5, 3.0])
def test_norms_of_negative_and_broken_orders(order: float, device: str) -> None:
    """HIPS/autograd#151: an element of 0 makes a norm of negative order 0, infinite ones alone make it infinite."""
    rows = [[0.0, 1.0], [-math.inf, -math.inf], [math.inf, 1.0], [0.0, 0.0], [math.nan, 1.0], [3.0, -4.0]]
    with np.errstate(all="ignore"):
        expected = np.linalg.norm(np.array(rows), ord=order, axis=1)
    x = Tensor(nd.asarray(rows, dtype="float64", device=device), requires_grad=True)
    np.testing.assert_allclose(nd.linalg.vector_norm(x.data, axis=1, ord=order).numpy(), expected, rtol=1e-12)
    found = ag.linalg.vector_norm(x, axis=1, ord=order)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    found[np.array([0, 3, 5])].sum().backward()
    assert x.grad is not None and np.isfinite(x.grad.numpy()[[0, 1, 2, 3, 5]]).all()


@pytest.mark.parametrize("rate", [Tensor(0.5), nd.asarray(0.5), np.float32(0.5)])
def test_rates_that_are_tensors(rate: Any) -> None:
    """lr=tensor(...) is the number in it."""
    weight = nn.Parameter([1.0])
    optimizer = optim.SGD([{"params": [weight], "lr": rate}], lr=rate)
    weight.grad = Tensor([1.0])
    optimizer.step()
    assert weight.tolist() == [0.5] and optimizer.param_groups[0]["lr"] == 0.5


def test_limits_of_clipping() -> None:
    """pytorch/pytorch#46849: limits that are tensors, the order "inf", a module in place of its parameters."""
    weight = nn.Parameter([0.0, 0.0])
    weight.grad = Tensor([3.0, -4.0])
    assert nn.utils.clip_grad_norm_([weight], Tensor(2.0), "inf").item() == 4.0  # type: ignore[arg-type]
    np.testing.assert_allclose(weight.grad.numpy(), [1.5, -2.0], rtol=1e-6)
    nn.utils.clip_grad_value_([weight], Tensor(1.0))  # type: ignore[arg-type]
    assert weight.grad.tolist() == [1.0, -1.0]
    with pytest.raises(TypeError, match=r"not of a Linear: pass its parameters\(\)"):
        nn.utils.clip_grad_norm_(nn.Linear(1, 1), 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_moving_averages_of_all_that_a_batch_norm_has(dtype: str) -> None:
    """pytorch/pytorch#84053, pytorch/ignite#2590: running statistics are averaged too, and counts are no numbers to
    average."""
    model = nn.BatchNorm1d(1).to(nd.dtype(dtype))
    average = optim.ExponentialMovingAverage([*model.parameters(), *model.buffers()], decay=0.5)
    for _ in range(3):
        model(Tensor(nd.asarray([[1.0], [3.0]], dtype=dtype)))
    average.update()
    restored = optim.ExponentialMovingAverage([*model.parameters(), *model.buffers()])
    restored.load_state_dict(average.state_dict())
    present = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    assert present["num_batches_tracked"] == 3 and present["running_mean"] == pytest.approx(0.542, abs=1e-3)
    with restored.averaged():
        assert model.running_mean is not None and model.num_batches_tracked is not None
        assert model.running_mean.item() == pytest.approx(0.271, abs=1e-3)
        assert (model.num_batches_tracked.item(), model.num_batches_tracked.dtype.name) == (3, "int64")
    assert all((value.numpy() == present[name]).all() for name, value in model.state_dict().items())
