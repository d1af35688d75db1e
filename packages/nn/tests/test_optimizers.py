"""Optimizers: single steps by hand, state and errors; ``parity`` has long runs against PyTorch."""

import copy
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn, optim
from treadle.autograd import Tensor
from treadle.optim import SGD, Adam, AdamW


def leaf(value: Any, dtype: Any = nd.float64) -> Tensor:
    return Tensor(value, requires_grad=True, dtype=dtype)


def steps(parameter: Tensor, optimizer: Any, gradients: list[float]) -> list[float]:
    """The parameter after each of the gradients."""
    values = []
    for gradient in gradients:
        parameter.grad = Tensor([gradient], dtype=parameter.dtype)
        optimizer.step()
        values.append(parameter.item())
    return values


def test_adam_corrects_both_moments_and_adds_eps_outside_the_root(device: Any) -> None:
    """With equal gradients g both corrected moments are g and g^2: each step is lr * g / (g + eps)."""
    parameter = leaf([1.0])
    values = steps(parameter, Adam([parameter], lr=0.1, eps=1e-2), [1e-3, 1e-3])
    assert values == pytest.approx([0.990909090909091, 0.9818181818181819], rel=1e-12)


def test_sgd_weight_decay_without_momentum(device: Any) -> None:
    parameter = leaf([1.0])
    assert steps(parameter, SGD([parameter], lr=0.1, weight_decay=0.1), [0.5]) == pytest.approx([0.94])


def test_sgd_dampening_spares_the_first_step(device: Any) -> None:
    parameter = leaf([1.0])
    values = steps(parameter, SGD([parameter], lr=0.1, momentum=0.9, dampening=0.5), [0.5, 0.5])
    assert values == pytest.approx([0.95, 0.88])


def test_adamw_decays_apart_from_the_gradient(device: Any) -> None:
    """A zero gradient leaves only the decay: p * (1 - lr * weight_decay)."""
    parameter = leaf([2.0])
    assert steps(parameter, AdamW([parameter], lr=0.1, weight_decay=0.5), [0.0]) == pytest.approx([1.9])


CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "damped": True}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.01}),
    ("Adadelta", {"rho": 0.7}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("NAdam", {"momentum_decay": 0.1}),
    ("RAdam", {"betas": (0.5, 0.6)}),
    ("Adamax", {"weight_decay": 0.1}),
    ("Rprop", {"etas": (0.4, 1.1)}),
    ("ASGD", {"t0": 2.0, "lambd": 0.1}),
    ("Lion", {"lr": 0.01, "weight_decay": 0.1}),
]


@pytest.mark.parametrize("dtype", [nd.float16, nd.bfloat16])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_halves_are_computed_in_float32(name: str, options: dict[str, Any], dtype: Any, device: Any) -> None:
    """Each step is that of float32, rounded; the gradient is so small that its square would vanish in float16."""
    half, wide = Tensor(nd.ones(3, dtype=dtype), requires_grad=True), Tensor(nd.ones(3), requires_grad=True)
    optimizers = [getattr(optim, name)([each], **options) for each in (half, wide)]
    for _ in range(3):
        for parameter, optimizer in zip((half, wide), optimizers, strict=True):
            parameter.grad = Tensor(nd.full((3,), 2.0**-14, dtype=parameter.dtype))
            optimizer.step()
        wide.data[...] = wide.data.astype(dtype)
    assert half.dtype == dtype
    assert half.data.astype(nd.float32).tolist() == wide.tolist()
    arrays = [value for value in optimizers[0].state.get(half, {}).values() if isinstance(value, nd.NDArray)]
    assert all(value.dtype == nd.float32 for value in arrays)
    optimizers[0].load_state_dict(optimizers[0].state_dict())
    optimizers[0].step()


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] not in ("SGD", "Adafactor")])
def test_a_large_parameter_moves_like_its_parts(name: str, options: dict[str, Any]) -> None:
    """It is updated in blocks; the last is short, and the gradient comes transposed."""
    gradients = np.random.default_rng(0).normal(size=(3, 250, 301)).astype("f4")
    whole = Tensor(nd.ones((301, 250)), requires_grad=True)
    parts = [Tensor(nd.ones((1, 250)), requires_grad=True) for _ in range(301)]
    optimizers = [getattr(optim, name)(each, **options) for each in ([whole], parts)]
    for gradient in gradients:
        whole.grad = Tensor(nd.asarray(gradient).T)
        for part, row in zip(parts, gradient.T, strict=True):
            part.grad = Tensor(np.ascontiguousarray(row)[None])
        for optimizer in optimizers:
            optimizer.step()
    np.testing.assert_array_equal(whole.numpy(), np.concatenate([part.numpy() for part in parts]))


