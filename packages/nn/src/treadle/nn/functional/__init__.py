"""Layers and losses as functions, one family a file."""

from treadle.nn.functional.activations import relu
from treadle.nn.functional.binary_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    multilabel_soft_margin_loss,
    soft_margin_loss,
)
from treadle.nn.functional.class_losses import dice_loss, kl_div, multi_margin_loss, multilabel_margin_loss, nll_loss
from treadle.nn.functional.cross_entropy import cross_entropy
from treadle.nn.functional.ctc import ctc_loss
from treadle.nn.functional.distance_losses import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    pairwise_distance,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from treadle.nn.functional.dropout import dropout
from treadle.nn.functional.linear import flatten, linear
from treadle.nn.functional.regression_losses import (
    gaussian_nll_loss,
    huber_loss,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dice_loss",
    "dropout",
    "flatten",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "relu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
