"""Transformer layers and stacks of them."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar

import treadle.ndarray as nd
from treadle.autograd import Tensor, logical_not
from treadle.nn import functional, init
from treadle.nn.functional.attention import causal_mask
from treadle.nn.layers.attention import KeyValueCache, MultiheadAttention
from treadle.nn.layers.dropout import Dropout
from treadle.nn.layers.linear import Linear
from treadle.nn.layers.module_list import ModuleList
from treadle.nn.layers.normalization import LayerNorm
from treadle.nn.module import Module

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
]  # fmt: skip

Activation = str | Callable[[Tensor], Tensor]


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise ValueError(f"the activation must be 'relu', 'gelu' or a function, not {given!r}")
    return functional.relu if given == "relu" else functional.gelu


class _Layer(Module):
    """Base: self-attention, a second attention if the layer ``has_memory``, and two linear maps; around each of these
    parts dropout, residual and normalisation: behind the sum, or before the part with ``norm_first``.
    """

    has_memory: ClassVar[bool]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made)
        if self.has_memory:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        if self.has_memory:
            self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if self.has_memory:
            self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def _added(self, x: Tensor, part: Callable[[Tensor], Tensor], norm: LayerNorm) -> Tensor:
        """``x`` and what the part makes of it, normalised."""
        if self.norm_first:
            return x + part(norm(x))
        return norm(x + part(x))  # type: ignore[no-any-return]

    def _attended(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, causal: bool, cache: KeyValueCache | None
    ) -> Tensor:
        if cache is not None and not isinstance(cache, KeyValueCache):
            raise TypeError(f"cache must be a KeyValueCache, not {type(cache).__name__}")
        found = self.self_attn(x, x, x, padding, False, mask, is_causal=causal, cache=cache)[0]
        return self.dropout1(found)  # type: ignore[no-any-return]

    def _fed_forward(self, x: Tensor) -> Tensor:
        last = self.dropout3 if self.has_memory else self.dropout2
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))  # type: ignore[no-any-return]


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear maps with an activation between, each with dropout, residual and normalisation:
    behind the sum, or before the part with ``norm_first``. Vaswani et al. 2017; norm first: Xiong et al. 2020.

    ``src`` is ``(steps, batch, d_model)``, ``(batch, steps, d_model)`` with ``batch_first``, or without batch. Masks
    are those of :class:`MultiheadAttention`. ``activation`` is "relu", "gelu" or a function.

    >>> import treadle.nn as nn
    >>> nn.TransformerEncoderLayer(4, 2, 8)(Tensor([[[1.0, 2.0, 3.0, 4.0]]])).shape
    (1, 1, 4)
    """

    has_memory = False

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """The encoded ``src``, of its shape; ``cache``, which PyTorch lacks, is :class:`MultiheadAttention`'s."""
        given = src_mask, src_key_padding_mask, is_causal, cache
        src = self._added(src, lambda x: self._attended(x, *given), self.norm1)
        return self._added(src, self._fed_forward, self.norm2)


class TransformerDecoderLayer(_Layer):
    """:class:`TransformerEncoderLayer` with a second attention between its parts, which looks at ``memory``.

    >>> import treadle.nn as nn
    >>> x = Tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> nn.TransformerDecoderLayer(4, 2, 8)(x, x).shape
    (1, 1, 4)
    """

    has_memory = True

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """The decoded ``tgt``, of its shape; ``cache``, which PyTorch lacks, keeps the self-attention's steps."""

        def informed(x: Tensor) -> Tensor:
            found = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
            )[0]
            return self.dropout2(found)  # type: ignore[no-any-return]

        given = tgt_mask, tgt_key_padding_mask, tgt_is_causal, cache
        tgt = self._added(tgt, lambda x: self._attended(x, *given), self.norm1)
        tgt = self._added(tgt, informed, self.norm2)
        return self._added(tgt, self._fed_forward, self.norm3)


class _Stack(Module):
    """Base: copies of a layer in a row, and a last normalisation."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList(deepcopy(layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def _caches(self, caches: list[KeyValueCache] | None) -> list[KeyValueCache | None]:
        if caches is None:
            return [None] * self.num_layers
        if len(caches) != self.num_layers:
            raise ValueError(f"{type(self).__name__}: {len(caches)} caches for {self.num_layers} layers")
        return list(caches)


class TransformerEncoder(_Stack):
    """``num_layers`` copies of ``encoder_layer`` in a row, then ``norm``. The layers start alike, as in PyTorch.

    ``enable_nested_tensor`` and ``mask_check`` are taken so that existing models build.

    >>> import treadle.nn as nn
    >>> model = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)
    >>> model(Tensor([[[1.0, 2.0, 3.0, 4.0]]])).shape
    (1, 1, 4)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
        *,
        caches: list[KeyValueCache] | None = None,
    ) -> Tensor:
        """The encoded ``src``; ``caches`` has one for each layer."""
        for layer, cache in zip(self.layers, self._caches(caches), strict=True):
            src = layer(src, mask, src_key_padding_mask, bool(is_causal), cache=cache)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """``num_layers`` copies of ``decoder_layer`` in a row, then ``norm``. The layers start alike, as in PyTorch.

    >>> import treadle.nn as nn
    >>> model = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2)
    >>> x = Tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> model(x, x).shape
    (1, 1, 4)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
        *,
        caches: list[KeyValueCache] | None = None,
    ) -> Tensor:
        """The decoded ``tgt``; ``caches`` has one for each layer."""
        for layer, cache in zip(self.layers, self._caches(caches), strict=True):
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, bool(tgt_is_causal),
                memory_is_causal, cache=cache,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder that looks at its result. Vaswani et al. 2017, "Attention is all you need".

    ``src`` and ``tgt`` are ``(steps, batch, d_model)``, or with the batch first, or without; the result has the shape
    of ``tgt``. Embeddings, positions and the last linear map are the caller's.

    >>> import treadle.nn as nn
    >>> model = nn.Transformer(4, 2, 1, 1, 8)
    >>> model(Tensor([[[1.0] * 4]] * 3), Tensor([[[1.0] * 4]] * 2)).shape
    (2, 1, 4)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        layer = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder: Module = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(d_model, nhead, *layer, **made),
            num_encoder_layers,
            LayerNorm(d_model, layer_norm_eps, bias=bias, **made),
        )
        self.decoder: Module = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(d_model, nhead, *layer, **made),
            num_decoder_layers,
            LayerNorm(d_model, layer_norm_eps, bias=bias, **made),
        )
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoded ``tgt``, of its shape."""
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise nd.ShapeError(f"Transformer: expected {self.d_model} features, got src {src.shape}, tgt {tgt.shape}")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(  # type: ignore[no-any-return]
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
            memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """``(sz, sz)`` with -inf where a step would look ahead, and 0 elsewhere.

        >>> import treadle.nn as nn
        >>> nn.Transformer.generate_square_subsequent_mask(2).tolist()
        [[0.0, -inf], [0.0, 0.0]]
        """
        hidden = logical_not(causal_mask(sz, sz, 0, device)).data
        kind = nd.float32 if dtype is None else dtype
        return Tensor(nd.where(hidden, -nd.inf, nd.zeros((), dtype=kind, device=device)))
