"""Faults that users of other libraries reported in losses, optimizers, schedules and clipping, as cases that must pass.

The source of each is named in its test; expected values come from the papers' formulas.
"""

import json
import math
from typing import Any

import numpy as np
import pytest

from treadle import nn, optim
from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.utils import clip_grad_norm_
from treadle.optim import lr_scheduler

pytestmark = pytest.mark.usefixtures("on_device")
each_device = pytest.mark.parametrize("device", ["cpu", "numpy"])


def leaf(values: Any, dtype: str = "float64") -> Any:
    return Tensor(np.array(values, dtype), requires_grad=True)


def walked(optimizer: Any, parameter: Any, gradients: list[float]) -> list[float]:
    """The parameter, of one element, after each gradient."""
    values = []
    for gradient in gradients:
        parameter.grad = Tensor(np.full(parameter.shape, gradient), dtype=parameter.dtype)
        optimizer.step()
        values.append(float(parameter.item()))
    return values


# --- losses of logits ------------------------------------------------------------------------------------------------
@each_device
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropy_of_large_logits(weighted: bool, dtype: str, device: str) -> None:
    """pytorch/pytorch#2221, pytorch/pytorch#1792"""
    x, y = leaf([-100.0, 100.0, 0.0, 0.0], dtype), Tensor(np.array([0.0, 1.0, 0.0, 1.0], dtype))
    weight = Tensor(np.ones(1, dtype)) if weighted else None
    losses = functional.binary_cross_entropy_with_logits(x, y, reduction="none", pos_weight=weight)
    losses.sum().backward()
    assert losses.tolist() == pytest.approx([0.0, 0.0, math.log(2), math.log(2)], rel=1e-6, abs=1e-43)
    assert x.grad.tolist() == pytest.approx([0.0, 0.0, 0.5, -0.5], abs=1e-43)


@each_device
def test_the_other_losses_of_logits_do_not_overflow(device: str) -> None:
    """Of x = +-1000 they are 0 and 1000, with the slopes 0 and 1."""
    for loss, target in ((nn.SoftMarginLoss(), [1.0, -1.0]), (nn.MultiLabelSoftMarginLoss(), [1.0, 0.0])):
        x = leaf([[1000.0, 1000.0]], "float32")
        value = loss(x, Tensor([target]))
        value.backward()
        assert value.item() == 500.0
        assert x.grad.tolist() == [[0.0, 0.5]]


# --- adaptive optimizers ---------------------------------------------------------------------------------------------
G, EPS, LR = 1e-3, 1e-2, 0.1

EQUAL_GRADIENTS: dict[str, tuple[dict[str, Any], list[float]]] = {
    "Adam": ({}, [G / (G + EPS)] * 2),
    "Adam amsgrad": ({"amsgrad": True}, [G / (G + EPS), G / (math.sqrt((1 - 0.999**2) / (1 - 0.999**2)) * G + EPS)]),
    "AdamW": ({"weight_decay": 0.0}, [G / (G + EPS)] * 2),
    "Adamax": ({}, [G / (G + EPS)] * 2),
    "Adagrad": ({}, [G / (G + EPS), G / (math.sqrt(2) * G + EPS)]),
    "RMSprop": ({"alpha": 0.75}, [G / (0.5 * G + EPS), G / (math.sqrt(1 - 0.75**2) * G + EPS)]),
    "RAdam": ({}, [G, G]),
}
"""With equal gradients all corrected moments are the gradient and its square: the steps over the rate."""


@each_device
@pytest.mark.parametrize("case", EQUAL_GRADIENTS)
def test_eps_stands_outside_of_the_root_and_steps_count_from_1(case: str, device: str) -> None:
    """tensorflow/tensorflow#35102, pytorch/pytorch#2060, keras-team/keras#17391"""
    options, steps = EQUAL_GRADIENTS[case]
    parameter = leaf([1.0])
    optimizer = getattr(optim, case.split()[0])([parameter], lr=LR, eps=EPS, **options)
    assert walked(optimizer, parameter, [G, G]) == pytest.approx(list(1.0 - LR * np.cumsum(steps)), rel=1e-12)


# --- weight decay and dampening --------------------------------------------------------------------------------------
@each_device
def test_decay_without_momentum_and_dampening_from_the_second_step_on(device: str) -> None:
    """ml-explore/mlx#440, ml-explore/mlx#473"""
    first, second = leaf([1.0]), leaf([1.0])
    assert walked(optim.SGD([first], lr=0.1, weight_decay=0.1), first, [0.5]) == pytest.approx([0.94])
    dampened = optim.SGD([second], lr=0.1, momentum=0.9, dampening=0.5)
    assert walked(dampened, second, [0.5, 0.5]) == pytest.approx([0.95, 0.88])


OTHERS = (
    "Optimizer",
    "ExponentialMovingAverage",
    "lr_scheduler",
    "swa_utils",
    "Rprop",
    "LBFGS",
)  # the last two: no decay


