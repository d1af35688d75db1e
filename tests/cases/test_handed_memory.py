"""Faults in memory that is shared with others, reported to other array libraries: each must come out right here.

The source of each is named in its test; the expected behaviour comes from NumPy, DLPack or the buffer protocol.
"""

import array
import ctypes
import gc
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd

FORKED = """
import os
import treadle.ndarray as nd
nd.set_num_threads(2)
a = nd.random.Generator(0).normal(shape=(400, 400))
expected = (a @ a).tolist()
child = os.fork()
if child == 0:
    os._exit(0 if (a @ a).tolist() == expected else 1)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_child_computes_after_a_parallel_product() -> None:
    """pytorch/pytorch#45198, april-org/april-ann#173"""
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "0", done.stderr


def test_every_export_outlives_the_array() -> None:
    """metatensor/metatensor#1008, numpy/numpy#19083"""
    x = nd.arange(1000, dtype="float64")
    exported: list[Any] = [np.from_dlpack(x), memoryview(x), x.T.numpy(), nd.from_dlpack(x), memoryview(x[::-1])[::-1]]
    del x
    gc.collect()
    nd.empty_cache()
    others = [nd.full(1000, 7.0, dtype="float64") for _ in range(20)]
    for each in exported:
        assert np.asarray(each).tolist() == list(range(1000))
    assert len(others) == 20


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_unconsumed_capsules_free_their_export(version: Any) -> None:
    """metatensor/metatensor#1008: the capsule's destructor frees what nobody took; the deleter runs once."""
    gc.collect()
    before = nd.memory_statistics()["blocks"]
    x = nd.ones(100)
    capsule = x.__dlpack__(max_version=version)
    del x
    assert nd.memory_statistics()["blocks"] == before + 1
    del capsule
    assert nd.memory_statistics()["blocks"] == before


def test_a_capsule_is_consumed_once() -> None:
    class Exporter:
        def __init__(self, x: nd.NDArray) -> None:
            self.capsule = x.__dlpack__(max_version=(1, 0))

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **keywords: Any) -> object:
            return self.capsule

    gc.collect()
    before = nd.memory_statistics()["blocks"]
    exporter = Exporter(nd.arange(5))
    first = nd.from_dlpack(exporter)
    with pytest.raises(BufferError, match="consumed"):
        nd.from_dlpack(exporter)
    assert first.tolist() == [0, 1, 2, 3, 4]
    del first, exporter
    assert nd.memory_statistics()["blocks"] == before


def test_owners_cannot_resize_what_is_shared() -> None:
    """numpy/numpy#19083: resizing or closing while exported."""
    owner = bytearray(32)
    x = nd.frombuffer(owner, dtype="float64")
    with pytest.raises(BufferError):
        owner.extend(b"12345678")
    numbers = array.array("i", [1, 2, 3])
    y = nd.asarray(numbers)
    with pytest.raises(BufferError):
        numbers.append(4)
    mapped = mmap.mmap(-1, 4096)
    z = nd.frombuffer(mapped, dtype="uint8")
    with pytest.raises(BufferError):
        mapped.close()
    del x, y, z
    gc.collect()
    owner.extend(b"1")
    numbers.append(4)
    mapped.close()


@pytest.mark.parametrize("view", [slice(None), slice(None, None, -1), slice(1, None, 2)])
def test_read_only_sources_stay_as_they_are(view: slice) -> None:
    """pytorch/pytorch#5442: bytes, frozen arrays, read-only maps and DLPack's flag."""
    frozen = np.arange(6.0)
    frozen.flags.writeable = False
    for x in (nd.asarray(frozen)[view], nd.from_dlpack(frozen)[view], nd.frombuffer(bytes(48), dtype="float64")[view]):
        assert x.readonly
        before = x.tolist()
        for write in (
            lambda x=x: x.__iadd__(1),
            lambda x=x: x.__setitem__(0, 5.0),
            lambda x=x: x.__setitem__(x > -1, 5.0),
            lambda x=x: x.fill(1.0),
            lambda x=x: nd.exp(x, out=x),
            lambda x=x: nd.put_along_axis(x, nd.asarray([0]), 1.0),
        ):
            with pytest.raises(nd.BufferReadOnlyError):
                write()
        assert x.tolist() == before
        assert memoryview(x).readonly and not x.numpy().flags.writeable
        assert not (x + 1).readonly and not x.copy().readonly


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8"])
def test_the_other_byte_order(dtype: str) -> None:
    """safetensors/safetensors#75: values, 0-d, empty, strided and multi-dimensional."""
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    foreign = values.astype(values.dtype.newbyteorder(">"))
    for index in ((), (slice(None, None, -1),), (Ellipsis, slice(1, None, 2)), (0, 1, 2), (slice(0, 0),)):
        part: Any = np.asarray(foreign[index])
        x = nd.asarray(part)
        assert x.dtype == values.dtype.name and x.tolist() == part.tolist()
    x = nd.asarray(foreign, copy=True)
    x[...] = 0
    assert foreign.tolist() == values.tolist()
    with pytest.raises(ValueError, match="copy"):
        nd.asarray(foreign, copy=False)


