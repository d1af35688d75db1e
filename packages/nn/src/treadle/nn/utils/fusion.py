"""Batch norms made part of the layer before them, for evaluation."""

import copy
from typing import Any, TypeVar

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

Layer = TypeVar("Layer", bound=Module)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does what it and the batch norm after it did with its running statistics.

    With ``transpose`` the weight is that of a transposed convolution without groups, whose channels come second.

    >>> weight, bias = fuse_conv_bn_weights(
    ...     Tensor([[[2.0]]]), None, Tensor([1.0]), Tensor([4.0]), 0.0, Tensor([3.0]), Tensor([5.0])
    ... )
    >>> weight.tolist(), bias.tolist()
    ([[[3.0]]], [3.5])
    """
    weight, mean = conv_w.data, bn_rm.data
    bias = nd.zeros_like(mean) if conv_b is None else conv_b.data
    scale = 1.0 / nd.sqrt(bn_rv.data + bn_eps)
    if bn_w is not None:
        scale = scale * bn_w.data
    shift = (bias - mean) * scale
    if bn_b is not None:
        shift = shift + bn_b.data
    shape = [1] * weight.ndim
    shape[1 if transpose else 0] = scale.size
    fused = (weight * scale.reshape(shape)).astype(weight.dtype, copy=False)
    return Parameter(fused, conv_w.requires_grad), Parameter(shift.astype(weight.dtype, copy=False))


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """:func:`fuse_conv_bn_weights` for a linear layer.

    >>> weight, bias = fuse_linear_bn_weights(
    ...     Tensor([[2.0]]), None, Tensor([1.0]), Tensor([4.0]), 0.0, None, None
    ... )
    >>> weight.tolist(), bias.tolist()
    ([[1.0]], [-0.5])
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_conv_bn_eval(conv: Layer, bn: Module, transpose: bool = False) -> Layer:
    """A copy of a convolution that does what it and the batch norm after it do in evaluation mode.

    ValueError if one of them is in training mode, or the norm has no running statistics.

    >>> import treadle.nn as nn
    >>> fused = fuse_conv_bn_eval(nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval())
    >>> fused.bias.shape
    (2,)
    """
    return _fused(conv, bn, transpose, "fuse_conv_bn_eval")


def fuse_linear_bn_eval(linear: Layer, bn: Module) -> Layer:
    """:func:`fuse_conv_bn_eval` for a linear layer.

    >>> import treadle.nn as nn
    >>> fuse_linear_bn_eval(nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval())
    Linear(in_features=3, out_features=2, bias=True)
    """
    return _fused(linear, bn, False, "fuse_linear_bn_eval")


def _fused(layer: Layer, norm: Any, transpose: bool, name: str) -> Layer:
    if layer.training or norm.training:
        raise ValueError(f"{name}: both modules must be in evaluation mode: call eval() on them")
    if norm.running_mean is None or norm.running_var is None:
        raise ValueError(f"{name}: the batch norm keeps no running statistics")
    fused: Any = copy.deepcopy(layer)
    channels = fused.weight.shape[1 if transpose else 0]
    if norm.running_mean.shape != (channels,):
        raise nd.ShapeError(f"{name}: {channels} channels go into a batch norm of {norm.running_mean.shape[0]}")
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias, transpose
    )  # fmt: skip
    result: Layer = fused
    return result
