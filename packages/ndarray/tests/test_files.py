"""Arrays in .npy and .npz files: exchanged with NumPy, mapped, damaged, interrupted."""

import contextlib
import io
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import treadle.ndarray as nd
from treadle.ndarray import npy

DTYPES = [
    each.name for each in (nd.bool, nd.int8, nd.int16, nd.int32, nd.int64, nd.uint8, nd.uint16, nd.uint32, nd.uint64)
]
DTYPES += ["float32", "float64"]
SHAPES = [(), (0,), (1,), (7,), (2, 3), (3, 0, 2), (2, 1, 4)]

each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def values(dtype: str, shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape))
    return (np.arange(count) % (2 if dtype == "bool" else 100)).astype(dtype).reshape(shape)


def written(x: nd.NDArray) -> bytes:
    file = io.BytesIO()
    nd.save(file, x)
    return file.getvalue()


@each_dtype
@pytest.mark.parametrize("shape", SHAPES)
def test_numpy_reads_ours(dtype: str, shape: tuple[int, ...]) -> None:
    source = values(dtype, shape)
    data = written(nd.asarray(source))
    read = np.load(io.BytesIO(data), allow_pickle=False)
    assert (read.dtype, read.shape) == (source.dtype, shape)
    np.testing.assert_array_equal(read, source)
    reference = io.BytesIO()
    np.save(reference, source)
    assert data == reference.getvalue()


@each_dtype
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("endian", ["<", ">"])
def test_we_read_numpys(dtype: str, shape: tuple[int, ...], version: tuple[int, int], order: Any, endian: Any) -> None:
    source = values(dtype, shape)
    foreign = np.asarray(source.astype(source.dtype.newbyteorder(endian)), order=order)
    file = io.BytesIO()
    np.lib.format.write_array(file, foreign, version=version, allow_pickle=False)
    file.seek(0)
    read = nd.load(file)
    assert (read.dtype.name, read.shape) == (dtype, shape)
    assert not read.readonly
    np.testing.assert_array_equal(read.numpy(), source)


def test_layouts_are_written_as_numpy_does() -> None:
    x = nd.arange(24).reshape(2, 3, 4)
    for view in (x, x.T, x[:, ::2], x[::-1], x.transpose(1, 0, 2), nd.broadcast_to(x[:1], (3, 3, 4))):
        data = written(view)
        np.testing.assert_array_equal(np.load(io.BytesIO(data)), view.numpy())
        assert nd.load(io.BytesIO(data)).tolist() == view.tolist()
    assert b"'fortran_order': True" in written(x.T)
    assert nd.load(io.BytesIO(written(x.T))).T.is_contiguous


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_devices(device: str) -> None:
    x = nd.asarray([1.0, 2.0], device=device)
    assert nd.load(io.BytesIO(written(x)), device=device).device == device
    with nd.use_device(device):
        assert nd.load(io.BytesIO(written(x))).device == device


def test_several_arrays_in_one_open_file() -> None:
    file = io.BytesIO()
    nd.save(file, nd.arange(3))
    np.save(file, np.ones(2))
    file.seek(0)
    assert nd.load(file).tolist() == [0, 1, 2]
    assert nd.load(file).tolist() == [1, 1]
    with pytest.raises(nd.FileFormatError, match="ends"):
        nd.load(file)


class Pipe(io.RawIOBase):
    """Gives few bytes at a time and cannot tell how many there are."""

    def __init__(self, data: bytes) -> None:
        self.data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        part = self.data.read(min(len(target), 7))
        target[: len(part)] = part
        return len(part)


def test_a_pipe() -> None:
    data = written(nd.arange(100))
    assert nd.load(Pipe(data)).tolist() == list(range(100))  # type: ignore[arg-type]
    with pytest.raises(nd.FileFormatError, match="ends too early"):
        nd.load(Pipe(data[:-1]))  # type: ignore[arg-type]


# --- paths ------------------------------------------------------------------------------------------------------------
def test_paths(tmp_path: Path) -> None:
    x = nd.asarray([[1.0, 2.0]])
    nd.save(tmp_path / "a", x)
    nd.save(str(tmp_path / "b.npy"), x)
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy"]
    assert nd.load(tmp_path / "a.npy").tolist() == np.load(tmp_path / "b.npy").tolist() == [[1, 2]]
    with pytest.raises(FileNotFoundError):
        nd.load(tmp_path / "c.npy")
    with pytest.raises(FileNotFoundError):
        nd.save(tmp_path / "missing" / "c.npy", x)


