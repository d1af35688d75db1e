"""Optimizers and learning-rate schedules."""

from treadle.optim import lr_scheduler
from treadle.optim.adadelta import Adadelta
from treadle.optim.adagrad import Adagrad
from treadle.optim.adam import Adam
from treadle.optim.adamax import Adamax
from treadle.optim.adamw import AdamW
from treadle.optim.asgd import ASGD
from treadle.optim.ema import ExponentialMovingAverage
from treadle.optim.lion import Lion
from treadle.optim.nadam import NAdam
from treadle.optim.optimizer import Optimizer
from treadle.optim.radam import RAdam
from treadle.optim.rmsprop import RMSprop
from treadle.optim.rprop import Rprop
from treadle.optim.sgd import SGD

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ExponentialMovingAverage",
    "Lion",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
