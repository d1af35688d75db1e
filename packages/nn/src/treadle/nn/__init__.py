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
from treadle.nn.layers import Dropout, Flatten, Identity, Linear, ModuleDict, ModuleList, ReLU, Sequential
from treadle.nn.losses import CrossEntropyLoss, MSELoss
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter
from treadle.nn.state_file import load_state, save_state
from treadle.nn.summary import Summary
from treadle.nn.tensorboard import TensorBoardLogger
from treadle.nn.trainer import Trainer

__all__ = [
    "CSVLogger",
    "Callback",
    "CheckpointError",
    "Checkpoints",
    "CrossEntropyLoss",
    "CurvePlot",
    "Dropout",
    "EarlyStopping",
    "Flatten",
    "History",
    "Identity",
    "Linear",
    "MSELoss",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NonFiniteLossError",
    "Parameter",
    "ReLU",
    "Sequential",
    "StateDictError",
    "Summary",
    "TensorBoardLogger",
    "Trainer",
    "__version__",
    "functional",
    "init",
    "load_file",
    "load_metadata",
    "load_state",
    "metrics",
    "save_file",
    "save_state",
    "utils",
]

__version__ = "0.1.0"