def test_every_optimizer_is_resumed() -> None:
    kinds = {name for name in optim.__all__ if isinstance(getattr(optim, name), type)}
    assert {name for name, _ in CASES} == kinds - {"Optimizer", "ExponentialMovingAverage", "LBFGS", "Muon"}


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("dtype", [nd.float32, nd.float64])
def test_devices_agree(name: str, options: dict[str, Any], dtype: Any) -> None:
    """Kernels on one, NumPy on the other; the state is of the parameter's dtype."""
    gradients = np.random.default_rng(0).normal(size=(10, 3, 5))
    results = []
    for device in ("cpu", "numpy"):
        parameter = Tensor(nd.ones((3, 5), dtype=dtype, device=device), requires_grad=True)
        optimizer = getattr(optim, name)([parameter], **options)
        for gradient in gradients:
            parameter.grad = Tensor(nd.asarray(gradient, dtype=dtype, device=device))
            optimizer.step()
        assert all(
            value.dtype == dtype for value in optimizer.state.get(parameter, {}).values() if hasattr(value, "dtype")
        )
        results.append(parameter.numpy())
    np.testing.assert_allclose(*results, rtol=2e-5 if dtype == nd.float32 else 1e-12)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_resumed_run_goes_on_as_if_never_stopped(name: str, options: dict[str, Any]) -> None:
    gradients = [0.5, -0.25, 1.0, 0.125, -2.0, 0.75]
    whole = leaf([1.0])
    expected = steps(whole, getattr(optim, name)([whole], **options), gradients)
    first = leaf([1.0])
    optimizer = getattr(optim, name)([first], **options)
    steps(first, optimizer, gradients[:3])
    saved = optimizer.state_dict()
    second = leaf(first.numpy().copy())
    resumed = getattr(optim, name)([second], lr=9.0)
    resumed.load_state_dict(saved)
    assert steps(second, resumed, gradients[3:]) == expected[3:]
    steps(first, optimizer, [100.0])
    assert second.item() == expected[-1]


def test_steps_saved_as_arrays_are_numbers_again() -> None:
    for value in (1.0, [1.0]):
        parameter = leaf(value)
        optimizer = Adam([parameter])
        parameter.grad = Tensor(value, dtype=nd.float64)
        optimizer.step()
        saved = optimizer.state_dict()
        saved["state"][0]["step"] = np.array(1.0)
        optimizer.load_state_dict(saved)
        state = optimizer.state[parameter]
        assert type(state["step"]) is int and state["step"] == 1
        assert state["exp_avg"].shape == parameter.shape
        optimizer.step()


def test_groups_have_their_own_options() -> None:
    slow, fast = leaf([1.0]), leaf([1.0])
    optimizer = SGD([{"params": [slow]}, {"params": fast, "lr": 1.0}], lr=0.1)
    optimizer.add_param_group({"params": [("named", third := leaf([1.0]))], "lr": 0.5})
    for parameter in (slow, fast, third):
        parameter.grad = Tensor([1.0], dtype=nd.float64)
    optimizer.step()
    assert [slow.item(), fast.item(), third.item()] == pytest.approx([0.9, 0.0, 0.5])


