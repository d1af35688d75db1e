"""Layers and losses as functions, one family a file."""

from treadle.nn.functional.activations import relu
from treadle.nn.functional.cross_entropy import cross_entropy
from treadle.nn.functional.dropout import dropout
from treadle.nn.functional.linear import flatten, linear
from treadle.nn.functional.losses import mse_loss

__all__ = ["cross_entropy", "dropout", "flatten", "linear", "mse_loss", "relu"]
