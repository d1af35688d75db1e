"""Layers and containers, one kind a file."""

from treadle.nn.layers.dropout import Dropout
from treadle.nn.layers.flatten import Flatten
from treadle.nn.layers.identity import Identity
from treadle.nn.layers.linear import Linear
from treadle.nn.layers.module_dict import ModuleDict
from treadle.nn.layers.module_list import ModuleList
from treadle.nn.layers.relu import ReLU
from treadle.nn.layers.sequential import Sequential

__all__ = ["Dropout", "Flatten", "Identity", "Linear", "ModuleDict", "ModuleList", "ReLU", "Sequential"]