def test_parameters_without_a_gradient_stay() -> None:
    still, moved = leaf([1.0]), leaf([1.0])
    optimizer = Adam([still, moved], weight_decay=0.5)
    moved.grad = Tensor([1.0], dtype=nd.float64)
    optimizer.step()
    assert still.item() == 1.0
    assert list(optimizer.state) == [moved]


def test_the_step_is_in_place_and_seen_by_the_graph() -> None:
    """Memory and object stay, and a graph that saved the old values refuses to differentiate."""
    parameter = leaf([2.0])
    pointer, version = parameter.data.data_pointer, parameter.data.version
    loss = (parameter * parameter).sum()
    parameter.grad = Tensor([1.0], dtype=nd.float64)
    SGD([parameter], lr=0.1).step()
    assert parameter.data.data_pointer == pointer
    assert parameter.data.version > version
    with pytest.raises(RuntimeError):
        loss.backward()


def test_a_parameter_made_of_a_transposed_array_learns() -> None:
    parameter = nn.Parameter(nd.asarray(np.arange(6.0).reshape(2, 3)).T)
    assert parameter.data.is_contiguous
    (parameter * 2.0).sum().backward()
    SGD([parameter], lr=0.5).step()
    assert parameter.numpy().tolist() == [[-1.0, 2.0], [0.0, 3.0], [1.0, 4.0]]


def test_amsgrad_can_be_switched_on_later() -> None:
    parameter = leaf([1.0])
    optimizer = Adam([parameter], lr=0.1)
    steps(parameter, optimizer, [1.0])
    optimizer.param_groups[0]["amsgrad"] = True
    assert steps(parameter, optimizer, [1.0])[0] == pytest.approx(0.8)


def test_a_shared_parameter_is_stepped_once() -> None:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, 1.0)
    model = nn.Sequential(layer, layer)
    optimizer = SGD(model.parameters(), lr=0.1)
    layer.weight.grad = Tensor([[1.0]])
    optimizer.step()
    assert layer.weight.item() == pytest.approx(0.9)


def test_closure() -> None:
    parameter = leaf([1.0])
    optimizer = SGD([parameter], lr=0.25)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = (parameter * parameter).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 1.0
    assert parameter.item() == 0.5