def test_writing_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npy"
    nd.save(path, nd.arange(3))
    before = path.read_bytes()

    def fail(*arguments: Any) -> None:
        raise OSError("disk full")

    for name in ("elements", "header_bytes"):
        with monkeypatch.context() as patch:
            patch.setattr(npy, name, fail)
            with pytest.raises(OSError, match="disk full"):
                nd.save(path, nd.zeros(1000))
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="disk full"):
                nd.savez(path.with_suffix(".npz"), nd.zeros(1000))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.npy"]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "x.npy", tmp_path / "link.npy"
    nd.save(path, nd.arange(3))
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    link.symlink_to(path)
    nd.save(link, nd.arange(4))
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert nd.load(path).shape == (4,)


# --- archives ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("save", [nd.savez, nd.savez_compressed])
def test_archives_for_numpy(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "x", nd.arange(3), nd.ones((2, 2)), bias=nd.asarray(True), file=nd.zeros(0))
    with np.load(tmp_path / "x.npz") as read:
        assert sorted(read) == ["arr_0", "arr_1", "bias", "file"]
        assert read["arr_0"].tolist() == [0, 1, 2]
        assert read["bias"].shape == ()
    ours = nd.load(tmp_path / "x.npz")
    assert {name: each.tolist() for name, each in ours.items()} == {
        "arr_0": [0, 1, 2],
        "arr_1": [[1, 1], [1, 1]],
        "bias": True,
        "file": [],
    }
    first, second = io.BytesIO(), io.BytesIO()
    save(first, nd.arange(3))
    save(second, nd.arange(3))
    assert first.getvalue() == second.getvalue()
    with pytest.raises(ValueError, match="arr_0"):
        save(io.BytesIO(), nd.ones(1), arr_0=nd.ones(1))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_numpy(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "x.npz", np.arange(6.0).reshape(2, 3).T, name=np.arange(3, dtype=">i2"))
    read = nd.load(tmp_path / "x.npz")
    assert read["arr_0"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert read["name"].tolist() == [0, 1, 2]
    assert read["name"].dtype == "int16"


def test_an_empty_archive() -> None:
    file = io.BytesIO()
    nd.savez(file)
    assert nd.load(io.BytesIO(file.getvalue())) == {}


# --- mapped -----------------------------------------------------------------------------------------------------------
@each_dtype
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", SHAPES)
def test_mapped_read_only(tmp_path: Path, dtype: str, order: Any, shape: tuple[int, ...]) -> None:
    source = np.asarray(values(dtype, shape), order=order)
    np.save(tmp_path / "x.npy", source)
    x = nd.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(x.numpy(), source)
    assert (x.shape, x.dtype.name) == (shape, dtype)
    if x.size:
        with pytest.raises(nd.BufferReadOnlyError):
            x[...] = 0


def test_mapped_changes(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    nd.save(path, nd.arange(6).reshape(2, 3))
    private = nd.load(path, mmap_mode="c")
    private[0] = 7
    assert private.tolist() == [[7, 7, 7], [3, 4, 5]]
    assert np.load(path).tolist() == [[0, 1, 2], [3, 4, 5]]
    shared = nd.load(path, mmap_mode="r+")
    shared[1] = 9
    row = shared[1]
    del shared
    assert np.load(path).tolist() == [[0, 1, 2], [9, 9, 9]]
    assert row.tolist() == [9, 9, 9]


def test_what_cannot_be_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", np.arange(3, dtype=">i4"))
    with pytest.raises(ValueError, match="big-endian"):
        nd.load(tmp_path / "big.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="path"):
        nd.load(io.BytesIO(), mmap_mode="r")
    with pytest.raises(ValueError, match="mmap_mode"):
        nd.load(tmp_path / "big.npy", mmap_mode="w+")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="numpy"):
        nd.load(tmp_path / "big.npy", mmap_mode="r", device="numpy")
    data = written(nd.arange(3))
    for cut in (8, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.npy").write_bytes(data[:cut])
        with pytest.raises(nd.FileFormatError):
            nd.load(tmp_path / "cut.npy", mmap_mode="r")


# --- damage -----------------------------------------------------------------------------------------------------------
def header(text: str, version: int = 1, payload: bytes = b"\0" * 64, length: int | None = None) -> bytes:
    body = text.encode("latin1") + b"\n"
    size = len(body) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + size.to_bytes(2 if version == 1 else 4, "little") + body + payload


def test_cut_at_any_byte(tmp_path: Path) -> None:
    archive = io.BytesIO()
    nd.savez(archive, nd.arange(3), b=nd.ones((2, 2)))
    packed = io.BytesIO()
    nd.savez_compressed(packed, nd.arange(30))
    for data in (written(nd.arange(5)), archive.getvalue(), packed.getvalue()):
        for cut in range(len(data)):
            with pytest.raises(nd.FileFormatError):
                nd.load(io.BytesIO(data[:cut]))
        path = tmp_path / "x"
        path.write_bytes(data + b"\0")
        if data.startswith(b"\x93"):
            with pytest.raises(nd.FileFormatError, match="1 bytes follow"):
                nd.load(path)


LIES = {
    "another magic": b"\x93NUMPX" + header("{}")[6:],
    "version 4": header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 4),
    "no dictionary": header("[1, 2]"),
    "code": header("__import__('os').getcwd()"),
    "an operator": header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,) * 3, }"),
    "brackets without end": header("(" * 5000),
    "a missing key": header("{'descr': '<f4', 'shape': (2,), }"),
    "a key too many": header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}"),
    "order as a number": header("{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }"),
    "shape as a list": header("{'descr': '<f4', 'fortran_order': False, 'shape': [2], }"),
    "shape as a number": header("{'descr': '<f4', 'fortran_order': False, 'shape': 2, }"),
    "a negative length": header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"),
    "a length that is a float": header("{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,), }"),
    "a length that is a bool": header("{'descr': '<f4', 'fortran_order': False, 'shape': (True,), }"),
    "huge": header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**12},), }}"),
    "huge lengths": header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**40}, {2**40}), }}"),
    "huge and empty": header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': (0, {2**40}, {2**40}), }}"),
    "an integer of 5000 digits": header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'9' * 5000},), }}"),
    "too many dimensions": header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {(1,) * 33}, }}"),
    "a header that is too long": header("{'descr': '<f4'}", 2, length=2**32 - 1),
    "a header past the end": header("{'descr': '<f4'}", length=2**16 - 1),
    "one element too many": header("{'descr': '<f4', 'fortran_order': False, 'shape': (17,), }"),
    "a bool of 2": header("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", payload=b"\1\2"),
    "bytes that are no text": b"\x93NUMPY\x03\x00\x04\x00\x00\x00\xff\xfe\xfd\n",
}


