"""What is measured beside the loss."""

import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["accuracy"]


def accuracy(logits: Tensor, target: Tensor) -> nd.NDArray:
    """The share of rows whose largest logit is that of the target class, as a 0-d array on their device.

    >>> accuracy(Tensor([[2.0, 1.0], [0.0, 3.0]]), Tensor([0, 0], dtype=nd.int64)).item()
    0.5
    """
    if logits.ndim != 2 or target.shape != logits.shape[:1]:
        raise nd.ShapeError(f"accuracy: logits {logits.shape} need (rows, classes) and target {target.shape} (rows,)")
    return nd.mean(nd.equal(nd.argmax(logits.data, axis=1), target.data))
