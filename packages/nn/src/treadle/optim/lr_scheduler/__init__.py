"""Learning-rate schedules, one kind a file.

A schedule multiplies the rate that a group has, so that several can act on one optimizer. Its position is state: an
interrupted run that loads the state dicts of optimizer and schedule goes on as if it had never stopped.
"""

from treadle.optim.lr_scheduler.base import LRScheduler
from treadle.optim.lr_scheduler.composite import ChainedScheduler, SequentialLR
from treadle.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from treadle.optim.lr_scheduler.cyclic import CyclicLR
from treadle.optim.lr_scheduler.functions import LambdaLR, MultiplicativeLR
from treadle.optim.lr_scheduler.one_cycle import OneCycleLR
from treadle.optim.lr_scheduler.plateau import ReduceLROnPlateau
from treadle.optim.lr_scheduler.ramps import LinearLR, PolynomialLR
from treadle.optim.lr_scheduler.steps import ConstantLR, ExponentialLR, MultiStepLR, StepLR

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
