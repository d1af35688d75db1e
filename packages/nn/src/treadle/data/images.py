"""Data sets of images that lie in one array: MNIST, Fashion-MNIST, CIFAR-10, CIFAR-100."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data.dataset import Dataset
from treadle.data.download import download
from treadle.data.errors import DataFileError
from treadle.data.idx import read_idx

if TYPE_CHECKING:
    import tarfile

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageArrays"]

_Transform = Callable[[Any], Any]


class ImageArrays(Dataset):
    """Images ``data`` of shape (n, channels, height, width), uint8, and ``targets``, (n,) int64.

    Sample i is ``(transform(data[i]), target_transform(targets[i]))``; without transforms whole batches are fetched at
    once. ``ToArray`` of :mod:`treadle.data.transforms` makes float32 of the pixels.

    >>> images = ImageArrays(nd.zeros((2, 1, 4, 4), dtype="uint8"), nd.asarray([3, 5]))
    >>> image, label = images[1]
    >>> image.shape, label
    ((1, 4, 4), 5)
    """

    classes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        data: nd.NDArray,
        targets: nd.NDArray,
        transform: _Transform | None = None,
        target_transform: _Transform | None = None,
    ) -> None:
        if data.ndim != 4 or targets.shape != data.shape[:1]:
            raise nd.ShapeError(
                f"images {data.shape} must be (n, channels, height, width), labels {targets.shape} (n,)"
            )
        self.data, self.targets = data, targets
        self.transform, self.target_transform = transform, target_transform
        self._labels = targets.tolist()

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, label = self.data[index], self._labels[index]
        if self.transform is not None:
            image = self.transform(image)
        return image, label if self.target_transform is None else self.target_transform(label)

    def __len__(self) -> int:
        return len(self._labels)

    @property
    def fetch_batch(self) -> Callable[[nd.NDArray], tuple[Tensor, Tensor]]:
        """The rows at indices, one gather for images and labels each; AttributeError where there are transforms."""
        if self.transform is not None or self.target_transform is not None:
            raise AttributeError("samples are transformed one by one")
        return self._rows

    def _rows(self, indices: nd.NDArray) -> tuple[Tensor, Tensor]:
        return Tensor(nd.take(self.data, indices, axis=0)), Tensor(nd.take(self.targets, indices, axis=0))


def _checked(images: nd.NDArray, labels: nd.NDArray, classes: int, where: Any) -> None:
    if images.shape[0] != labels.shape[0]:
        raise DataFileError(f"{where}: {images.shape[0]} images, but {labels.shape[0]} labels")
    if labels.size and nd.max(labels).item() >= classes:
        raise DataFileError(f"{where}: label {nd.max(labels).item()} is not below {classes}, the number of classes")


# --- MNIST -----------------------------------------------------------------------------------------------------------
class MNIST(ImageArrays):
    """60000 images of handwritten digits to train on, or 10000 to test with: (1, 28, 28).

    Read from the four IDX files in ``root/MNIST/raw``, gzipped or not, or downloaded there. Y. LeCun, C. Cortes,
    C. Burges, "The MNIST database of handwritten digits".
    """

    classes = tuple("0123456789")
    mirror: ClassVar[str] = "https://ossci-datasets.s3.amazonaws.com/mnist/"
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
    }

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: _Transform | None = None,
        target_transform: _Transform | None = None,
        download: bool = False,
    ) -> None:
        self.root, self.train = Path(root), train
        part = "train" if train else "t10k"
        images = self._read(f"{part}-images-idx3-ubyte", download)
        labels = self._read(f"{part}-labels-idx1-ubyte", download)
        if images.ndim != 3 or labels.ndim != 1:
            raise DataFileError(f"{self._folder}: images of shape {images.shape} and labels of shape {labels.shape}")
        _checked(images, labels, len(self.classes), self._folder)
        super().__init__(images[:, None], labels.astype("int64"), transform, target_transform)

    @property
    def _folder(self) -> Path:
        return self.root / type(self).__name__ / "raw"

    def _read(self, name: str, fetch: bool) -> nd.NDArray:
        for path in (self._folder / name, self._folder / f"{name}.gz"):
            if path.exists():
                return read_idx(path)
        if not fetch:
            raise FileNotFoundError(f"{self._folder / name}(.gz) is not there; pass download=True to fetch it")
        packed = f"{name}.gz"
        return read_idx(download(self.mirror + packed, self._folder / packed, checksum=self.checksums[packed]))


class FashionMNIST(MNIST):
    """60000 images of clothes to train on, or 10000 to test with, in the files of MNIST.

    Read from ``root/FashionMNIST/raw``. H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST", 2017.
    """

    classes = (
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    )  # fmt: skip
    mirror = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
    }


# --- CIFAR -----------------------------------------------------------------------------------------------------------
class CIFAR10(ImageArrays):
    """50000 colour images in 10 classes to train on, or 10000 to test with: (3, 32, 32).

    Read from the binary version: the files in ``root/cifar-10-batches-bin``, or those inside
    ``root/cifar-10-binary.tar.gz``, which may be downloaded. Each record is a label and 3072 bytes: red, green, blue.
    A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
    """

    classes: ClassVar[tuple[str, ...]] = (
        "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
    )  # fmt: skip
    url: ClassVar[str] = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
    checksum: ClassVar[str] = "md5:c32a1d4ab5d03f1284b67883e8d87530"
    folder: ClassVar[str] = "cifar-10-batches-bin"
    files: ClassVar[dict[bool, tuple[str, ...]]] = {
        True: tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
        False: ("test_batch.bin",),
    }
    label_bytes: ClassVar[int] = 1
    """How many labels a record has; the last of them counts."""
    class_count: ClassVar[int] = 10

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: _Transform | None = None,
        target_transform: _Transform | None = None,
        download: bool = False,
    ) -> None:
        self.root, self.train = Path(root), train
        records = nd.concat([self._records(name, content) for name, content in self._contents(download)], axis=0)
        labels = records[:, self.label_bytes - 1].astype("int64")
        images = records[:, self.label_bytes :].reshape(len(records), 3, 32, 32)
        _checked(images, labels, self.class_count, self.root)
        super().__init__(images, labels, transform, target_transform)

    def _contents(self, fetch: bool) -> list[tuple[str, bytes]]:
        names = self.files[self.train]
        place = self.root / self.folder
        if place.is_dir():
            return [(str(place / name), (place / name).read_bytes()) for name in names]
        archive = self.root / self.url.rpartition("/")[2]
        if fetch:
            download(self.url, archive, checksum=self.checksum)
        if not archive.exists():
            raise FileNotFoundError(f"neither {place} nor {archive} is there; pass download=True to fetch it")
        import tarfile

        try:
            with tarfile.open(archive) as opened:
                return [(name, self._member(opened, name)) for name in names]
        except (tarfile.TarError, EOFError, OSError) as error:
            raise DataFileError(f"{archive} is damaged: {error}") from error

    def _member(self, archive: "tarfile.TarFile", name: str) -> bytes:
        try:
            file = archive.extractfile(f"{self.folder}/{name}")
        except KeyError:
            file = None
        if file is None:
            raise DataFileError(f"{archive.name!r} has no file {self.folder}/{name}")
        return file.read()

    def _records(self, name: str, content: bytes) -> nd.NDArray:
        length = self.label_bytes + 3072
        if not content or len(content) % length:
            raise DataFileError(f"{name} has {len(content)} bytes, which are no records of {length}")
        return nd.frombuffer(bytearray(content), dtype="uint8").reshape(-1, length)


class CIFAR100(CIFAR10):
    """50000 colour images in 100 classes to train on, or 10000 to test with: (3, 32, 32).

    Read from ``root/cifar-100-binary`` or ``root/cifar-100-binary.tar.gz``; a record has a coarse label before the fine
    one. The fine one counts.
    """

    classes = ()
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"
    checksum = "md5:03b5dce01913d631647c71ecec9e9cb8"
    folder = "cifar-100-binary"
    files: ClassVar[dict[bool, tuple[str, ...]]] = {True: ("train.bin",), False: ("test.bin",)}
    label_bytes = 2
    class_count = 100
