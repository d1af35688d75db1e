"""Cross-entropy as one node."""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd.ops._common import Shape, floating
from treadle.ndarray import DType, DTypeError, ShapeError, _layers
from treadle.ndarray.ranges import check_range

__all__ = ["CrossEntropy"]

REDUCTIONS = ("mean", "sum", "none")


class CrossEntropy(Op):
    """-log softmax(logits) at the class indices, after PyTorch: ``CrossEntropy()(logits, targets)``.

    ``logits`` are (C,), (N, C) or (N, C, ...), ``targets`` integer class indices without the class axis. A third
    operand gives each class a weight, shape (C,); it gets no gradient. Targets equal to ``ignore_index`` count nowhere.
    ``reduction`` is "mean" (over the counted targets, by weight), "sum" or "none". ``label_smoothing`` e mixes the
    target with the uniform distribution: (1 - e) of the weight on the target and e / C on each class.

    With every target ignored, "mean" is 0 / 0 = NaN with a zero gradient. A logit of -inf has probability exactly 0.

    With q the (weighted, smoothed) target distribution of a row, the loss is -sum(q log p) and its gradient
    p sum(q) - q.
    """

    def __init__(self, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0) -> None:
        if reduction not in REDUCTIONS:
            raise ValueError(f"CrossEntropy: reduction must be one of {REDUCTIONS}, not {reduction!r}")
        if not 0.0 <= label_smoothing <= 1.0:
            raise ValueError(f"CrossEntropy: label_smoothing must lie between 0 and 1, not {label_smoothing}")
        self.reduction = reduction
        if not isinstance(ignore_index, int):
            raise nd.ArgumentError(f"CrossEntropy: ignore_index is {ignore_index!r}; pass an int")
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        logits, targets, weight = arrays if len(arrays) == 3 else (*arrays, None)
        axis = self._check(logits.shape, targets.shape, targets.dtype, None if weight is None else weight.shape)
        if targets.dtype is not xp.int64:
            targets = xp.astype(targets, xp.int64)
        if weight is not None and weight.dtype != logits.dtype and logits.dtype.kind == "f":
            weight = xp.astype(weight, logits.dtype)
        saved = logits, targets, weight
        losses, share = self._losses(xp, logits, targets, weight, axis)
        if self.reduction == "none":
            return losses, (*saved, None)
        total = xp.sum(losses)
        if self.reduction == "sum":
            return total, (*saved, None)
        count = xp.astype(xp.sum(targets != self.ignore_index), logits.dtype) if share is None else xp.sum(share)
        return total / count, (*saved, count)

    def _losses(self, xp: Any, logits: Any, targets: Any, weight: Any, axis: int) -> tuple[Any, Any]:
        """The loss of each row, and if there are weights that of its class; 0 where the target is ignored."""
        if xp is nd and weight is None:
            losses = _layers.entropy(self, logits, targets, self.ignore_index, self.label_smoothing)
            if losses is not None:
                return losses, None
        counted = targets != self.ignore_index
        classes = xp.where(counted, targets, 0)
        self._check_classes(xp, classes, logits.shape[axis])
        chosen = self._chosen(xp, classes, logits, axis)
        log_p = xp.log_softmax(logits, axis=axis)
        losses = -xp.sum(xp.where(chosen, log_p, 0.0), axis=axis)
        share = None if weight is None else self._share(xp, chosen, weight, axis)
        if share is not None:
            losses, share = losses * share, xp.where(counted, share, 0.0)
        if self.label_smoothing:
            losses = losses * (1.0 - self.label_smoothing) + self._smooth(xp, log_p, weight, axis)
        return xp.where(counted, losses, 0.0), share

    def _check_classes(self, xp: Any, classes: Any, number: int) -> None:
        """Raises IndexingError for classes that there are not."""
        if not hasattr(xp, "records_arrays"):
            text = f"{self}: target {{}} is outside of the {number} classes, and is not ignore_index"
            check_range(classes if xp is nd else classes.data, number, text)

    def _chosen(self, xp: Any, classes: Any, logits: Any, axis: int) -> Any:
        """True at each row's class."""
        numbers = xp.arange(logits.shape[axis], dtype=classes.dtype, device=classes.device)
        return xp.expand_dims(classes, axis) == xp.reshape(numbers, (-1,) + (1,) * (len(classes.shape) - axis))

    def _share(self, xp: Any, chosen: Any, weight: Any, axis: int) -> Any:
        """The weight of each row's class."""
        return xp.sum(xp.where(chosen, self._by_class(xp, weight, chosen.ndim, axis), 0.0), axis=axis)

    def _smooth(self, xp: Any, log_p: Any, weight: Any, axis: int) -> Any:
        """The loss of the uniform part of the smoothed target."""
        weighted = log_p if weight is None else log_p * self._by_class(xp, weight, len(log_p.shape), axis)
        return xp.sum(weighted, axis=axis) * (-self.label_smoothing / log_p.shape[axis])

    @staticmethod
    def _by_class(xp: Any, weight: Any, ndim: int, axis: int) -> Any:
        return xp.reshape(weight, (-1,) + (1,) * (ndim - 1 - axis))

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        logits, targets, weight, count = node.saved
        if weight is not None and node.needs_grad(2):
            raise DTypeError(f"{self}: the weight has no gradient; pass weight.detach()")
        scale = grad if count is None else grad / count
        if xp is nd and weight is None:
            found = _layers.entropy_gradient(logits, targets, self.ignore_index, self.label_smoothing, scale)
            if found is not None:
                return found, None
        return self._composed_gradient(xp, scale, logits, targets, weight)

    def _composed_gradient(self, xp: Any, scale: Any, logits: Any, targets: Any, weight: Any) -> tuple[Any, ...]:
        axis = 0 if len(logits.shape) == 1 else 1
        counted = targets != self.ignore_index
        chosen = self._chosen(xp, xp.where(counted, targets, 0), logits, axis)
        wanted = xp.astype(chosen, logits.dtype)
        mass = None
        by_class = 1.0 if weight is None else self._by_class(xp, weight, len(logits.shape), axis)
        if weight is not None:
            wanted = wanted * by_class
        if self.label_smoothing:
            uniform = by_class * (self.label_smoothing / logits.shape[axis])
            wanted = wanted * (1.0 - self.label_smoothing) + uniform
        if weight is not None:
            mass = xp.sum(wanted, axis=axis, keepdims=True)
        p = xp.softmax(logits, axis=axis)
        difference = (p if mass is None else p * mass) - wanted
        if self.reduction == "none":
            scale = xp.expand_dims(scale, axis)
        gradient = xp.where(xp.expand_dims(counted, axis), difference * scale, 0.0)
        return (gradient, None) if weight is None else (gradient, None, None)

    def _check(self, logits: Shape, targets: Shape, dtype: DType, weight: Shape | None) -> int:
        """The class axis. Raises ShapeError, DTypeError."""
        if dtype.kind not in "iu":
            raise DTypeError(f"{self}: targets must be integer class indices, not {dtype.name}")
        axis = 0 if len(logits) == 1 else 1
        if not logits or logits[:axis] + logits[axis + 1 :] != targets:
            raise ShapeError(f"{self}: targets of shape {targets} do not fit logits of shape {logits}")
        if logits[axis] == 0 and 0 not in targets:
            raise ShapeError(f"{self}: logits of shape {logits} have no class")
        if weight is not None and weight != (logits[axis],):
            raise ShapeError(f"{self}: a weight of shape {weight} does not fit {logits[axis]} classes")
        return axis

    def infer(self, shapes: tuple[Shape, ...], dtypes: tuple[DType, ...]) -> tuple[Shape, DType]:
        logits, targets = shapes[:2]
        self._check(logits, targets, dtypes[1], shapes[2] if len(shapes) == 3 else None)
        if dtypes[0].kind == "c":
            raise DTypeError(f"{self}: the logits are complex")
        return targets if self.reduction == "none" else (), floating(dtypes[0])


def cross_entropy(
    logits: Tensor,
    targets: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross-entropy of logits and class indices; see :class:`treadle.autograd.ops.CrossEntropy`.

    >>> import treadle.autograd as ag
    >>> f"{ag.cross_entropy(ag.Tensor([[0.0, 0.0]]), ag.Tensor([1])).item():.4f}"
    '0.6931'
    """
    op = CrossEntropy(reduction, ignore_index, label_smoothing)
    if logits.dtype is nd.float16:  # over many rows, sum and number overflow
        wide = logits.astype(nd.float32)
        return (op(wide, targets) if weight is None else op(wide, targets, weight)).astype(logits.dtype)
    return op(logits, targets) if weight is None else op(logits, targets, weight)
