"""Schedules that change the rate at some epochs by a constant factor."""

from collections.abc import Iterable

from treadle.optim.lr_scheduler.base import LRScheduler
from treadle.optim.optimizer import Optimizer

__all__ = ["ConstantLR", "ExponentialLR", "MultiStepLR", "StepLR"]


class FactorLR(LRScheduler):
    """The base of schedules that multiply all rates by one factor at each epoch."""

    def factor_now(self) -> float:
        """What the rates are multiplied by on entering epoch ``last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} defines no factor_now()")

    def get_lr(self) -> list[float]:
        """The rates of epoch ``last_epoch``, from the rates the groups have now."""
        factor = self.factor_now()
        return [rate * factor for rate in self.present_lr()]


class StepLR(FactorLR):
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

    def factor_now(self) -> float:
        """``gamma`` at every ``step_size``-th epoch, else 1."""
        return self.gamma if self.last_epoch != 0 and self.last_epoch % self.step_size == 0 else 1.0


class MultiStepLR(FactorLR):
    """Multiplies the rate by ``gamma`` at each of the ``milestones``; at one that comes twice, twice.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = MultiStepLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for epoch in range(5):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = sorted(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        """``gamma`` to the number of milestones at this epoch."""
        return float(self.gamma ** self.milestones.count(self.last_epoch))

    def get_start_lr(self) -> list[float]:
        """The rates of epoch 0."""
        return [rate * self.factor_now() for rate in self.base_lrs]


class ConstantLR(FactorLR):
    """The rate times ``factor`` for ``total_iters`` epochs, then the rate itself.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = ConstantLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), factor=0.5, total_iters=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3.0, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0.0 < factor <= 1.0:
            raise ValueError(f"factor must lie above 0 and at most at 1, not {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        """``factor`` at first, its inverse at the end, else 1."""
        if self.last_epoch == 0:
            return self._first
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    @property
    def _first(self) -> float:
        return self.factor if self.total_iters > 0 else 1.0

    def get_start_lr(self) -> list[float]:
        """The rates of epoch 0."""
        return [rate * self._first for rate in self.base_lrs]


class ExponentialLR(FactorLR):
    """Multiplies the rate by ``gamma`` each epoch.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = ExponentialLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), gamma=0.5)
    >>> schedule.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        """``gamma``, and 1 at the first step."""
        return 1.0 if self._is_initial else self.gamma
