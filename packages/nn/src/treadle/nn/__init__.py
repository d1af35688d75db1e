"""Layers, losses, models and their training, on treadle.autograd.

>>> import treadle.nn as nn
>>> model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
>>> sum(parameter.data.size for parameter in model.parameters())
2410
"""

from treadle.nn import functional, init, metrics, utils
from treadle.nn.callbacks import Callback, Checkpoints, CSVLogger, CurvePlot, EarlyStopping
from treadle.nn.checkpoint import load_file, load_metadata, save_file
from treadle.nn.errors import CheckpointError, NonFiniteLossError, StateDictError
from treadle.nn.history import History
from treadle.nn.layers import *
from treadle.nn.layers import __all__ as _layer_names
from treadle.nn.losses import *
from treadle.nn.losses import __all__ as _loss_names
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter
from treadle.nn.state_file import load_state, save_state
from treadle.nn.summary import Summary
from treadle.nn.tensorboard import TensorBoardLogger
from treadle.nn.trainer import Trainer

__all__ = [
    "CSVLogger", "Callback", "CheckpointError", "Checkpoints", "CurvePlot", "EarlyStopping", "History", "Module",
    "NonFiniteLossError", "Parameter", "StateDictError", "Summary", "TensorBoardLogger", "Trainer", "__version__",
    "functional", "init", "load_file", "load_metadata", "load_state", "metrics", "save_file", "save_state", "utils",
]  # fmt: skip
__all__ += _layer_names
__all__ += _loss_names

__version__ = "0.1.0"
