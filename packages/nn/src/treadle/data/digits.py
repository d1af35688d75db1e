"""The handwritten digits that come with the package."""

from importlib.resources import as_file, files
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data.dataset import TensorDataset
from treadle.data.errors import DataFileError
from treadle.data.idx import read_idx
from treadle.data.split import held_out

__all__ = ["Digits"]

_CLASSES = 10
_LARGEST_PIXEL = 16
_SHAPE = (1797, 8, 8)
_HELD_OUT = 0.2


class Digits(TensorDataset):
    """1797 images of handwritten digits, 8x8 pixels, and their labels: 1442 to train on, or 355 held out.

    Images are ``(n, 1, 8, 8)`` float32 with pixels from 0 to 1, labels ``(n,)`` int64. Held out is the fifth, tenth,
    fifteenth, ... image of each digit in the order of the file: a fifth of every class, rounded down, the same always.

    From E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998
    (CC BY 4.0); source and conversion are in ``files/README.md``.

    >>> images, labels = Digits(train=False).tensors
    >>> images.shape, labels.shape
    ((355, 1, 8, 8), (355,))
    """

    def __init__(self, train: bool = True, *, device: Any = None) -> None:
        images, labels = _read()
        held = held_out(labels.tolist(), _HELD_OUT)
        chosen = sorted(set(range(len(labels))) - set(held)) if train else held
        places = nd.asarray(chosen, dtype=nd.int64, device="cpu")
        target = nd.default_device() if device is None else device
        pixels = nd.take(images, places, axis=0).astype(nd.float32) / _LARGEST_PIXEL
        super().__init__(
            Tensor(pixels.reshape(len(chosen), 1, *_SHAPE[1:]).to_device(target)),
            Tensor(nd.take(labels, places, axis=0).astype(nd.int64).to_device(target)),
        )
        self.train = train


def _read() -> tuple[nd.NDArray, nd.NDArray]:
    folder = files("treadle.data").joinpath("files")
    arrays = []
    for name in ("digits-images-idx3-ubyte.gz", "digits-labels-idx1-ubyte.gz"):
        with as_file(folder.joinpath(name)) as path:
            arrays.append(read_idx(path))
    images, labels = arrays
    if images.shape != _SHAPE or labels.shape != _SHAPE[:1]:
        raise DataFileError(f"the digits have shapes {images.shape} and {labels.shape}, not {_SHAPE} and {_SHAPE[:1]}")
    if nd.max(images).item() > _LARGEST_PIXEL or nd.max(labels).item() >= _CLASSES:
        raise DataFileError("the digits hold pixels above 16 or labels above 9")
    return images, labels
