"""Attention with several heads, and the cache that makes decoding step by step cheap."""

from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import functional, init
from treadle.nn.functional.attention import attention_weights, causal_mask
from treadle.nn.layers.linear import Linear
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = ["KeyValueCache", "MultiheadAttention"]


class KeyValueCache:
    """The keys and values of the steps that attention has seen, ``(batch, heads, steps, features)`` each.

    >>> cache = KeyValueCache()
    >>> key, value = cache.extended(Tensor([[[[1.0]]]]), Tensor([[[[2.0]]]]))
    >>> key, value = cache.extended(Tensor([[[[3.0]]]]), Tensor([[[[4.0]]]]))
    >>> len(cache), key.shape
    (2, (1, 1, 2, 1))
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.key is None else self.key.shape[2]

    def extended(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values so far, these last."""
        if self.key is not None and self.value is not None:
            key = autograd.concat([self.key, key], axis=2)
            value = autograd.concat([self.value, value], axis=2)
        self.key, self.value = key, value
        return key, value


class MultiheadAttention(Module):
    """Attention whose queries, keys and values are projected for each of ``num_heads`` heads of ``embed_dim /
    num_heads`` features, and whose heads are joined by ``out_proj``. Vaswani et al. 2017, section 3.2.2.

    ``query`` is ``(queries, batch, embed_dim)``, ``key`` ``(keys, batch, kdim)``, ``value`` ``(keys, batch, vdim)``;
    the batch comes first with ``batch_first``, or is missing. The projections are ``in_proj_weight``, ``(3 * embed_dim,
    embed_dim)``, or ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight`` where kdim or vdim differ, with
    ``in_proj_bias``. ``add_bias_kv`` adds a learnt key and value, ``add_zero_attn`` one of zeros. ``dropout`` acts on
    the weights.

    Masks are PyTorch's: booleans are True where *not* to look, floats are added to the scores. A query that may look
    nowhere gives zeros.

    >>> import treadle.nn as nn
    >>> x = Tensor([[[1.0, 2.0, 3.0, 4.0]] * 3])
    >>> out, weights = nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)
    >>> out.shape, weights.shape
    ((1, 3, 4), (1, 3, 3))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise nd.ShapeError(f"MultiheadAttention: embed_dim {embed_dim} is no multiple of num_heads {num_heads}")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        dtype = nd.float32 if dtype is None else dtype

        def made(*shape: int) -> Parameter:
            return Parameter(nd.empty(shape, dtype=dtype, device=device))

        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == embed_dim == self.vdim:
            self.in_proj_weight = made(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = made(embed_dim, embed_dim)
            self.k_proj_weight = made(embed_dim, self.kdim)
            self.v_proj_weight = made(embed_dim, self.vdim)
        self.in_proj_bias = made(3 * embed_dim) if bias else None
        self.bias_k = made(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = made(1, 1, embed_dim) if add_bias_kv else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Projections as Glorot and Bengio 2010 have it, biases 0, the learnt key and value normal."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        if self.bias_k is not None and self.bias_v is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The output, of the shape of ``query``, and the weights, ``(batch, queries, keys)`` as the heads' mean, or
        ``(batch, heads, queries, keys)``; None unless ``need_weights``.

        ``key_padding_mask`` is ``(batch, keys)``, ``attn_mask`` ``(queries, keys)`` or ``(batch * heads, queries,
        keys)``. ``is_causal`` lets each query look at the keys up to its own place; unlike in PyTorch it needs no
        ``attn_mask`` beside it. ``cache``, which PyTorch lacks, keeps keys and values: a call adds its own and looks at
        all, the queries being the last of them, so that a decoder computes each step once.
        """
        if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
            raise nd.ShapeError(
                f"MultiheadAttention: query {query.shape}, key {key.shape} and value {value.shape} must all have 3 "
                "dimensions, or 2 without batch"
            )
        single = query.ndim == 2
        axis = 0 if single or self.batch_first else 1
        same = query is key and key is value
        first, second, third = (self._batch_first(each, axis, single) for each in (query, key, value))
        if same:
            second = third = first
        self._check(first, second, third)
        heads = self._heads(first, second, third)
        mask = self._mask(first, second, key_padding_mask, attn_mask, is_causal, cache)
        out, weights = self._attend(heads, mask, cache, need_weights)
        out = self.out_proj(out)
        if single:
            out = out[0]
        elif axis == 1:
            out = autograd.swapaxes(out, 0, 1)
        if weights is None or not need_weights:
            return out, None
        shown = autograd.mean(weights, axis=1) if average_attn_weights else weights
        return out, shown[0] if single else shown

    def _batch_first(self, given: Tensor, axis: int, single: bool) -> Tensor:
        if single:
            return autograd.expand_dims(given, axis=0)
        return given if axis == 0 else autograd.swapaxes(given, 0, 1)

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        wanted = (self.embed_dim, self.kdim, self.vdim)
        found = (query.shape[2], key.shape[2], value.shape[2])
        if found != wanted:
            raise nd.ShapeError(f"MultiheadAttention: expected {wanted} features of query, key and value, got {found}")
        if key.shape[:2] != value.shape[:2] or key.shape[0] != query.shape[0]:
            raise nd.ShapeError(
                f"MultiheadAttention: query {query.shape}, key {key.shape} and value {value.shape} (batch first) must "
                f"have one batch, and key and value as many steps; batch_first is {self.batch_first}"
            )

    def _heads(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """The projections, ``(batch, heads, steps, head_dim)``."""
        batch, size = query.shape[0], self.embed_dim
        if query is key and key is value and self.in_proj_weight is not None:
            joint = functional.linear(query, self.in_proj_weight, self.in_proj_bias)
            parts = autograd.reshape(joint, (batch, query.shape[1], 3, self.num_heads, self.head_dim))
            return autograd.unstack(autograd.permute_dims(parts, (2, 0, 3, 1, 4)), axis=0)
        weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        if self.in_proj_weight is not None:
            weights = [self.in_proj_weight[at * size : (at + 1) * size] for at in range(3)]
        biases: Any = (None,) * 3
        if self.in_proj_bias is not None:
            biases = [self.in_proj_bias[at * size : (at + 1) * size] for at in range(3)]
        return tuple(
            self._split(functional.linear(given, weight, bias))
            for given, weight, bias in zip((query, key, value), weights, biases, strict=True)
        )

    def _split(self, projected: Tensor) -> Tensor:
        batch, steps, _ = projected.shape
        return autograd.swapaxes(autograd.reshape(projected, (batch, steps, self.num_heads, self.head_dim)), 1, 2)

    def _mask(
        self, query: Tensor, key: Tensor, padding: Tensor | None, mask: Tensor | None, causal: bool,
        cache: KeyValueCache | None,
    ) -> Tensor | None:  # fmt: skip
        """What is added to the scores, ``(batch or 1, heads or 1, queries, keys)``; None if all may be seen."""
        batch, steps, past = query.shape[0], query.shape[1], 0 if cache is None else len(cache)
        keys = past + key.shape[1]
        found: Tensor | None = None
        if mask is not None:
            if mask.shape not in ((steps, keys), (batch * self.num_heads, steps, keys)):
                raise nd.ShapeError(
                    f"MultiheadAttention: attn_mask {mask.shape} must be {(steps, keys)} or "
                    f"{(batch * self.num_heads, steps, keys)}"
                )
            each = (1, 1) if mask.ndim == 2 else (batch, self.num_heads)
            found = autograd.reshape(_added(mask, query), (*each, steps, keys))
        elif causal:
            seen = causal_mask(steps, keys, past, query.device)
            found = autograd.reshape(_added(autograd.logical_not(seen), query), (1, 1, steps, keys))
        if padding is not None:
            if padding.ndim == 1:
                padding = padding[None]
            if padding.shape != (batch, keys):
                raise nd.ShapeError(f"MultiheadAttention: key_padding_mask {padding.shape} must be {(batch, keys)}")
            hidden = autograd.reshape(_added(padding, query), (batch, 1, 1, keys))
            found = hidden if found is None else found + hidden
        return found

    def _attend(
        self, heads: tuple[Tensor, ...], mask: Tensor | None, cache: KeyValueCache | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The heads' results joined, ``(batch, steps, embed_dim)``, and the weights, if they are made."""
        query, key, value = heads
        if cache is not None:
            key, value = cache.extended(key, value)
        batch = query.shape[0]
        for more in self._more_keys(batch, query):
            key, value = (autograd.concat(pair, axis=2) for pair in ((key, more[0]), (value, more[1])))
            if mask is not None:
                mask = autograd.pad(mask, [(0, 0), (0, 0), (0, 0), (0, 1)])
        weights = None
        if need_weights or (self.dropout and self.training):
            weights = functional.dropout(attention_weights(query, key, mask), self.dropout, self.training)
            out = autograd.matmul(weights, value)
        else:
            out = autograd.attention(query, key, value, mask)
        return autograd.reshape(autograd.swapaxes(out, 1, 2), (batch, query.shape[2], self.embed_dim)), weights

    def _more_keys(self, batch: int, like: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The keys and values that every query may look at besides the given ones."""
        shape = (batch, self.num_heads, 1, self.head_dim)
        more = []
        if self.bias_k is not None and self.bias_v is not None:
            split = (1, self.num_heads, 1, self.head_dim)
            pair = [autograd.broadcast_to(autograd.reshape(each, split), shape) for each in (self.bias_k, self.bias_v)]
            more.append((pair[0], pair[1]))
        if self.add_zero_attn:
            nothing = Tensor(nd.zeros(shape, dtype=like.dtype, device=like.device))
            more.append((nothing, nothing))
        return more


def _added(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as what is added to the scores: -inf where a boolean one is True."""
    if mask.dtype.kind not in "bf":
        raise nd.DTypeError(
            f"MultiheadAttention: a mask is of booleans, True where not to look, or of floats to add, not of "
            f"{mask.dtype.name}"
        )
    if mask.dtype.kind == "f":
        return mask.astype(like.dtype)
    return Tensor(nd.where(mask.data, -nd.inf, nd.zeros((), dtype=like.dtype, device=like.device)))
