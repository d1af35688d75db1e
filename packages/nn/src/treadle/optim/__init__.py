"""Optimizers and learning-rate schedules. ``swa_utils`` is loaded when it is asked for: it needs ``treadle.nn``."""

from importlib import import_module
from typing import Any

from treadle.optim import lr_scheduler
from treadle.optim.adadelta import Adadelta
from treadle.optim.adafactor import Adafactor
from treadle.optim.adagrad import Adagrad
from treadle.optim.adam import Adam
from treadle.optim.adamax import Adamax
from treadle.optim.adamw import AdamW
from treadle.optim.asgd import ASGD
from treadle.optim.ema import ExponentialMovingAverage
from treadle.optim.lbfgs import LBFGS
from treadle.optim.lion import Lion
from treadle.optim.muon import Muon
from treadle.optim.nadam import NAdam
from treadle.optim.optimizer import Optimizer
from treadle.optim.radam import RAdam
from treadle.optim.rmsprop import RMSprop
from treadle.optim.rprop import Rprop
from treadle.optim.sgd import SGD

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ExponentialMovingAverage",
    "Lion", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "swa_utils":
        return import_module("treadle.optim.swa_utils")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
