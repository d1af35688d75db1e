"""Connectionist temporal classification."""

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.functional.losses.ctc import Lengths
from treadle.nn.losses.loss import Loss

__all__ = ["CTCLoss"]


class CTCLoss(Loss):
    """Minus the log-probability of label sequences, over all their alignments with the input.

    Shapes, lengths and reductions: :func:`treadle.nn.functional.ctc_loss`. Graves et al. 2006, "Connectionist temporal
    classification: labelling unsegmented sequence data with recurrent neural networks".

    >>> import treadle.autograd as ag
    >>> log_probs = ag.log_softmax(Tensor([[0.0, 0.0], [0.0, 0.0]]), axis=-1)
    >>> round(CTCLoss()(log_probs, Tensor([1]), 2, 1).item(), 6)  # 3 of 4 alignments: -log(0.75)
    0.287682
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths) -> Tensor:
        """The loss; the errors are those of :func:`treadle.nn.functional.ctc_loss`."""
        return functional.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            blank=self.blank,
            zero_infinity=self.zero_infinity,
            reduction=self.reduction,
        )
