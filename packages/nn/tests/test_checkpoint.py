"""Files of weights: whole or not at all, and damaged ones refused."""

import json
import os
import pickle
import resource
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.ndarray.atomic import atomic_write

DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def file_of(header: Any, content: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    path = tmp_path / "whole.safetensors"
    nn.save_file({"a": Tensor([[1.0, 2.0], [3.0, 4.0]]), "b": Tensor([5, 6])}, path)
    return path.read_bytes()


@given(shape=st.lists(st.integers(0, 3), max_size=3).map(tuple), dtype=st.sampled_from(DTYPES))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, shape: tuple[int, ...], dtype: str) -> None:
    path = tmp_path_factory.mktemp("weights") / "x.safetensors"
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    nn.save_file({"x": values}, path, {"note": "yes"})
    loaded = nn.load_file(path)["x"]
    assert loaded.dtype == getattr(nd, dtype)
    np.testing.assert_array_equal(loaded.numpy(), values)
    assert nn.load_metadata(path) == {"note": "yes"}


def test_views_devices_and_shared_tensors(tmp_path: Path) -> None:
    matrix = Tensor(np.arange(6.0).reshape(2, 3))
    nn.save_file({"a": matrix.T, "b": matrix.data[:, ::-2], "c": matrix, "d": matrix}, tmp_path / "x")
    loaded = nn.load_file(tmp_path / "x", device="numpy")
    assert loaded["a"].device == "numpy"
    np.testing.assert_array_equal(loaded["a"].numpy(), matrix.numpy().T)
    np.testing.assert_array_equal(loaded["b"].numpy(), matrix.numpy()[:, ::-2])
    loaded["c"].data[...] = 0
    np.testing.assert_array_equal(loaded["d"].numpy(), matrix.numpy())


def test_the_library_reads_what_we_write_and_the_reverse(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    values = {"w": np.arange(6, dtype="f4").reshape(2, 3), "flag": np.array([True, False])}
    nn.save_file(values, tmp_path / "ours")
    library.save_file(values, tmp_path / "theirs")
    for loaded in (library.load_file(tmp_path / "ours"), nn.load_file(tmp_path / "theirs")):
        for name, value in values.items():
            np.testing.assert_array_equal(np.asarray(loaded[name]), value)


def test_every_truncation_is_an_error(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "cut"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(nn.CheckpointError, match="cut is not a whole safetensors file"):
            nn.load_file(path)


HOSTILE = {
    "longer than it says": lambda whole: whole + b"x",
    "huge header": lambda whole: (2**60).to_bytes(8, "little") + whole[8:],
    "header of 99 MB that is not there": lambda whole: (99_000_000).to_bytes(8, "little") + whole[8:],
    "no JSON": lambda whole: file_of(b"not json at all", b""),
    "overlap": lambda whole: file_of(
        {
            "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
            "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
        },
        bytes(12),
    ),
    "inverted": lambda whole: file_of({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}, bytes(8)),
    "beyond the end": lambda whole: file_of({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, bytes(8)),
    "bytes unlike shape": lambda whole: file_of(
        {"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, bytes(8)
    ),
    "petabytes": lambda whole: file_of({"a": {"dtype": "F32", "shape": [2**50], "data_offsets": [0, 2**52]}}, bytes(8)),
    "overflow": lambda whole: file_of({"a": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}}, bytes(8)),
    "unknown dtype": lambda whole: file_of({"a": {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_are_refused_without_large_allocations(tmp_path: Path, whole: bytes, kind: str) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(HOSTILE[kind](whole))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(nn.CheckpointError):
        nn.load_file(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_dtype_that_treadle_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(file_of({"a": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}}, bytes(8)))
    with pytest.raises(nn.CheckpointError, match="tensor 'a' has dtype F8_E4M3; treadle loads F32"):
        nn.load_file(path)


def test_bool_bytes_become_true_or_false(tmp_path: Path) -> None:
    path = tmp_path / "flags"
    path.write_bytes(file_of({"a": {"dtype": "BOOL", "shape": [8], "data_offsets": [0, 8]}}, bytes([0, 1, 2, 255] * 2)))
    assert nn.load_file(path)["a"].data.astype(nd.uint8).tolist() == [0, 1, 1, 1] * 2


class Trap:
    """A pickle of it makes a flag file when it is loaded."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.flag),))


@pytest.mark.parametrize("suffix", ["safetensors", "pt", "pth", "pkl", "bin"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_never_loaded(tmp_path: Path, suffix: str, protocol: int) -> None:
    path, flag = tmp_path / f"model.{suffix}", tmp_path / "flag"
    path.write_bytes(pickle.dumps(Trap(flag), protocol=protocol))
    with pytest.raises(
        nn.CheckpointError, match="not loaded because that could run code" if protocol > 1 else "not a whole"
    ):
        nn.load_file(path)
    with pytest.raises(nn.CheckpointError):
        nn.load_metadata(path)
    assert not flag.exists()


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        nn.load_file(tmp_path / "absent")
    with pytest.raises(nn.CheckpointError, match="not a regular file"):
        nn.load_file(tmp_path)
    with pytest.raises(TypeError, match="name of a tensor"):
        nn.save_file({3: Tensor([1.0])}, tmp_path / "x")  # type: ignore[dict-item]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["weights"]


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(FileExistsError, match="no regular file"):
            nn.save_file({"x": Tensor([1.0])}, path)
    assert os.listdir(tmp_path) == ["pipe"]
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_a_write_replaces_and_keeps_the_permissions(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "weights"
    with atomic_write(path, make_folders=True) as file:
        file.write(b"one")
    path.chmod(0o640)
    with atomic_write(path, make_folders=True) as file:
        file.write(b"two")
        assert path.read_bytes() == b"one"
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["weights"]


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    with atomic_write(tmp_path / "ours") as file:
        file.write(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_permissions_are_right_from_the_start_without_touching_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The umask belongs to every thread, and the unfinished file must not be more open than the one it replaces."""
    path = tmp_path / "secret"
    path.write_bytes(b"")
    path.chmod(0o600)
    monkeypatch.delattr(os, "umask")
    with atomic_write(path) as file:
        file.write(b"new")
        (partial,) = tmp_path.glob(".secret.*.partial")
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_narrow_and_complex_dtypes(tmp_path: Path, dtype: str) -> None:
    values = nd.asarray([0.5, -2.0, 3.0]).astype(dtype)
    nn.save_file({"flag": np.array([True]), "x": values}, tmp_path / "x")
    for mapped in (False, True):
        loaded = nn.load_file(tmp_path / "x", mmap=mapped)
        assert loaded["x"].dtype.name == dtype
        assert nd.all(loaded["x"].data == values).item()
        assert list(loaded) == ["flag", "x"], "in the order in which they were saved"


def test_brain_floats_go_to_pytorch_and_back(tmp_path: Path, torch: Any) -> None:
    library = pytest.importorskip("safetensors.torch")
    values = torch.tensor([0.1, -3e38, 1e-30], dtype=torch.bfloat16)
    library.save_file({"x": values}, tmp_path / "theirs")
    loaded = nn.load_file(tmp_path / "theirs")["x"]
    assert loaded.dtype == nd.bfloat16
    nn.save_file({"x": loaded}, tmp_path / "ours")
    assert library.load_file(tmp_path / "ours")["x"].equal(values)


def test_mapped_tensors_take_no_memory_until_they_are_touched(tmp_path: Path) -> None:
    path = tmp_path / "large"
    nn.save_file({"x": np.zeros(40_000_000, "f4")}, path)
    before = resident()
    loaded = nn.load_file(path, mmap=True)["x"]
    assert resident() - before < 20_000_000
    assert loaded.data[-1].item() == 0.0


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_tensors_that_are_not_aligned_in_a_file(tmp_path: Path) -> None:
    """Other writers put them in any order."""
    header = {
        "flag": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]},
        "x": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
    }
    (tmp_path / "x").write_bytes(file_of(header, b"\1" + np.array([1.5, 2.5], "<f4").tobytes()))
    for mapped in (False, True):
        loaded = nn.load_file(tmp_path / "x", mmap=mapped)
        assert loaded["x"].numpy().tolist() == [1.5, 2.5]
        assert loaded["flag"].numpy().tolist() == [True]


STATES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(
            st.text(max_size=8) | st.sampled_from(["$array", "$pairs"]) | st.integers(), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(state=STATES)
def test_states_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, state: Any) -> None:
    path = tmp_path_factory.mktemp("state") / "x"
    nn.save_state(state, path)
    loaded = nn.load_state(path)
    assert loaded == state
    assert repr(loaded) == repr(state), "lists and tuples, ints and floats, and their order"


def test_states_hold_arrays_of_every_kind(tmp_path: Path) -> None:
    state = {0: Tensor([1.0]), "x": [nd.asarray([2], dtype="int8"), np.arange(3)], "nan": float("nan")}
    nn.save_state(state, tmp_path / "x")
    loaded = nn.load_state(tmp_path / "x")
    assert isinstance(loaded[0], Tensor)
    assert loaded["x"][0].dtype == nd.int8
    assert loaded["x"][1].tolist() == [0, 1, 2]
    assert loaded["nan"] != loaded["nan"]


def test_a_header_that_is_not_padded_leaves_tensors_at_odd_addresses(tmp_path: Path) -> None:
    content = np.arange(3, dtype="f8").tobytes()
    for pad in range(8):
        header = json.dumps({"x": {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}}).encode() + b" " * pad
        (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + content)
        for mmap in (False, True):
            assert nn.load_file(tmp_path / "x", mmap=mmap)["x"].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("shape", [[0, 1 << 62, 1 << 62], [1] * 1000])
def test_shapes_that_no_array_has(tmp_path: Path, shape: list[int]) -> None:
    size = 4 if shape[0] else 0
    content = file_of({"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}, bytes(size))
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(nn.CheckpointError, match="impossible shape"):
        nn.load_file(tmp_path / "x")


def test_every_changed_byte_of_a_state_is_noticed(tmp_path: Path) -> None:
    nn.save_state({"lr": 0.125, "step": 17, "m": nd.asarray([[1.0, 2.0, 3.0]])}, tmp_path / "run")
    whole = (tmp_path / "run").read_bytes()
    for place in range(len(whole)):
        for bit in (1, 4):
            damaged = bytearray(whole)
            damaged[place] ^= bit
            (tmp_path / "run").write_bytes(damaged)
            try:
                state = nn.load_state(tmp_path / "run")
            except nn.CheckpointError:
                continue
            # JSON has blanks that mean nothing
            assert (state["lr"], state["step"], state["m"].tolist()) == (0.125, 17, [[1.0, 2.0, 3.0]]), place


def test_what_is_no_mapping_of_names() -> None:
    with pytest.raises(TypeError, match="mapping of names to tensors, not a str"):
        nn.save_file("x", "nowhere")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="surrogate"):
        nn.save_file({"\ud800": Tensor([1.0])}, "nowhere")