@pytest.mark.parametrize(
    "foreign",
    [np.array([1, "a"], object), np.array(["a"]), np.array([b"a"]), np.zeros(2, "M8[s]"), np.zeros(2, "m8[s]"),
     np.zeros(2, [("a", "i4")]), np.zeros(2, np.longdouble), np.zeros(2, "V5")],
    ids=lambda each: str(each.dtype),
)  # fmt: skip
def test_dtypes_without_a_counterpart_are_refused(foreign: Any) -> None:
    with pytest.raises(nd.DTypeError, match="asarray"):
        nd.asarray(foreign)


def test_overlapping_and_empty_foreign_strides() -> None:
    base = np.arange(10, dtype=np.int32)
    windows = np.lib.stride_tricks.sliding_window_view(base, 4)
    assert nd.asarray(windows).tolist() == windows.tolist()
    assert nd.asarray(np.broadcast_to(base[:1], (3, 4))).tolist() == [[0] * 4] * 3
    for empty in (base[:0], np.zeros((3, 0)), np.zeros((0, 4))[::-1], np.zeros((2, 0, 3)).T):
        assert nd.asarray(empty).shape == empty.shape


RAW = [2, 255, 0, 1, 128]
TRUE = [True, True, False, True, True]


class TestBooleansOfOtherBytes:
    """A byte of a foreign bool that is neither 0 nor 1 is true, or refused; never 2 in a sum."""

    def check(self, x: nd.NDArray) -> None:
        assert x.dtype is nd.bool and x.tolist() == TRUE
        assert nd.sum(x).item() == 4
        assert x.astype("int64").tolist() == [1, 1, 0, 1, 1]
        assert (x == nd.asarray(TRUE)).tolist() == [True] * 5
        assert (x & True).tolist() == TRUE and (x ^ x).tolist() == [False] * 5
        assert nd.sort(x).numpy().view("u1").tolist() == [0, 1, 1, 1, 1]

    def test_asarray_and_dlpack(self) -> None:
        foreign = np.array(RAW, "u1").view(bool)
        self.check(nd.asarray(foreign))
        self.check(nd.from_dlpack(foreign))
        self.check(nd.from_dlpack(foreign[::-1])[::-1])
        self.check(nd.asarray((ctypes.c_bool * 5).from_buffer(bytearray(RAW))))
        with pytest.raises(ValueError, match="0 or 1"):
            nd.from_dlpack(foreign, copy=False)
        sound = np.array([True, False])
        assert nd.from_dlpack(sound, copy=False).data_pointer == sound.ctypes.data

    def test_frombuffer(self) -> None:
        for buffer in (bytes(RAW), bytearray(RAW)):
            with pytest.raises(ValueError, match="neither 0 nor 1"):
                nd.frombuffer(buffer, dtype="bool")
            assert nd.frombuffer(buffer, dtype="bool", offset=2, count=2).tolist() == [False, True]
            self.check(nd.frombuffer(buffer, dtype="uint8") != 0)

    def test_files(self, tmp_path: Path) -> None:
        path = str(tmp_path / "x.npy")
        np.save(path, np.array(RAW, "u1").view(bool))
        for mode in (None, "r", "c"):
            with pytest.raises(nd.FileFormatError, match="neither 0 nor 1"):
                nd.load(path, mmap_mode=mode)
        np.save(path, np.array(TRUE))
        assert nd.load(path, mmap_mode="r").tolist() == TRUE


@pytest.mark.parametrize("shape", [(1,) * 33, (2**62, 0), (0, 2**63), (2**40, 2**40), (2**62,), (0, 2**40, 2**40)])
def test_files_of_impossible_shapes(shape: tuple[int, ...], tmp_path: Path) -> None:
    """osaurus-ai/vmlx-swift#217: a damaged file is an error of the file, before any memory is asked for."""
    import io
    import zipfile

    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("x.npy", data)
    path = tmp_path / "x.npy"
    path.write_bytes(data)
    peak = nd.memory_statistics()["peak"]
    loads: list[Callable[[], Any]] = [
        lambda: nd.load(io.BytesIO(data)),
        lambda: nd.load(io.BytesIO(archive.getvalue())),
        lambda: nd.load(path),
        lambda: nd.load(path, mmap_mode="r"),
    ]
    for load in loads:
        with pytest.raises(nd.FileFormatError):
            load()
    assert nd.memory_statistics()["peak"] == peak
