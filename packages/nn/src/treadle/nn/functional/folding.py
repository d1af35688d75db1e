"""Windows of images as columns, and columns added up to images."""

import math

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._spatial import Ints, batched, tuple_of

__all__ = ["fold", "unfold"]

Pair = tuple[int, ...]


def _settings(name: str, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> tuple[Pair, ...]:
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    pairs = {key: tuple_of(value, 2, f"{name}: {key}") for key, value in given.items()}
    for key, pair in pairs.items():
        if min(pair) < (0 if key == "padding" else 1):
            raise nd.ShapeError(f"{name}: {key} {pair} must be {'0' if key == 'padding' else '1'} or more")
    return tuple(pairs.values())


def _places(name: str, size: Pair, kernel: Pair, dilation: Pair, stride: Pair, device: nd.Device) -> nd.NDArray:
    """The numbers of the pixels of a padded image, ``(elements of a window, windows)``."""
    reaches = [each * (length - 1) + 1 for each, length in zip(dilation, kernel, strict=True)]
    counts = [(length - reach) // step + 1 for length, reach, step in zip(size, reaches, stride, strict=True)]
    if min(counts) < 1:
        raise nd.ShapeError(f"{name}: windows of {tuple(reaches)} do not fit into {size}, padding included")
    places = nd.zeros((1, 1, 1, 1), dtype="int64", device=device)
    for axis in (0, 1):
        within = nd.arange(kernel[axis], device=device) * dilation[axis]
        first = nd.arange(counts[axis], device=device) * stride[axis]
        shape = [1, 1, 1, 1]
        shape[axis], shape[2 + axis] = kernel[axis], counts[axis]
        along = (nd.expand_dims(within, axis=1) + first).reshape(shape)
        places = places * size[axis] + along
    return places.reshape(math.prod(kernel), math.prod(counts))


def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """The windows of images ``(batch, channels, height, width)``, or without batch, as columns.

    The result is ``(batch, channels * elements of a window, windows)``; the windows are those of a convolution with the
    same settings, row by row. ShapeError where none fits.

    >>> unfold(Tensor([[[1.0, 2.0, 3.0]]]), (1, 2)).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    kernel, spread, around, step = _settings("unfold", kernel_size, dilation, padding, stride)

    def call(x: Tensor) -> Tensor:
        batch, channels, *lengths = x.shape
        size = tuple(length + 2 * more for length, more in zip(lengths, around, strict=True))
        places = _places("unfold", size, kernel, spread, step, x.device)
        padded = autograd.pad(x, [(0, 0), (0, 0), *((more, more) for more in around)]) if any(around) else x
        flat = autograd.reshape(padded, (batch, channels, math.prod(size)))
        columns = autograd.take(flat, Tensor(places), axis=2)
        return autograd.reshape(columns, (batch, channels * places.shape[0], places.shape[1]))

    result: Tensor = batched(input, 2, "unfold", call)
    return result


def fold(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """Columns as :func:`unfold` makes them added up to images of ``output_size``, summed where windows overlap.

    ``input`` is ``(batch, channels * elements of a window, windows)``, or without batch. ShapeError for another number
    of windows.

    >>> fold(Tensor([[1.0, 2.0], [2.0, 3.0]]), (1, 3), (1, 2)).tolist()
    [[[1.0, 4.0, 3.0]]]
    """
    kernel, spread, around, step = _settings("fold", kernel_size, dilation, padding, stride)
    lengths = tuple_of(output_size, 2, "fold: output_size")
    size = tuple(length + 2 * more for length, more in zip(lengths, around, strict=True))
    places = _places("fold", size, kernel, spread, step, input.device)
    elements, windows = places.shape

    def call(x: Tensor) -> Tensor:
        batch, rows, columns = x.shape
        if rows % elements or columns != windows:
            raise nd.ShapeError(
                f"fold: columns of shape {input.shape}; for windows of {kernel} in {lengths} there are {windows}, each "
                f"with a multiple of {elements} elements"
            )
        channels = rows // elements
        blank = Tensor(nd.zeros((batch, channels, math.prod(size)), dtype=x.dtype, device=x.device))
        flat = autograd.reshape(x, (batch, channels, elements * windows))
        summed = autograd.scatter_add(blank, Tensor(places.reshape(elements * windows)), flat, axis=2)
        image = autograd.reshape(summed, (batch, channels, *size))
        (top, left), (height, width) = around, lengths
        return image[:, :, top : top + height, left : left + width] if any(around) else image

    result: Tensor = batched(input, 1, "fold", call)
    return result
