"""Helpers of models and their training: clipping of gradients, parameters as one vector, fused batch norms, parameters
that are computed from others (:mod:`.parametrize`) or masked (:mod:`.prune`), and sequences of different lengths
(:mod:`.rnn`)."""

from treadle.nn.utils import parametrizations, parametrize, prune, rnn, stateless
from treadle.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from treadle.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from treadle.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)  # fmt: skip

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval", "fuse_conv_bn_weights",
    "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector", "parametrizations",
    "parametrize", "prune", "rnn", "stateless", "vector_to_parameters",
]  # fmt: skip
