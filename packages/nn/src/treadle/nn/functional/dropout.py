"""Dropout."""

import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["check_probability", "dropout"]


def check_probability(p: float) -> float:
    """``p`` itself; ValueError unless it lies in [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"the dropout probability must lie between 0 and 1, not {p}")
    return p


def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero each element with probability ``p`` and scale the others by 1 / (1 - p); ``input`` itself if not training.

    ``p=1`` gives zeros and a zero gradient. The mask comes from the default random generator, so
    ``treadle.ndarray.random.manual_seed`` repeats it.

    >>> dropout(Tensor([1.0, 2.0]), p=1.0).numpy().tolist()
    [0.0, 0.0]
    """
    check_probability(p)
    if not training or p == 0.0:
        return input
    kept = nd.random.bernoulli(1.0 - p, input.shape, device=input.device)
    scale = 0.0 if p == 1.0 else 1.0 / (1.0 - p)
    return input * Tensor(kept.astype(input.dtype) * scale)