@pytest.mark.parametrize("lie", LIES)
def test_lies(tmp_path: Path, lie: str) -> None:
    before = nd.memory_statistics()
    with pytest.raises(nd.FileFormatError):
        nd.load(io.BytesIO(LIES[lie]))
    (tmp_path / "x.npy").write_bytes(LIES[lie])
    with pytest.raises(nd.FileFormatError, match=r"x\.npy"):
        nd.load(tmp_path / "x.npy")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("x.npy", LIES[lie])
    with pytest.raises(nd.FileFormatError):
        nd.load(io.BytesIO(archive.getvalue()))
    after = nd.memory_statistics()
    assert after["in_use"] == before["in_use"]
    assert after["peak"] - before["peak"] < 10**6


@pytest.mark.parametrize(
    "descr", ["'<f3'", "'<U4'", "'|S3'", "'<M8[ns]'", "'f4'", "''", "4", "[('a', '<f4')]", "'|V2'", "None"]
)
def test_elements_without_a_dtype_here(descr: str) -> None:
    with pytest.raises(nd.DTypeError, match="elements of type"):
        nd.load(io.BytesIO(header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}")))


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "exploded"),)

    np.save(tmp_path / "x.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", np.array([Bomb()], dtype=object))
    for name in ("x.npy", "x.npz"):
        with pytest.raises(nd.DTypeError, match="unpickled"):
            nd.load(tmp_path / name)
    assert not (tmp_path / "exploded").exists()


def test_damaged_archives() -> None:
    def archive(*members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", compression) as opened:
            for name, data in members:
                opened.writestr(name, data)
        return file.getvalue()

    data = written(nd.arange(50))
    for bad in (
        archive(("readme.txt", b"hello")),
        archive(("x.npy", data + b"\0")),
        archive(("x.npy", data[:-1])),
        archive(("x.npy", data), compression=zipfile.ZIP_DEFLATED).replace(b"PK\1\2", b"PK\1\3"),
    ):
        with pytest.raises(nd.FileFormatError):
            nd.load(io.BytesIO(bad))
    sound = bytearray(archive(("x.npy", data)))
    sound[sound.index(data) + 200] ^= 1
    with pytest.raises(nd.FileFormatError, match="CRC"):
        nd.load(io.BytesIO(bytes(sound)))


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["npy", "npz", "deflated"]), st.integers(0, 10**6), st.integers(0, 255))
def test_any_changed_byte_is_an_error_or_harmless(kind: str, at: int, value: int) -> None:
    file = io.BytesIO()
    {"npy": nd.save, "npz": nd.savez, "deflated": nd.savez_compressed}[kind](file, nd.arange(20))
    data = bytearray(file.getvalue())
    data[at % len(data)] = value
    with contextlib.suppress(nd.FileFormatError, nd.DTypeError):
        nd.load(io.BytesIO(bytes(data)))


@settings(deadline=None, max_examples=100)
@given(
    hnp.arrays(st.sampled_from(DTYPES).map(np.dtype), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
def test_round_trip(source: Any) -> None:
    ours = nd.load(io.BytesIO(written(nd.asarray(source, copy=True))))
    assert ours.numpy().tobytes() == source.tobytes()
    assert ours.shape == source.shape
