"""Layers and containers, one kind a file."""

from treadle.nn.layers.activations import *
from treadle.nn.layers.adaptive_softmax import AdaptiveLogSoftmaxWithLoss
from treadle.nn.layers.attention import KeyValueCache, MultiheadAttention
from treadle.nn.layers.bilinear import Bilinear
from treadle.nn.layers.convolution import Conv1d, Conv2d, Conv3d
from treadle.nn.layers.convolution_transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from treadle.nn.layers.distance import CosineSimilarity, PairwiseDistance
from treadle.nn.layers.dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from treadle.nn.layers.embedding import Embedding
from treadle.nn.layers.embedding_bag import EmbeddingBag
from treadle.nn.layers.flatten import Flatten, Unflatten
from treadle.nn.layers.folding import Fold, Unfold
from treadle.nn.layers.identity import Identity
from treadle.nn.layers.linear import Linear
from treadle.nn.layers.local_response import LocalResponseNorm
from treadle.nn.layers.module_dict import ModuleDict
from treadle.nn.layers.module_list import ModuleList
from treadle.nn.layers.normalization import *
from treadle.nn.layers.padding import *
from treadle.nn.layers.parameter_containers import ParameterDict, ParameterList
from treadle.nn.layers.pooling import *
from treadle.nn.layers.pooling_fractional import FractionalMaxPool2d, FractionalMaxPool3d
from treadle.nn.layers.pooling_norms import LPPool1d, LPPool2d, LPPool3d
from treadle.nn.layers.positional import RotaryPositionalEncoding, SinusoidalPositionalEncoding
from treadle.nn.layers.recurrent import GRU, LSTM, RNN
from treadle.nn.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell
from treadle.nn.layers.residual import Residual
from treadle.nn.layers.sequential import Sequential
from treadle.nn.layers.transformer import *
from treadle.nn.layers.upsample import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d
from treadle.nn.layers.vision import ChannelShuffle, PixelShuffle, PixelUnshuffle

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "GRU", "LSTM", "RNN", "SELU", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d", "AdaptiveLogSoftmaxWithLoss", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear",
    "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "CosineSimilarity", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "EmbeddingBag",
    "FeatureAlphaDropout", "Flatten", "Fold", "FractionalMaxPool2d", "FractionalMaxPool3d", "GRUCell", "GroupNorm",
    "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "KeyValueCache", "LPPool1d", "LPPool2d", "LPPool3d", "LSTMCell", "LayerNorm", "LeakyReLU",
    "Linear", "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d",
    "MaxUnpool2d", "MaxUnpool3d", "Mish", "ModuleDict", "ModuleList", "MultiheadAttention", "PReLU", "PairwiseDistance",
    "ParameterDict", "ParameterList", "PixelShuffle", "PixelUnshuffle", "RMSNorm", "RNNCell", "RReLU", "ReLU", "ReLU6",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "Residual", "RotaryPositionalEncoding", "Sequential", "SiLU", "Sigmoid", "SinusoidalPositionalEncoding", "Softmax",
    "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold", "Transformer",
    "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer", "Unflatten",
    "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip
