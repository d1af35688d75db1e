"""Einstein's summation convention, through views, sums and matrix products."""

import math
from typing import NamedTuple

from treadle.ndarray._array import NDArray
from treadle.ndarray.creation import as_array
from treadle.ndarray.data_types import result_type
from treadle.ndarray.errors import DeviceError, ShapeError
from treadle.ndarray.manipulation import reshape
from treadle.ndarray.products import matmul
from treadle.ndarray.reductions import sum
from treadle.ndarray.windows import diagonal

__all__ = ["einsum"]


class _Term(NamedTuple):
    """An array with a label for each axis, none twice; those of an ellipsis are "-1", "-2", ... from the end."""

    array: NDArray
    labels: tuple[str, ...]


def einsum(subscripts: str, /, *operands: NDArray) -> NDArray:
    """The sum of products that the subscripts name: one letter an axis, operands parted by commas, "->" and the result.

    Axes with one letter are multiplied together; a letter that the result lacks is summed over. Twice in one operand it
    takes the diagonal. "..." stands for the axes without letters, which broadcast. Without "->" the result has the
    letters that occur once, in alphabetical order, behind the ellipsis. Lengths of 1 broadcast. Of several operands the
    two with the smallest product are multiplied first. The dtypes meet in one, which the result keeps. One operand
    without a sum gives a view.

    Raises ShapeError for subscripts that are malformed or do not fit the operands.

    >>> import treadle.ndarray as nd
    >>> nd.einsum("ij,jk->ik", nd.asarray([[1, 2]]), nd.asarray([[3], [4]])).tolist()
    [[11]]
    """
    arrays = [as_array(each) for each in operands]
    inputs, output = _parse(subscripts, arrays)
    for each in arrays:
        if each.device is not arrays[0].device:
            raise DeviceError(f"einsum: operands on {arrays[0].device} and {each.device}; move one with to_device")
    dtype = result_type(*arrays)
    work = "int64" if dtype.kind == "b" else dtype  # booleans: a sum of products is true where one product is
    terms = [
        _without_repeats(each.astype(work, copy=False), labels) for each, labels in zip(arrays, inputs, strict=True)
    ]
    terms = _without_ones(terms, output)
    while len(terms) > 1:
        terms = _contract_smallest(terms, output)
    (term,) = terms
    summed = tuple(axis for axis, label in enumerate(term.labels) if label not in output)
    array = sum(term.array, axis=summed, dtype=work) if summed else term.array
    labels = [label for label in term.labels if label in output]
    return array.view_permuted([labels.index(each) for each in output]).astype(dtype, copy=False)


def _parse(subscripts: str, arrays: list[NDArray]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """The labels of every operand and of the result."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(arrays) or not arrays:
        raise ShapeError(f"einsum: {subscripts!r} names {len(parts)} operands, and there are {len(arrays)}")
    inputs = [_labels(part, array, subscripts) for part, array in zip(parts, arrays, strict=True)]
    dots = max((_dots(labels) for labels in inputs), default=0)
    ellipsis = tuple(str(-each) for each in range(dots, 0, -1))
    if not arrow:
        letters = "".join(parts).replace(".", "")
        return inputs, (*ellipsis, *sorted(each for each in set(letters) if letters.count(each) == 1))
    named = right.replace("...", "")
    if right.count("...") > 1 or any(not each.isalpha() for each in named) or len(set(named)) != len(named):
        raise ShapeError(f"einsum: {right!r}, the result of {subscripts!r}, is not of letters, each once")
    unknown = [each for each in named if each not in left]
    if unknown:
        raise ShapeError(f"einsum: the result of {subscripts!r} has {unknown[0]!r}, which no operand has")
    first, between, last = right.partition("...")
    return inputs, (*first, *(ellipsis if between else ()), *last)


def _dots(labels: tuple[str, ...]) -> int:
    """How many axes the ellipsis of a term stands for."""
    return len([each for each in labels if each.startswith("-")])


def _labels(part: str, array: NDArray, subscripts: str) -> tuple[str, ...]:
    first, dots, last = part.partition("...")
    hidden = array.ndim - len(first) - len(last)
    if any(not each.isalpha() for each in first + last) or hidden < 0 or (hidden and not dots):
        raise ShapeError(f"einsum: {part!r} of {subscripts!r} does not name the axes of shape {array.shape}")
    return (*first, *(str(-each) for each in range(hidden, 0, -1)), *last)


def _without_repeats(array: NDArray, labels: tuple[str, ...]) -> _Term:
    """Axes with one label replaced by their diagonal."""
    for label in sorted(set(labels)):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if array.shape[first] != array.shape[second]:
                raise ShapeError(f"einsum: the axes {label!r} of shape {array.shape} have different lengths")
            array = diagonal(array, axis1=first, axis2=second)
            labels = (*(each for at, each in enumerate(labels) if at not in (first, second)), label)
    return _Term(array, labels)


def _without_ones(terms: list[_Term], output: tuple[str, ...]) -> list[_Term]:
    """Axes of length 1 dropped where another operand's axis of that label is longer: they broadcast."""
    lengths: dict[str, int] = {}
    for array, labels in terms:
        for label, length in zip(labels, array.shape, strict=True):
            known = lengths.setdefault(label, length)
            if known == 1:
                lengths[label] = length
            elif length not in (1, known):
                raise ShapeError(f"einsum: axes {label!r} have lengths {known} and {length}")
    kept = []
    for array, labels in terms:
        dropped = tuple(axis for axis, label in enumerate(labels) if array.shape[axis] == 1 and (lengths[label] != 1))
        rest = tuple(label for axis, label in enumerate(labels) if axis not in dropped)
        kept.append(_Term(array.view_squeezed(dropped), rest))
    return kept


def _contract_smallest(terms: list[_Term], output: tuple[str, ...]) -> list[_Term]:
    """The two terms with the smallest product replaced by it."""
    best: tuple[int, int, int] | None = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            size = math.prod(_kept_lengths(terms, i, j, output).values())
            if best is None or size < best[0]:
                best = (size, i, j)
    assert best is not None
    _, i, j = best
    kept = _kept_lengths(terms, i, j, output)
    product = _product(terms[i], terms[j], frozenset(kept))
    return [product, *(each for at, each in enumerate(terms) if at not in (i, j))]


def _kept_lengths(terms: list[_Term], i: int, j: int, output: tuple[str, ...]) -> dict[str, int]:
    """The labels of the product of two terms that are needed afterwards, with their lengths."""
    needed = set(output).union(*(each.labels for at, each in enumerate(terms) if at not in (i, j)))
    both = (
        *zip(terms[i].labels, terms[i].array.shape, strict=True),
        *zip(terms[j].labels, terms[j].array.shape, strict=True),
    )
    return {label: length for label, length in both if label in needed}


def _product(x: _Term, y: _Term, kept: frozenset[str]) -> _Term:
    """The product of two terms, summed over all labels but the kept ones."""
    x, y = _sum_alone(x, y.labels, kept), _sum_alone(y, x.labels, kept)
    batch = tuple(each for each in x.labels if each in y.labels and each in kept)
    inner = tuple(each for each in x.labels if each in y.labels and each not in kept)
    rows = tuple(each for each in x.labels if each not in y.labels)
    columns = tuple(each for each in y.labels if each not in x.labels)
    lengths = dict(zip(x.labels + y.labels, x.array.shape + y.array.shape, strict=True))

    def size(labels: tuple[str, ...]) -> int:
        return math.prod(lengths[each] for each in labels)

    left = reshape(_ordered(x, batch + rows + inner), (size(batch), size(rows), size(inner)))
    right = reshape(_ordered(y, batch + inner + columns), (size(batch), size(inner), size(columns)))
    product = matmul(left, right) if inner else left * right
    labels = batch + rows + columns
    return _Term(reshape(product, [lengths[each] for each in labels]), labels)


def _ordered(term: _Term, labels: tuple[str, ...]) -> NDArray:
    return term.array.view_permuted([term.labels.index(each) for each in labels])


def _sum_alone(term: _Term, others: tuple[str, ...], kept: frozenset[str]) -> _Term:
    """Labels that nothing else needs are summed at once."""
    axes = tuple(axis for axis, label in enumerate(term.labels) if label not in kept and label not in others)
    if not axes:
        return term
    labels = tuple(label for axis, label in enumerate(term.labels) if axis not in axes)
    return _Term(sum(term.array, axis=axes, dtype=term.array.dtype), labels)
