"""One cycle of the rate. Smith and Topin 2019, "Super-convergence"."""

from collections.abc import Mapping, Sequence
from math import cos, pi
from typing import Any

from treadle.optim.lr_scheduler.base import LRScheduler, check_optimizer, for_each_group
from treadle.optim.lr_scheduler.momentum import begin_momentum, set_momentum
from treadle.optim.optimizer import Optimizer

__all__ = ["OneCycleLR"]


class OneCycleLR(LRScheduler):
    """Up from ``max_lr / div_factor`` to ``max_lr``, then far down, in ``total_steps`` steps, one a batch.

    The way up takes the share ``pct_start`` of the steps; the last rate is the first over ``final_div_factor``. With
    ``three_phase`` the way down is as long as the way up and ends at the first rate, and a third phase goes further
    down. ``anneal_strategy`` is "cos" or "linear". With ``cycle_momentum`` the momentum, or the first beta, goes the
    other way between ``max_momentum`` and ``base_momentum``. ``epochs`` and ``steps_per_epoch`` can stand for
    ``total_steps``; more steps are a ValueError. Smith and Topin 2019, "Super-convergence: very fast training of neural
    networks using large learning rates", section 4.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> optimizer = SGD([Tensor([0.0], requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = OneCycleLR(optimizer, 1.0, total_steps=5, pct_start=0.6, anneal_strategy="linear", div_factor=2.0)
    >>> rates = []
    >>> for step in range(4):
    ...     rates += [round(rate, 3) for rate in schedule.get_last_lr()]
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if not 0.0 <= pct_start <= 1.0:
            raise ValueError(f"pct_start must lie between 0 and 1, not {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        self.total_steps = _steps(total_steps, epochs, steps_per_epoch)
        self.anneal_strategy = anneal_strategy
        self.phases = _phases(self.total_steps, pct_start, three_phase)
        if last_epoch == -1:
            largest = for_each_group("max_lr", max_lr, optimizer)
            for most, group in zip(largest, optimizer.param_groups, strict=True):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def take_over(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the position, with its momenta."""
        super().take_over(state_dict)
        self.get_lr()

    def adopt(self) -> None:
        """Nothing: the limits were given for the groups that there were."""

    def get_lr(self) -> list[float]:
        """The rates of step ``last_epoch``; sets the momenta too."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"the cycle has {self.total_steps} steps, and this is step {step}")
        number = next((at for at, phase in enumerate(self.phases) if step <= phase["end"]), len(self.phases) - 1)
        phase, start = self.phases[number], self.phases[number - 1]["end"] if number else 0.0
        length = phase["end"] - start
        place = min(1.0, (step - start) / length) if length > 0.0 else 1.0  # the call behind the last step stays there
        groups = self.optimizer.param_groups[: len(self.base_lrs)]
        if self.cycle_momentum:
            start_name, end_name = phase["momentum"]
            set_momentum(self.optimizer, [self._between(group[start_name], group[end_name], place) for group in groups])
        start_name, end_name = phase["lr"]
        return [self._between(group[start_name], group[end_name], place) for group in groups]

    def get_start_lr(self) -> list[float]:
        """The rates of step 0."""
        return self.get_lr()

    def _between(self, start: float, end: float, place: float) -> float:
        if self.anneal_strategy == "linear":
            return (end - start) * place + start
        return end + (start - end) / 2.0 * (cos(pi * place) + 1.0)


def _steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is None:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("give total_steps, or epochs and steps_per_epoch")
        total_steps = epochs * steps_per_epoch
    if total_steps < 1 or total_steps != int(total_steps):
        raise ValueError(f"the number of steps must be a whole number above 0, not {total_steps}")
    return total_steps


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The last step of each phase, and the groups' entries that rate and momentum go between."""
    rise = pct_start * total_steps
    up = {"end": rise - 1.0, "lr": ["initial_lr", "max_lr"], "momentum": ["max_momentum", "base_momentum"]}
    last = total_steps - 1.0
    if not three_phase:
        return [up, {"end": last, "lr": ["max_lr", "min_lr"], "momentum": ["base_momentum", "max_momentum"]}]
    down = {"end": 2.0 * rise - 2.0, "lr": ["max_lr", "initial_lr"], "momentum": ["base_momentum", "max_momentum"]}
    return [up, down, {"end": last, "lr": ["initial_lr", "min_lr"], "momentum": ["max_momentum", "max_momentum"]}]
