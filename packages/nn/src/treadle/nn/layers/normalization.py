"""Normalisation of channels, layers, groups and single samples."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd._watching import about_to_write
from treadle.nn import functional, init
from treadle.nn.functional._spatial import layout
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LayerNorm", "RMSNorm",
]  # fmt: skip


def _affine(shape: tuple[int, ...], wanted: bool, device: Any, dtype: Any) -> Parameter | None:
    dtype = nd.float32 if dtype is None else dtype
    return Parameter(nd.empty(shape, dtype=dtype, device=device)) if wanted else None


class _Normalization(Module):
    """Base: a weight of ones and a bias of zeros, either of which may be missing."""

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        bias = getattr(self, "bias", None)
        if bias is not None:
            init.zeros_(bias)


class _Running(_Normalization):
    """Base of those with running statistics of channels."""

    dimensions: ClassVar[tuple[int, ...]]
    count: ClassVar[int]
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.weight = _affine((num_features,), affine, device, dtype)
        self.bias = _affine((num_features,), affine and bias, device, dtype)
        made: list[Tensor | None] = [None, None, None]
        if track_running_stats:
            kind = nd.float32 if dtype is None else dtype
            made = [Tensor(nd.zeros((num_features,), dtype=kind, device=device)) for _ in range(2)]
            made.append(Tensor(nd.zeros((), dtype=nd.int64, device=device)))
        for name, buffer in zip(("running_mean", "running_var", "num_batches_tracked"), made, strict=True):
            self.register_buffer(name, buffer)
        self.reset_running_stats()
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.data.fill(0.0)
            self.running_var.data.fill(1.0)
            self.num_batches_tracked.data.fill(0)

    def _channel_axis(self, input: Tensor) -> int:
        return 1

    def _check(self, input: Tensor) -> None:
        name = type(self).__name__
        if input.ndim not in self.dimensions:
            raise nd.ShapeError(f"{name}: expected {layout(self.count)}, got an input of shape {input.shape}")
        at = self._channel_axis(input)
        if input.shape[at] != self.num_features:
            last = input.ndim > 2 and input.shape[-1] == self.num_features
            hint = f"; the channels seem to come last: pass treadle.autograd.moveaxis(input, -1, {at})" if last else ""
            raise nd.ShapeError(
                f"{name}: expected {self.num_features} channels in dimension {at}, got {input.shape}{hint}"
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Running):
    def forward(self, input: Tensor) -> Tensor:
        """The normalised ``input``: with the batch's statistics in training or if none are tracked."""
        self._check(input)
        tracks = self.training and self.num_batches_tracked is not None
        factor = 0.0 if self.momentum is None else self.momentum
        if tracks and self.num_batches_tracked is not None:
            counted = None if self.momentum is None else lambda xp, old: old + 1
            about_to_write(self.num_batches_tracked, counted)
            self.num_batches_tracked.data += 1
            if self.momentum is None:  # the plain mean of all batches
                factor = 1.0 / self.num_batches_tracked.item()
        batch = self.training or self.running_mean is None
        running = (None, None) if batch and not tracks else (self.running_mean, self.running_var)
        return functional.batch_norm(input, *running, self.weight, self.bias, batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Each channel of ``(batch, channels)`` or ``(batch, channels, length)`` less its mean, over its deviation, times
    ``weight`` plus ``bias``, both ``(num_features,)``.

    In training the statistics are the batch's, with the biased variance; the running ones move towards them by
    ``momentum`` (None: the mean of all batches so far), with the unbiased variance, and serve in evaluation. Ioffe and
    Szegedy 2015, "Batch normalization".

    >>> import treadle.nn as nn
    >>> layer = nn.BatchNorm1d(1)
    >>> y = layer(Tensor([[1.0], [2.0], [6.0]]))
    >>> round(layer.running_mean.item(), 4), round(layer.running_var.item(), 4)
    (0.3, 1.6)
    """

    dimensions, count = (2, 3), 1


class BatchNorm2d(_BatchNorm):
    """:class:`BatchNorm1d` of ``(batch, channels, height, width)``.

    >>> import treadle.nn as nn
    >>> nn.BatchNorm2d(3).eval()(Tensor([[[[1.0]], [[2.0]], [[3.0]]]])).shape
    (1, 3, 1, 1)
    """

    dimensions, count = (4,), 2


class BatchNorm3d(_BatchNorm):
    """:class:`BatchNorm1d` of ``(batch, channels, depth, height, width)``.

    >>> import treadle.nn as nn
    >>> nn.BatchNorm3d(1).eval()(Tensor([[[[[1.0]]]]])).shape
    (1, 1, 1, 1, 1)
    """

    dimensions, count = (5,), 3


class _InstanceNorm(_Running):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _channel_axis(self, input: Tensor) -> int:
        return input.ndim - self.count - 1

    def forward(self, input: Tensor) -> Tensor:
        """The normalised ``input``, with its own statistics unless running ones are tracked and this is evaluation."""
        self._check(input)
        if input.ndim == self.count + 1:
            return self._normalized(input[None])[0]
        return self._normalized(input)

    def _normalized(self, input: Tensor) -> Tensor:
        own = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        running = (self.running_mean, self.running_var)
        return functional.instance_norm(input, *running, self.weight, self.bias, own, momentum, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """:class:`BatchNorm1d` of every sample by itself: ``(batch, channels, length)``, or without batch. Without affine
    parameters and running statistics, unless they are asked for. Ulyanov et al. 2016.

    >>> import treadle.nn as nn
    >>> [round(v, 3) for v in nn.InstanceNorm1d(1)(Tensor([[[1.0, 3.0]]])).tolist()[0][0]]
    [-1.0, 1.0]
    """

    dimensions, count = (2, 3), 1


class InstanceNorm2d(_InstanceNorm):
    """:class:`InstanceNorm1d` of ``(batch, channels, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.InstanceNorm2d(1)(Tensor([[[[1.0, 3.0]]]])).shape
    (1, 1, 1, 2)
    """

    dimensions, count = (3, 4), 2


class InstanceNorm3d(_InstanceNorm):
    """:class:`InstanceNorm1d` of ``(batch, channels, depth, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.InstanceNorm3d(1)(Tensor([[[[[1.0, 3.0]]]]])).shape
    (1, 1, 1, 1, 2)
    """

    dimensions, count = (4, 5), 3


def _lengths(shape: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(map(operator.index, shape if isinstance(shape, Iterable) else (shape,)))


class LayerNorm(_Normalization):
    """The last dimensions, of ``normalized_shape``, less their mean, over their deviation (biased), times ``weight``
    plus ``bias``, of that shape. Ba, Kiros and Hinton 2016, "Layer normalization".

    >>> import treadle.nn as nn
    >>> [round(v, 3) for v in nn.LayerNorm(2)(Tensor([1.0, 3.0])).tolist()]
    [-1.0, 1.0]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _lengths(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = _affine(self.normalized_shape, elementwise_affine, device, dtype)
        self.bias = _affine(self.normalized_shape, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised ``input``; ShapeError unless it ends in ``normalized_shape``."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Normalization):
    """The last dimensions, of ``normalized_shape``, over their root mean square, times ``weight``. ``eps`` is the
    dtype's by default. Zhang and Sennrich 2019, "Root mean square layer normalization".

    >>> import treadle.nn as nn
    >>> [round(v, 3) for v in nn.RMSNorm(2)(Tensor([3.0, 4.0])).tolist()]
    [0.849, 1.131]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _lengths(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = _affine(self.normalized_shape, elementwise_affine, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised ``input``; ShapeError unless it ends in ``normalized_shape``."""
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Normalization):
    """The channels of ``(batch, channels, ...)``, in ``num_groups`` groups, less the group's mean, over its deviation,
    times ``weight`` plus ``bias``, both ``(num_channels,)``. Wu and He 2018, "Group normalization".

    >>> import treadle.nn as nn
    >>> [round(v, 3) for v in nn.GroupNorm(1, 2)(Tensor([[1.0, 3.0]])).tolist()[0]]
    [-1.0, 1.0]
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            raise nd.ShapeError(f"GroupNorm: {num_channels} channels do not make {num_groups} equal groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.weight = _affine((num_channels,), affine, device, dtype)
        self.bias = _affine((num_channels,), affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised ``input``; ShapeError for another number of channels."""
        if input.ndim < 2 or input.shape[1] != self.num_channels:
            raise nd.ShapeError(f"GroupNorm: expected {self.num_channels} channels in dimension 1, got {input.shape}")
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
