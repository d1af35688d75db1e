"""Bags of rows of a learnt table."""

from typing import Any

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.layers.embedding import Embedding

__all__ = ["EmbeddingBag"]


class EmbeddingBag(Embedding):
    """The sums, means or maxima (``mode``) of bags of rows of a learnt table, ``(bags, embedding_dim)``.

    ``weight`` is that of :class:`Embedding`, and so are the other options. The bags are rows of the input, or begin at
    ``offsets``, whose last is the end of all with ``include_last_offset``.

    >>> import treadle.nn as nn
    >>> nn.EmbeddingBag(10, 3, mode="sum")(Tensor([1, 2, 4]), Tensor([0, 1])).shape
    (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if mode not in ("sum", "mean", "max"):
            raise ValueError(f"EmbeddingBag: mode must be 'sum', 'mean' or 'max', not {mode!r}")
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, device, dtype
        )  # fmt: skip
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """One row a bag; the errors are those of :func:`treadle.nn.functional.embedding_bag`."""
        return functional.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        defaults = {"max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False}
        parts += [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        parts.append(f"mode={self.mode!r}")
        return ", ".join(parts + ([f"padding_idx={self.padding_idx}"] if self.padding_idx is not None else []))
