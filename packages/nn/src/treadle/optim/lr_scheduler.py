"""Learning-rate schedules.

A schedule multiplies the rate that a group has, so that several can act on one optimizer. Its position is state: an
interrupted run that loads the state dicts of optimizer and schedule goes on as if it had never stopped.
"""

from collections.abc import Mapping
from typing import Any

from treadle.optim.optimizer import Optimizer

__all__ = ["LRScheduler", "StepLR"]


class LRScheduler:
    """Counts epochs and sets the ``lr`` of every group; a subclass says how in :meth:`get_lr`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"a schedule needs an Optimizer, not {type(optimizer).__name__}")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"group {number} of the optimizer has no 'initial_lr' to resume a schedule from")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def get_lr(self) -> list[float]:
        """The rates of epoch ``last_epoch``, from the rates the groups have now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The rates that were set last."""
        return self._last_lr

    def step(self) -> None:
        """Go on to the next epoch; called once after each."""
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the position of ``state_dict``; the rates themselves come with the optimizer's state."""
        vars(self).update({name: value for name, value in state_dict.items() if name != "optimizer"})


class StepLR(LRScheduler):
    """Multiplies the rate by ``gamma`` every ``step_size`` epochs.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = StepLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), step_size=2, gamma=0.5)
    >>> rates = []
    >>> for epoch in range(5):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if step_size < 1:
            raise ValueError(f"step_size must be 1 or more, not {step_size}")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of epoch ``last_epoch``, from the rates the groups have now."""
        rates = super().get_lr()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return rates
        return [rate * self.gamma for rate in rates]
