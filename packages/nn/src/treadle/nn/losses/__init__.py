"""Losses, one a file."""

from treadle.nn.losses.cross_entropy import CrossEntropyLoss
from treadle.nn.losses.mse import MSELoss

__all__ = ["CrossEntropyLoss", "MSELoss"]
