"""The digits that come with the package, and the format they are stored in."""

import gzip
import hashlib
import struct
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle.ndarray as nd
from treadle.data import DataFileError, Digits, read_idx

FOLDER = files("treadle.data").joinpath("files")
HASHES = {
    "digits-images-idx3-ubyte": "359cd13f0f514122884198b78a131df597421cbf5e93a76678fa96fc548f0d96",
    "digits-labels-idx1-ubyte": "ce71631c1f31ce56fa54f31d1d498fafacff59b001e6c30c4a5e29508aa277ad",
}
# The class counts that the data set's description in the UCI repository states.
COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
# The first image, as the source's first line has it.
FIRST = [
    [0, 0, 5, 13, 9, 1, 0, 0],
    [0, 0, 13, 15, 10, 15, 5, 0],
    [0, 3, 15, 2, 0, 11, 8, 0],
    [0, 4, 12, 0, 0, 8, 8, 0],
    [0, 5, 8, 0, 0, 9, 8, 0],
    [0, 4, 11, 0, 1, 12, 7, 0],
    [0, 2, 14, 5, 10, 12, 0, 0],
    [0, 0, 6, 13, 10, 0, 0, 0],
]


@pytest.mark.parametrize("name", HASHES)
def test_the_files_are_those_that_the_readme_names(name: str) -> None:
    content = gzip.decompress(FOLDER.joinpath(f"{name}.gz").read_bytes())
    assert hashlib.sha256(content).hexdigest() == HASHES[name]
    assert HASHES[name] in FOLDER.joinpath("README.md").read_text()


def test_the_split_is_stratified_and_whole(device: Any) -> None:
    train, held = Digits(train=True), Digits(train=False)
    for part in (train, held):
        images, labels = part.tensors
        assert images.shape == (len(part), 1, 8, 8)
        assert images.dtype == nd.float32
        assert labels.dtype == nd.int64
        assert images.device == labels.device == device
        assert 0.0 <= images.numpy().min() < images.numpy().max() == 1.0
    counts = [np.bincount(part.tensors[1].numpy(), minlength=10) for part in (train, held)]
    assert (counts[0] + counts[1]).tolist() == COUNTS
    assert counts[1].tolist() == [count // 5 for count in COUNTS]
    np.testing.assert_array_equal(train[0][0].numpy()[0], np.array(FIRST, "f4") / 16)
    assert train[0][1].item() == 0


def test_held_out_is_each_fifth_image_of_a_digit() -> None:
    images, labels = (read_idx(FOLDER.joinpath(f"{name}.gz")).numpy() for name in HASHES)
    zeros = images[labels == 0]
    held_images, held_labels = (tensor.numpy() for tensor in Digits(train=False).tensors)
    np.testing.assert_array_equal(held_images[held_labels == 0][:, 0] * 16, zeros[4::5])


def idx(shape: tuple[int, ...], content: bytes, kind: int = 8) -> bytes:
    return bytes((0, 0, kind, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + content


@given(shape=st.lists(st.integers(0, 5), max_size=4).map(tuple), packed=st.booleans())
def test_idx_files_are_read(tmp_path_factory: pytest.TempPathFactory, shape: tuple[int, ...], packed: bool) -> None:
    values = np.arange(np.prod(shape), dtype="u1").reshape(shape)
    content = idx(shape, values.tobytes())
    path = tmp_path_factory.mktemp("idx") / "values"
    path.write_bytes(gzip.compress(content) if packed else content)
    result = read_idx(path)
    assert result.dtype == nd.uint8
    np.testing.assert_array_equal(result.numpy(), values)


WHOLE = idx((2, 3), b"abcdef")


@pytest.mark.parametrize(
    "content",
    [
        *(WHOLE[:size] for size in range(len(WHOLE))),
        WHOLE + b"x",
        idx((2, 3), b"abcdef", kind=0x0D),
        idx((2**31, 2**31, 2**31), b""),
        b"\x80\x04" + WHOLE,
        gzip.compress(WHOLE)[:-1],
        gzip.compress(WHOLE)[:15],
        gzip.compress(WHOLE) + b"x",
        b"\x1f\x8b" + WHOLE,
    ],
)
def test_damaged_idx_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match="damaged"):
        read_idx(path)
