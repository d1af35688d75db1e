"""Cosine annealing. Loshchilov and Hutter 2017, "SGDR: stochastic gradient descent with warm restarts"."""

from math import cos, floor, inf, pi

from treadle.optim.lr_scheduler.base import LRScheduler
from treadle.optim.optimizer import Optimizer

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate to ``eta_min`` in ``T_max`` epochs, then back up, and so on.

    SGDR without restarts: Loshchilov and Hutter 2017, equation 5.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = CosineAnnealingLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), T_max=2)
    >>> schedule.step()
    >>> [round(rate, 6) for rate in schedule.get_last_lr()]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_max < 1:
            raise ValueError(f"T_max must be 1 or more, not {T_max}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of epoch ``last_epoch``, from the rates the groups have now."""
        rates, epoch, least = self.present_lr(), self.last_epoch, self.eta_min
        if self._is_initial:
            return rates
        if self._step_count == 1 and epoch > 0:
            return [least + (base - least) * self._height(epoch) for base in self.base_lrs]
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the rate was eta_min, which no factor raises
            rise = 1.0 - self._height(1)
            return [rate + (base - least) * rise for rate, base in zip(rates, self.base_lrs, strict=True)]
        factor = self._height(epoch) / self._height(epoch - 1)
        return [(rate - least) * factor + least for rate in rates]

    def _height(self, epoch: int) -> float:
        return (1.0 + cos(pi * epoch / self.T_max)) / 2.0


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the rate to ``eta_min``, again and again: in ``T_0`` epochs, then ``T_0 * T_mult``, ...

    Loshchilov and Hutter 2017, section 3. ``step(epoch)`` goes to a fractional epoch, as in the midst of one.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = CosineAnnealingWarmRestarts(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), T_0=1, T_mult=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += [round(rate, 6) for rate in schedule.get_last_lr()]
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.5, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if value < 1 or value != int(value):
                raise ValueError(f"{name} must be a whole number above 0, not {value}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates ``T_cur`` epochs after the last restart."""
        height = (1.0 + cos(pi * self.T_cur / self.T_i)) / 2.0
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``, which may be a fraction."""
        self.adopt()
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        self._step_count += 1
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._locate(epoch)
        self.last_epoch = floor(epoch)
        self.set_lr(self.get_lr())

    def restart(self) -> None:
        """Go to epoch 0, as where a sequence reaches this schedule."""
        self.step(0)

    def _locate(self, epoch: float) -> None:
        """Set ``T_i`` and ``T_cur`` for an epoch out of the blue."""
        if not 0 <= epoch < inf:
            raise ValueError(f"an epoch must be finite and 0 or more, not {epoch}")
        self.T_i = self.T_0
        if self.T_mult == 1:
            epoch %= self.T_0
        while epoch >= self.T_i:  # a logarithm would miss restarts by rounding
            epoch -= self.T_i
            self.T_i *= self.T_mult
        self.T_cur = epoch
