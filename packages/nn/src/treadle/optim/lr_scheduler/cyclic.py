"""Cyclic rates. Smith 2017, "Cyclical learning rates for training neural networks"."""

from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any

from treadle.optim.lr_scheduler.base import LRScheduler, check_optimizer, for_each_group
from treadle.optim.lr_scheduler.momentum import begin_momentum, set_momentum
from treadle.optim.optimizer import Optimizer

__all__ = ["CyclicLR"]

_MODES = ("triangular", "triangular2", "exp_range")


class CyclicLR(LRScheduler):
    """Lines between ``base_lr`` and ``max_lr``: ``step_size_up`` epochs up, ``step_size_down`` (the same) down.

    The height is scaled by ``mode``: "triangular" (not at all), "triangular2" (halved at each cycle), "exp_range"
    (``gamma ** epoch``); or by ``scale_fn`` of the number of the cycle (from 1) or of the epoch, as ``scale_mode``
    "cycle" or "iterations" says. With ``cycle_momentum`` the momentum, or the first beta, goes the other way between
    ``base_momentum`` and ``max_momentum``. Smith 2017, section 3.2. A function is no part of the state.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> optimizer = SGD([Tensor([0.0], requires_grad=True)], lr=1.0)
    >>> schedule = CyclicLR(optimizer, base_lr=1.0, max_lr=2.0, step_size_up=2, cycle_momentum=False)
    >>> rates = []
    >>> for epoch in range(5):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [1.0, 1.5, 2.0, 1.5, 1.0]
    """

    not_saved = ("optimizer", "scale_fn")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if scale_fn is None and mode not in _MODES:
            raise ValueError(f"mode must be one of {_MODES}, not {mode!r}, or scale_fn be given")
        base_lrs = for_each_group("base_lr", base_lr, optimizer)
        self.max_lrs = for_each_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                group["lr"] = rate
        down = step_size_up if step_size_down is None else step_size_down
        if step_size_up <= 0 or down < 0:
            raise ValueError(
                f"step_size_up must be above 0 and step_size_down 0 or more, not {step_size_up} and {down}"
            )
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self.scale_fn = scale_fn
        self.scale_mode = scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
            self.base_momentums = for_each_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = for_each_group("max_momentum", max_momentum, optimizer)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def take_over(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the position, with its momenta."""
        super().take_over(state_dict)
        self.get_lr()

    def adopt(self) -> None:
        """Nothing: the limits were given for the groups that there were."""

    def get_lr(self) -> list[float]:
        """The rates of epoch ``last_epoch``; sets the momenta too."""
        cycle = floor(1.0 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        rising = place <= self.step_ratio
        height = place / self.step_ratio if rising else (place - 1.0) / (self.step_ratio - 1.0)
        height *= self._scale(cycle)
        if self.cycle_momentum:
            limits = zip(self.base_momentums, self.max_momentums, strict=True)
            set_momentum(self.optimizer, [most - (most - least) * height for least, most in limits])
        return [least + (most - least) * height for least, most in zip(self.base_lrs, self.max_lrs, strict=True)]

    def get_start_lr(self) -> list[float]:
        """The rates of epoch 0."""
        return self.get_lr()

    def _scale(self, cycle: int) -> float:
        if self.scale_fn is not None:
            return self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.mode == "triangular2":
            return float(0.5 ** (cycle - 1))
        return float(self.gamma**self.last_epoch) if self.mode == "exp_range" else 1.0
