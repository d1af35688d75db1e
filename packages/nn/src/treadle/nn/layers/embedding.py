"""A table of learnt vectors."""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import functional, init
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = ["Embedding"]


class Embedding(Module):
    """The rows of a learnt table by number: integers ``(...)`` give ``(..., embedding_dim)``.

    ``weight``, ``(num_embeddings, embedding_dim)``, starts normal with mean 0 and deviation 1. The row ``padding_idx``
    starts as zeros and gets no gradient. With ``max_norm`` rows in use are scaled so that their ``norm_type`` norm is
    at most that; ``scale_grad_by_freq`` divides a row's gradient by how often it was used. Gradients are dense:
    ``sparse`` is taken so that existing models build.

    >>> import treadle.nn as nn
    >>> import treadle.ndarray as nd
    >>> from treadle.autograd import Tensor
    >>> nn.Embedding(10, 3)(Tensor([[1, 2]], dtype=nd.int64)).shape
    (1, 2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise nd.ShapeError(f"Embedding: padding_idx {padding_idx} is out of range for {num_embeddings} rows")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        dtype = nd.float32 if dtype is None else dtype
        self.weight = Parameter(nd.empty((num_embeddings, embedding_dim), dtype=dtype, device=device))
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **options: Any) -> "Embedding":
        """A layer whose table is ``embeddings``, ``(rows, features)``, which are not learnt if ``freeze``.

        >>> import treadle.nn as nn
        >>> from treadle.autograd import Tensor
        >>> nn.Embedding.from_pretrained(Tensor([[1.0, 2.0]])).weight.requires_grad
        False
        """
        if embeddings.ndim != 2:
            raise nd.ShapeError(
                f"Embedding.from_pretrained: a table of shape {embeddings.shape}; it is (rows, features)"
            )
        rows, features = embeddings.shape
        layer = cls(rows, features, device=embeddings.device, dtype=embeddings.dtype, **options)
        layer.weight = Parameter(embeddings.data, requires_grad=not freeze)
        return layer

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0.0

    def forward(self, input: Tensor) -> Tensor:
        """The rows that ``input`` numbers; IndexingError for a number out of range."""
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        )

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        defaults = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False}
        parts += [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        return ", ".join(parts)
