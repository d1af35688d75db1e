"""Layers and losses as functions, one family a file.

>>> import treadle.nn.functional as F
>>> from treadle.autograd import Tensor
>>> F.relu(Tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from treadle.nn.functional._guard import guarded
from treadle.nn.functional.activations import *
from treadle.nn.functional.attention import attention_weights, causal_mask, scaled_dot_product_attention
from treadle.nn.functional.convolution import *
from treadle.nn.functional.distance import cosine_similarity, pairwise_distance, pdist
from treadle.nn.functional.dropout import *
from treadle.nn.functional.embedding import embedding, embedding_bag, one_hot
from treadle.nn.functional.folding import fold, unfold
from treadle.nn.functional.linear import bilinear, flatten, linear, unflatten
from treadle.nn.functional.local_response import local_response_norm
from treadle.nn.functional.losses import *
from treadle.nn.functional.losses import __all__ as _loss_names
from treadle.nn.functional.normalization import *
from treadle.nn.functional.padding import pad
from treadle.nn.functional.pooling import *
from treadle.nn.functional.recurrent import gru, lstm, rnn
from treadle.nn.functional.resampling import interpolate
from treadle.nn.functional.sampling import affine_grid, grid_sample
from treadle.nn.functional.softmax import gumbel_softmax, log_softmax, softmax, softmin
from treadle.nn.functional.vision import channel_shuffle, pixel_shuffle, pixel_unshuffle

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "attention_weights", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "bilinear", "causal_mask", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "dropout", "dropout1d",
    "dropout2d", "dropout3d", "elu", "embedding", "embedding_bag", "feature_alpha_dropout", "flatten", "fold",
    "fractional_max_pool2d", "fractional_max_pool3d", "gelu", "glu", "grid_sample", "group_norm", "gru",
    "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "instance_norm", "interpolate",
    "layer_norm", "leaky_relu", "linear", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "lstm", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "mish", "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu",
    "relu", "relu6", "rms_norm", "rnn", "rrelu", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "softmax",
    "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "unflatten", "unfold",
]  # fmt: skip
__all__ += _loss_names

_PLAIN = {"gelu", "linear", "log_softmax", "mish", "relu", "scaled_dot_product_attention", "sigmoid", "silu", "softmax"}
_PLAIN |= {"softplus", "softsign", "tanh"}
"""Ops, which tell by themselves of an argument that is no tensor."""
for _name in __all__:
    if _name not in _PLAIN:
        globals()[_name] = guarded(globals()[_name])
