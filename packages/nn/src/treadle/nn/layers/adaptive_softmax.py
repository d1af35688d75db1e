"""The softmax over many classes of which few are frequent."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.layers.linear import Linear
from treadle.nn.layers.module_list import ModuleList
from treadle.nn.layers.sequential import Sequential
from treadle.nn.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _OutputAndLoss(NamedTuple):
    """The logarithm of the probability of each row's target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """log softmax and its loss over ``n_classes`` sorted by frequency, the rare ones in clusters of small layers.

    ``cutoffs`` rise and say where clusters begin: the classes before the first are scored by the ``head`` itself, which
    has one more output for each cluster. Cluster i scores by ``in_features // div_value ** (i + 1)`` hidden numbers.
    Grave, Joulin, Cisse, Grangier and Jegou 2017, "Efficient softmax approximation for GPUs".

    >>> import treadle.nn as nn
    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10])
    >>> result = layer(Tensor(nd.ones((3, 8))), Tensor([0, 5, 19]))
    >>> result.output.shape, result.loss.shape
    ((3,), ())
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        limits = [0, *cutoffs, n_classes]
        if not cutoffs or any(type(each) is not int for each in cutoffs) or any(b <= a for a, b in pairwise(limits)):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs must be ints that rise between 0 and n_classes={n_classes}, not "
                f"{list(cutoffs)!r}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList(
            [
                Sequential(
                    Linear(in_features, int(in_features // div_value ** (number + 1)), False, device, dtype),
                    Linear(int(in_features // div_value ** (number + 1)), last - first, False, device, dtype),
                )
                for number, (first, last) in enumerate(pairwise(self.cutoffs))
            ]
        )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> _OutputAndLoss:
        """For ``input`` ``(rows, in_features)`` and classes ``(rows,)``, or one row, the ``output`` and the ``loss``.

        Only the clusters that a target lies in are computed. IndexingError for a target out of range.
        """
        rows = self._rows(input)
        if target.shape != input.shape[:-1] or target.dtype.kind not in "iu":
            raise nd.ShapeError(
                f"AdaptiveLogSoftmaxWithLoss: targets {target.shape} of {target.dtype.name} for an input of "
                f"{input.shape}; they are integers, one a row"
            )
        classes = nd.reshape(target.data, (rows.shape[0],)).astype("int64")
        if classes.size and not 0 <= nd.min(classes).item() <= nd.max(classes).item() < self.n_classes:
            raise nd.IndexingError(f"AdaptiveLogSoftmaxWithLoss: targets must lie in 0 to {self.n_classes - 1}")
        in_head = classes
        within: Tensor | None = None
        for number, (first, last) in enumerate(pairwise(self.cutoffs)):
            inside = nd.logical_and(classes >= first, classes < last)
            places = nd.nonzero(inside)[0]
            if not places.size:
                continue
            in_head = nd.where(inside, self.shortlist_size + number, in_head)
            scores = autograd.log_softmax(self.tail[number](autograd.take(rows, Tensor(places), axis=0)), axis=1)
            chosen = autograd.take_along_axis(scores, Tensor(nd.expand_dims(nd.take(classes, places) - first, axis=1)))
            blank = Tensor(nd.zeros((rows.shape[0],), dtype=rows.dtype, device=rows.device))
            part = autograd.scatter_add(blank, Tensor(places), autograd.squeeze(chosen, 1))
            within = part if within is None else within + part
        scores = autograd.log_softmax(self.head(rows), axis=1)
        output = autograd.squeeze(autograd.take_along_axis(scores, Tensor(nd.expand_dims(in_head, axis=1))), 1)
        output = output if within is None else output + within
        return _OutputAndLoss(autograd.reshape(output, target.shape), -autograd.mean(output))

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes, ``(rows, n_classes)``."""
        rows = self._rows(input)
        scores = autograd.log_softmax(self.head(rows), axis=1)
        parts = [scores[:, : self.shortlist_size]]
        for number, cluster in enumerate(self.tail):
            place = self.shortlist_size + number
            parts.append(autograd.log_softmax(cluster(rows), axis=1) + scores[:, place : place + 1])
        return autograd.concat(parts, axis=1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row, int64."""
        return autograd.argmax(self.log_prob(input), axis=1)

    def _rows(self, input: Tensor) -> Tensor:
        if input.ndim not in (1, 2) or input.shape[-1] != self.in_features:
            raise nd.ShapeError(
                f"AdaptiveLogSoftmaxWithLoss: an input of shape {input.shape}; it is (rows, {self.in_features}), or "
                "one row"
            )
        return input if input.ndim == 2 else autograd.expand_dims(input, axis=0)