def test_zero_grad() -> None:
    parameter = leaf([1.0])
    optimizer = SGD([parameter])
    parameter.grad = Tensor([3.0], dtype=nd.float64)
    optimizer.zero_grad(set_to_none=False)
    assert parameter.grad is not None
    assert parameter.grad.item() == 0.0
    optimizer.zero_grad()
    assert parameter.grad is None


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda p: SGD([]), ValueError, "no parameters"),
        (lambda p: SGD(p), TypeError, r"write \[tensor\]"),
        (lambda p: SGD([{"params": {p}}]), TypeError, "set"),
        (lambda p: SGD([3]), TypeError, "can only change tensors, not int"),
        (lambda p: SGD([Tensor([1])]), nd.DTypeError, "floating-point tensors, not int64"),
        (lambda p: Adam([Tensor([1j])]), nd.DTypeError, "not complex.*its real and imaginary parts"),
        (lambda p: SGD([{"param": [p]}]), ValueError, "needs 'params'; this one has 'param'"),
        (lambda p: SGD([p, p]), ValueError, "twice"),
        (lambda p: SGD([{"params": [p]}, {"params": [p]}]), ValueError, "twice"),
        (lambda p: SGD([{"params": []}]), ValueError, "empty"),
        (lambda p: SGD([p * 2.0]), ValueError, "is no leaf"),
        (lambda p: SGD([p], lr=-1.0), ValueError, "lr must be 0 or more, not -1.0"),
        (lambda p: SGD([p], lr=float("nan")), ValueError, "lr"),
        (lambda p: SGD([p], lr="a"), ValueError, "lr must be 0 or more, not 'a'"),
        (lambda p: Adam([p], betas=0.9), ValueError, "betas must be two numbers"),
        (lambda p: SGD([p], momentum=-0.1), ValueError, "momentum"),
        (lambda p: SGD([p], nesterov=True), ValueError, "nesterov needs a momentum"),
        (lambda p: SGD([{"params": [p], "weight_decay": -1.0}]), ValueError, "weight_decay"),
        (lambda p: Adam([p], betas=(0.9, 1.0)), ValueError, "betas"),
        (lambda p: AdamW([p], eps=-1.0), ValueError, "eps"),
        (lambda p: SGD([p], momentum=0.5, dampening=0.5, damped=True), ValueError, "damped"),
        (lambda p: optim.Adadelta([p], rho=1.5), ValueError, "rho"),
        (lambda p: optim.Adagrad([p], lr_decay=-1.0), ValueError, "lr_decay"),
        (lambda p: optim.RMSprop([p], alpha=-1.0), ValueError, "alpha"),
        (lambda p: optim.NAdam([p], momentum_decay=-1.0), ValueError, "momentum_decay"),
        (lambda p: optim.Rprop([p], etas=(1.1, 1.2)), ValueError, "etas"),
        (lambda p: optim.Lion([p], betas=(0.9, -1.0)), ValueError, "betas"),
        (lambda p: optim.ExponentialMovingAverage([p], decay=1.5), ValueError, "decay"),
        (lambda p: optim.ExponentialMovingAverage(p), TypeError, r"write \[tensor\]"),
    ],
)
def test_bad_arguments(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build(leaf([1.0]))


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    optimizer = Adam([leaf([1.0])], lr=0.5)
    with pytest.raises(ValueError, match=r"groups have \[1\] parameters, those of the state dict \[2\]"):
        optimizer.load_state_dict(Adam([leaf([1.0]), leaf([2.0])]).state_dict())
    other = leaf([1.0, 2.0])
    donor = Adam([other])
    other.grad = Tensor([1.0, 1.0], dtype=nd.float64)
    donor.step()
    with pytest.raises(ValueError, match=r"'exp_avg' has shape \(2,\), but its parameter \(1,\)"):
        optimizer.load_state_dict(donor.state_dict())
    groups = optimizer.state_dict()["param_groups"]
    for state in ({}, None, {"state": {}}):
        with pytest.raises(ValueError, match="no state dict of an optimizer"):
            optimizer.load_state_dict(state)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a state for parameter 7, which is in none of its groups"):
        optimizer.load_state_dict({"state": {7: {"step": 1}}, "param_groups": groups})
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert not optimizer.state


def test_repr_lists_the_options() -> None:
    assert repr(SGD([leaf([1.0])], lr=0.5)).splitlines()[:5] == [
        "SGD (",
        "Parameter Group 0",
        "    damped: False",
        "    dampening: 0.0",
        "    lr: 0.5",
    ]


def test_an_average_of_weights_goes_on_where_it_was() -> None:
    weight = leaf([1.0, 2.0])
    first = optim.ExponentialMovingAverage([weight], decay=0.5, warmup=True)
    weight.data[...] = 8.0
    first.update()
    second = optim.ExponentialMovingAverage([weight])
    second.load_state_dict(first.state_dict())
    for ema in (first, second):
        ema.update()
    assert first.averages[0].tolist() == second.averages[0].tolist()
    second.copy_to()
    assert weight.tolist() == first.averages[0].tolist()
    with pytest.raises(ValueError, match="shapes"):
        optim.ExponentialMovingAverage([leaf([1.0])]).load_state_dict(first.state_dict())


def test_weights_come_back_after_an_error() -> None:
    weight = leaf([1.0])
    ema = optim.ExponentialMovingAverage([weight])
    weight.data[...] = 3.0
    with pytest.raises(RuntimeError), ema.averaged():
        assert weight.item() == 1.0
        raise RuntimeError
    assert weight.item() == 3.0


def test_gradients_of_parts_add_up_to_that_of_the_batch() -> None:
    """Accumulation: each part's loss divided by their number, one step."""
    x, y = np.random.default_rng(0).normal(size=(2, 8, 1))
    weights = []
    for parts in (1, 4):
        weight = leaf([[0.5]])
        optimizer = SGD([weight], lr=0.1)
        for rows, wanted in zip(np.split(x, parts), np.split(y, parts), strict=True):
            (nn.functional.mse_loss(Tensor(rows) @ weight, Tensor(wanted)) / parts).backward()
        optimizer.step()
        weights.append(weight.item())
    assert weights[0] == pytest.approx(weights[1], rel=1e-12)


def test_an_average_of_halves_moves() -> None:
    """By a thousandth each time, which bfloat16 cannot show beside 1."""
    weight = Tensor(nd.ones(1, dtype=nd.bfloat16))
    ema = optim.ExponentialMovingAverage([weight], decay=0.999)
    weight.data[...] = 2.0
    for _ in range(100):
        ema.update()
    assert ema.averages[0].item() == pytest.approx(2.0 - 0.999**100, rel=1e-5)


@pytest.mark.parametrize("kind", [Adam, optim.SGD, optim.Rprop, optim.Adafactor, optim.Muon, optim.LBFGS])
def test_the_state_follows_parameters_that_were_converted_or_moved(kind: Any) -> None:
    layer = nn.Linear(2, 2, bias=False)
    optimizer = kind(layer.parameters(), **({"momentum": 0.9} if kind is optim.SGD else {"lr": 0.1}))

    def closure() -> Tensor:
        optimizer.zero_grad()
        rows = Tensor(np.ones((3, 2)), dtype=layer.weight.dtype, device=layer.weight.device)
        loss = (layer(rows) ** 2).sum()
        loss.backward()
        return loss

    closure()
    optimizer.step(closure)
    for device, dtype in (("cpu", nd.float64), ("numpy", nd.float64), ("cpu", nd.float32)):
        layer.to(device, dtype)
        before = layer.weight.numpy().copy()
        optimizer.step(closure)
        arrays = [value for value in optimizer.state[layer.weight].values() if isinstance(value, nd.NDArray)]
        assert arrays
        assert {(array.dtype, array.device.type) for array in arrays} == {(dtype, device)}
        assert (layer.weight.numpy() != before).any()


def test_the_moments_keep_their_values_as_they_follow() -> None:
    """Adam by hand: the second step with both moments of the first."""
    parameter = leaf([1.0], nd.float32)
    optimizer = Adam([parameter], lr=0.1, eps=1e-2)
    steps(parameter, optimizer, [1e-3])
    parameter.data = parameter.data.astype(nd.float64)
    assert steps(parameter, optimizer, [1e-3]) == pytest.approx([0.9818181818181819], rel=1e-6)


class Counting(optim.Optimizer):
    """With a state of shapes of its own, and plain values in it."""

    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        if not state:
            state.update(row=nd.zeros(7, device="cpu"), seen=nd.zeros(2, dtype=nd.int64, device="cpu"), note=["a"])
        state["row"] += 1.0
        parameter.data[...] = parameter.data - gradient


def test_a_state_of_another_shape_follows_as_well() -> None:
    parameter = leaf([1.0], nd.float32)
    optimizer = Counting([parameter], {})
    optimizer.state[parameter] = {}
    steps(parameter, optimizer, [1.0, 1.0])
    parameter.data = parameter.data.astype(nd.float64)
    steps(parameter, optimizer, [1.0, 1.0])
    state = copy.deepcopy(optimizer).state.popitem()[1]
    assert state["row"].dtype == nd.float64
    assert state["row"].tolist() == [4.0] * 7
    assert (state["seen"].dtype, state["note"]) == (nd.int64, ["a"])
