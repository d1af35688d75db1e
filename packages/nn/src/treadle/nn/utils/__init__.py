"""Helpers of models and their training: clipping of gradients; sequences of different lengths in :mod:`.rnn`."""

from treadle.nn.utils import rnn
from treadle.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_

__all__ = ["clip_grad_norm_", "clip_grad_value_", "rnn"]
