"""Schedules that change the rate a little at each epoch, up to a last one."""

from treadle.optim.lr_scheduler.steps import FactorLR
from treadle.optim.optimizer import Optimizer

__all__ = ["LinearLR", "PolynomialLR"]


class LinearLR(FactorLR):
    """The rate times a factor that goes from ``start_factor`` to ``end_factor`` in a line of ``total_iters`` epochs.

    With the defaults a warm-up; :class:`SequentialLR` puts the schedule proper behind it.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = LinearLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), start_factor=0.5, total_iters=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3.0,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0.0 < start_factor <= 1.0:
            raise ValueError(f"start_factor must lie above 0 and at most at 1, not {start_factor}")
        if not 0.0 <= end_factor <= 1.0:
            raise ValueError(f"end_factor must lie between 0 and 1, not {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        """The factor of this epoch over that of the one before."""
        if self.last_epoch == 0:
            return self._first
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        return self._weighed(self.last_epoch) / self._weighed(self.last_epoch - 1)

    @property
    def _first(self) -> float:
        return self.start_factor if self.total_iters > 0 else self.end_factor

    def _weighed(self, epoch: int) -> float:
        """``total_iters`` times the factor of an epoch, never below 0 by rounding."""
        return (self.total_iters - epoch) * self.start_factor + epoch * self.end_factor

    def get_start_lr(self) -> list[float]:
        """The rates of epoch 0."""
        return [rate * self._first for rate in self.base_lrs]


class PolynomialLR(FactorLR):
    """The rate times (1 - epoch / total_iters) ** power, down to 0.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = PolynomialLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), total_iters=2, power=2.0)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [1.0, 0.25, 0.0, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        if total_iters < 1:
            raise ValueError(f"total_iters must be 1 or more, not {total_iters}")
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        """The polynomial at this epoch over that at the one before."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        left = (1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)
        return float(left**self.power)
