"""Images in folders, a folder for each class; needs Pillow, the extra ``treadle-nn[images]``."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.data.dataset import Dataset
from treadle.data.errors import DataFileError

__all__ = ["ImageFolder", "read_image"]

_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def read_image(path: str | os.PathLike[str], mode: str = "RGB") -> nd.NDArray:
    """An image file as uint8, (channels, height, width), on the cpu; ``mode`` is Pillow's: RGB, L (grey), RGBA.

    A file that is damaged or no image is a DataFileError; without Pillow, ImportError names the extra.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("images are read with Pillow: install the extra treadle-nn[images]") from error
    try:
        with Image.open(path) as opened:
            image = opened.convert(mode)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataFileError(f"{os.fspath(path)} cannot be read as an image: {error}") from error
    width, height = image.size
    pixels = nd.frombuffer(bytearray(image.tobytes()), dtype="uint8")
    return nd.permute_dims(pixels.reshape(height, width, -1), (2, 0, 1)).copy()


def _visible(folder: Path) -> Iterator[Path]:
    """What lies below a folder, but for names that begin with a dot: notes of editors and of the Finder."""
    found = folder.rglob("*")
    return (path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))


class ImageFolder(Dataset):
    """The images ``root/class/.../name.png``, with the number of their class; classes are sorted by name.

    Sample i is ``(transform(loader(path)), target_transform(label))``. ``samples`` has the paths and labels,
    ``class_to_idx`` the numbers of the classes. Folders and files whose names begin with a dot are passed over. A class
    without images is a DataFileError.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[Any], Any] = read_image,
        is_valid_file: Callable[[str], bool] | None = None,
        *,
        extensions: Sequence[str] = _EXTENSIONS,
    ) -> None:
        self.root = Path(root)
        self.transform, self.target_transform, self.loader = transform, target_transform, loader
        self.classes = sorted(
            entry.name for entry in os.scandir(self.root) if entry.is_dir() and not entry.name.startswith(".")
        )
        if not self.classes:
            raise DataFileError(f"{self.root} has no folders, which would be the classes")
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        accepts = is_valid_file or (lambda path: path.lower().endswith(tuple(extensions)))
        self.samples: list[tuple[str, int]] = []
        for name, number in self.class_to_idx.items():
            found = sorted(str(path) for path in _visible(self.root / name) if path.is_file() and accepts(str(path)))
            if not found:
                raise DataFileError(f"{self.root / name} has no image ({', '.join(extensions)})")
            self.samples += [(path, number) for path in found]
        self.targets = [label for _, label in self.samples]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self.samples[index]
        image = self.loader(path)
        if self.transform is not None:
            image = self.transform(image)
        return image, label if self.target_transform is None else self.target_transform(label)

    def __len__(self) -> int:
        return len(self.samples)