@each_device
@pytest.mark.parametrize("name", [name for name in optim.__all__ if name not in OTHERS])
def test_decay_acts_where_the_gradient_is_zero(name: str, device: str) -> None:
    """And without it nothing moves, but for ASGD, which always shrinks by its own constant."""
    for decay in (0.0, 0.5):
        parameter = leaf([[2.0]] if name == "Muon" else [2.0])  # it takes matrices alone
        still = {"lambd": 0.0} if name == "ASGD" else {}
        optimizer = getattr(optim, name)([parameter], lr=0.1, weight_decay=decay, **still)
        values = walked(optimizer, parameter, [0.0, 0.0, 0.0])
        assert values == [2.0] * 3 if decay == 0.0 else 2.0 > values[0] > values[1] > values[2] > 0.0


# --- resumed schedules -----------------------------------------------------------------------------------------------
def schedule_of(name: str, optimizer: Any) -> Any:
    if name in ("SequentialLR", "ChainedScheduler"):
        parts = [lr_scheduler.LinearLR(optimizer, total_iters=3), lr_scheduler.ExponentialLR(optimizer, 0.9)]
        more: dict[str, Any] = {"milestones": [4]}
        return (
            lr_scheduler.SequentialLR(optimizer, parts, **more)
            if name == "SequentialLR"
            else lr_scheduler.ChainedScheduler(parts)
        )
    options: dict[str, dict[str, Any]] = {
        "ConstantLR": {"total_iters": 4},
        "CosineAnnealingLR": {"T_max": 5},
        "CosineAnnealingWarmRestarts": {"T_0": 2, "T_mult": 2},
        "CyclicLR": {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2},
        "ExponentialLR": {"gamma": 0.5},
        "LambdaLR": {"lr_lambda": lambda epoch: 1.0 / (1.0 + epoch)},
        "LinearLR": {},
        "MultiStepLR": {"milestones": [2, 4]},
        "MultiplicativeLR": {"lr_lambda": lambda epoch: 0.9},
        "OneCycleLR": {"max_lr": 1.0, "total_steps": 12},
        "PolynomialLR": {"total_iters": 7},
        "ReduceLROnPlateau": {"patience": 1},
        "StepLR": {"step_size": 2, "gamma": 0.5},
    }
    return getattr(lr_scheduler, name)(optimizer, **options[name])


def rates(schedule: Any, epochs: int) -> list[float]:
    values = []
    for _ in range(epochs):
        values.append(schedule.optimizer.param_groups[0]["lr"])
        schedule.step(*([1.0] if isinstance(schedule, lr_scheduler.ReduceLROnPlateau) else []))
    return values


@pytest.mark.parametrize("name", [name for name in lr_scheduler.__all__ if name != "LRScheduler"])
@pytest.mark.parametrize("stop", [0, 1, 3, 5])
def test_a_resumed_schedule_neither_jumps_nor_lags(name: str, stop: int) -> None:
    """pytorch/pytorch#60265, Lightning-AI/pytorch-lightning#4655; the states go through text."""

    def fresh() -> Any:
        return schedule_of(name, optim.SGD([leaf([0.0])], lr=1.0, momentum=0.9))

    expected = rates(fresh(), 11)
    first = fresh()
    begun = rates(first, stop)
    states = json.loads(json.dumps([first.optimizer.state_dict(), first.state_dict()]))
    second = fresh()
    second.optimizer.load_state_dict(states[0])
    second.load_state_dict(states[1])
    assert begun + rates(second, 11 - stop) == expected


def test_a_rate_halved_every_two_epochs() -> None:
    schedule = schedule_of("StepLR", optim.SGD([leaf([0.0])], lr=1.0))
    assert rates(schedule, 6) == [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]


# --- clipping --------------------------------------------------------------------------------------------------------
@each_device
@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_norms_that_are_not_finite(bad: float, norm_type: float, device: str) -> None:
    """pytorch/pytorch#46849, deepspeedai/DeepSpeed#7171"""
    tensors = [leaf([0.0, 0.0]), leaf([0.0])]
    tensors[0].grad, tensors[1].grad = Tensor(np.array([3.0, 4.0])), Tensor(np.array([bad]))
    with pytest.raises(RuntimeError, match="cannot be clipped"):
        clip_grad_norm_(tensors, 1.0, norm_type, error_if_nonfinite=True)
    assert tensors[0].grad.tolist() == [3.0, 4.0]
    norm = clip_grad_norm_(tensors, 1.0, norm_type).item()
    assert math.isnan(norm) if math.isnan(bad) else norm == math.inf
    assert all(map(math.isnan, tensors[0].grad.tolist())) if math.isnan(bad) else tensors[0].grad.tolist() == [0.0, 0.0]
    assert math.isnan(tensors[1].grad.item())
