"""Cycling of the momentum against the rate, which two schedules share."""

from collections.abc import Sequence
from typing import Any

from treadle.optim.lr_scheduler.base import for_each_group
from treadle.optim.optimizer import Optimizer

__all__ = ["begin_momentum", "set_momentum"]


def begin_momentum(optimizer: Optimizer, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
    """Write the limits into the groups, and the larger as their momentum, unless a run is resumed."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            f"{type(optimizer).__name__} has neither momentum nor betas to cycle; give cycle_momentum=False"
        )
    smallest = for_each_group("base_momentum", base_momentum, optimizer)
    largest = for_each_group("max_momentum", max_momentum, optimizer)
    if last_epoch != -1:
        return
    set_momentum(optimizer, largest)
    for group, least, most in zip(optimizer.param_groups, smallest, largest, strict=True):
        group["max_momentum"], group["base_momentum"] = most, least


def set_momentum(optimizer: Optimizer, values: Sequence[float]) -> None:
    """Give each group its momentum, or its first beta."""
    for group, value in zip(optimizer.param_groups, values, strict=False):  # groups may have been added since
        if "betas" in optimizer.defaults:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value
