"""Losses as functions, one family a file."""

from treadle.nn.functional.losses.binary import *
from treadle.nn.functional.losses.classes import *
from treadle.nn.functional.losses.cross_entropy import cross_entropy
from treadle.nn.functional.losses.ctc import ctc_loss
from treadle.nn.functional.losses.distances import *
from treadle.nn.functional.losses.regression import *

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
    "dice_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss",
    "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
    "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip
