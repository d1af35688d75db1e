"""Schedules made of schedules."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from treadle.optim.lr_scheduler.base import LRScheduler
from treadle.optim.lr_scheduler.plateau import ReduceLROnPlateau
from treadle.optim.optimizer import Optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


class CompositeScheduler(LRScheduler):
    """The base: schedules of one optimizer, whose states are a part of the state."""

    not_saved = ("optimizer", "schedulers")

    def __init__(self, optimizer: Optimizer | None, schedulers: Sequence[LRScheduler]) -> None:
        name = type(self).__name__
        if not schedulers:
            raise ValueError(f"{name} needs at least one schedule")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for number, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{name} steps without a metric, so schedule {number} cannot be a ReduceLROnPlateau")
            if scheduler.optimizer is not self.optimizer:
                raise ValueError(f"{name} needs schedules of one optimizer, but schedule {number} has another")
        self.schedulers = list(schedulers)
        self.last_epoch = 0
        self._step_count = 0

    def rewind(self) -> None:
        """Go back to before the first step in each schedule."""
        for scheduler in self.schedulers:
            scheduler.rewind()

    def restart(self) -> None:
        """Go to epoch 0, as where a sequence reaches this schedule."""
        self.last_epoch = 0
        self.start_over()

    def start_over(self) -> None:
        """Begin anew, from the initial rates."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self.rewind()
        self.begin()

    def state_dict(self) -> dict[str, Any]:
        """The position, and the states of the schedules under ``_schedulers``."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self.schedulers]}

    def take_over(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the position, and those of the schedules."""
        states = state_dict["_schedulers"]
        if len(states) != len(self.schedulers):
            raise ValueError(f"the state dict has {len(states)} schedules, and here are {len(self.schedulers)}")
        super().take_over({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self.schedulers, states, strict=True):
            scheduler.take_over(state)


class SequentialLR(CompositeScheduler):
    """One schedule after another: the next begins, at its own epoch 0, at each of the ``milestones``.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> from treadle.optim.lr_scheduler import ExponentialLR, LinearLR
    >>> optimizer = SGD([Tensor([0.0], requires_grad=True)], lr=1.0)
    >>> warm_up = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> schedule = SequentialLR(optimizer, [warm_up, ExponentialLR(optimizer, gamma=0.5)], milestones=[2])
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"{len(schedulers)} schedules need one milestone less, not {len(milestones)}")
        self.milestones = list(milestones)
        if self.milestones != sorted(self.milestones):
            raise ValueError(f"the milestones must not fall: {self.milestones}")
        self.last_epoch = last_epoch + 1
        self.start_over()

    def begin(self) -> None:
        """Begin with the schedule of epoch 0, after all have been taken back."""
        first = self.schedulers[bisect_right(self.milestones, 0)]
        first.begin()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """Go on to the next epoch."""
        self._step_count += 1
        self.last_epoch += 1
        number = bisect_right(self.milestones, self.last_epoch)
        current = self.schedulers[number]
        if number > 0 and self.milestones[number - 1] == self.last_epoch:
            current.restart()
        else:
            current.step()
        self._last_lr = current.get_last_lr()


class ChainedScheduler(CompositeScheduler):
    """Several schedules at once, each of which multiplies what the one before it has set.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> from treadle.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> optimizer = SGD([Tensor([0.0], requires_grad=True)], lr=1.0)
    >>> parts = [ConstantLR(optimizer, factor=0.5, total_iters=2), ExponentialLR(optimizer, gamma=0.5)]
    >>> schedule = ChainedScheduler(parts)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        super().__init__(optimizer, schedulers)
        self._last_lr = self.present_lr()

    def begin(self) -> None:
        """Begin each schedule."""
        for scheduler in self.schedulers:
            scheduler.begin()
        self._last_lr = self.present_lr()

    def step(self) -> None:
        """Go on to the next epoch in each schedule."""
        self._step_count += 1
        self.last_epoch += 1
        for scheduler in self.schedulers:
            scheduler.step()
        self._last_lr = self.present_lr()
