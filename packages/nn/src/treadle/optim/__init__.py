"""Optimizers and learning-rate schedules."""

from treadle.optim import lr_scheduler
from treadle.optim.adam import Adam
from treadle.optim.adamw import AdamW
from treadle.optim.optimizer import Optimizer
from treadle.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
