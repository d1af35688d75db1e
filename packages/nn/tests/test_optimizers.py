"""Optimizers: single steps by hand, long runs against PyTorch, state and errors."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
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
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01, "maximize": True}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.05, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "maximize": True}),
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_fifty_steps_match_pytorch(torch: Any, name: str, options: dict[str, Any], device: Any) -> None:
    generator = np.random.default_rng(0)
    start = [generator.normal(size=shape) for shape in [(3, 4), (4,), ()]]
    ours = [leaf(value.copy()) for value in start]
    theirs = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in start]
    our_optimizer = globals()[name](ours, **options)
    their_optimizer = getattr(torch.optim, name)(theirs, **options)
    for _ in range(50):
        for mine, other in zip(ours, theirs, strict=True):
            gradient = np.asarray(generator.normal(size=mine.shape))
            mine.grad = Tensor(gradient)
            other.grad = torch.from_numpy(gradient.copy())
        our_optimizer.step()
        their_optimizer.step()
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.detach().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_resumed_run_goes_on_as_if_never_stopped(name: str, options: dict[str, Any]) -> None:
    gradients = [0.5, -0.25, 1.0, 0.125, -2.0, 0.75]
    whole = leaf([1.0])
    expected = steps(whole, globals()[name]([whole], **options), gradients)
    first = leaf([1.0])
    optimizer = globals()[name]([first], **options)
    steps(first, optimizer, gradients[:3])
    saved = optimizer.state_dict()
    second = leaf(first.numpy().copy())
    resumed = globals()[name]([second], lr=9.0)
    resumed.load_state_dict(saved)
    assert steps(second, resumed, gradients[3:]) == expected[3:]
    steps(first, optimizer, [100.0])
    assert second.item() == expected[-1]


def test_a_state_dict_of_pytorch_loads(torch: Any) -> None:
    start = np.random.default_rng(0).normal(size=(3, 2))
    theirs = torch.tensor(start, requires_grad=True)
    their_optimizer = torch.optim.Adam([theirs], lr=0.1)
    theirs.grad = torch.ones(3, 2, dtype=torch.float64)
    their_optimizer.step()
    ours = leaf(theirs.detach().numpy().copy())
    optimizer = Adam([ours])
    state = their_optimizer.state_dict()
    state["state"] = {key: {k: v.numpy() for k, v in values.items()} for key, values in state["state"].items()}
    state["param_groups"] = [{**group, "decoupled_weight_decay": False} for group in state["param_groups"]]
    optimizer.load_state_dict(state)
    theirs.grad = torch.full((3, 2), 3.0, dtype=torch.float64)
    ours.grad = Tensor(np.full((3, 2), 3.0))
    their_optimizer.step()
    optimizer.step()
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-12)


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
        (lambda p: SGD([p, p]), ValueError, "twice"),
        (lambda p: SGD([{"params": [p]}, {"params": [p]}]), ValueError, "twice"),
        (lambda p: SGD([{"params": []}]), ValueError, "empty"),
        (lambda p: SGD([p * 2.0]), ValueError, "is no leaf"),
        (lambda p: SGD([p], lr=-1.0), ValueError, "lr must be 0 or more, not -1.0"),
        (lambda p: SGD([p], lr=float("nan")), ValueError, "lr"),
        (lambda p: SGD([p], momentum=-0.1), ValueError, "momentum"),
        (lambda p: SGD([p], nesterov=True), ValueError, "nesterov needs a momentum"),
        (lambda p: SGD([{"params": [p], "weight_decay": -1.0}]), ValueError, "weight_decay"),
        (lambda p: Adam([p], betas=(0.9, 1.0)), ValueError, "betas"),
        (lambda p: AdamW([p], eps=-1.0), ValueError, "eps"),
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
