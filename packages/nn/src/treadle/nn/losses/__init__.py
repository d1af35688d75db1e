"""Losses, one a file."""

from treadle.nn.losses.bce import BCELoss
from treadle.nn.losses.bce_with_logits import BCEWithLogitsLoss
from treadle.nn.losses.cosine_embedding import CosineEmbeddingLoss
from treadle.nn.losses.cross_entropy import CrossEntropyLoss
from treadle.nn.losses.ctc import CTCLoss
from treadle.nn.losses.dice import DiceLoss
from treadle.nn.losses.gaussian_nll import GaussianNLLLoss
from treadle.nn.losses.hinge_embedding import HingeEmbeddingLoss
from treadle.nn.losses.huber import HuberLoss
from treadle.nn.losses.kl_div import KLDivLoss
from treadle.nn.losses.l1 import L1Loss
from treadle.nn.losses.loss import Loss, WeightedLoss
from treadle.nn.losses.margin_ranking import MarginRankingLoss
from treadle.nn.losses.mse import MSELoss
from treadle.nn.losses.multi_margin import MultiMarginLoss
from treadle.nn.losses.multilabel_margin import MultiLabelMarginLoss
from treadle.nn.losses.multilabel_soft_margin import MultiLabelSoftMarginLoss
from treadle.nn.losses.nll import NLLLoss
from treadle.nn.losses.poisson_nll import PoissonNLLLoss
from treadle.nn.losses.smooth_l1 import SmoothL1Loss
from treadle.nn.losses.soft_margin import SoftMarginLoss
from treadle.nn.losses.triplet_margin import TripletMarginLoss
from treadle.nn.losses.triplet_margin_with_distance import TripletMarginWithDistanceLoss

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "DiceLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "Loss", "MSELoss", "MarginRankingLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss",
    "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss", "WeightedLoss",
]  # fmt: skip
