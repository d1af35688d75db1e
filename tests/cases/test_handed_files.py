"""Faults in files of weights and runs reported to other libraries: each must come out right with every load function.

The source of each is named in its test.
"""

import json
import os
import pickle
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.optim import SGD


def trainer() -> nn.Trainer:
    model = nn.Linear(3, 2)
    return nn.Trainer(model, SGD(model.parameters(), lr=0.1, momentum=0.9), nn.MSELoss(), show_progress=False)


LOADERS: dict[str, Callable[[Path], Any]] = {
    "load_file": nn.load_file,
    "load_file mapped": lambda path: nn.load_file(path, mmap=True),
    "load_metadata": nn.load_metadata,
    "load_state": nn.load_state,
    "load_weights": lambda path: trainer().load_weights(path),
    "load_checkpoint": lambda path: trainer().load_checkpoint(path),
    "fit(resume)": lambda path: trainer().fit([(Tensor([[1.0, 2.0, 3.0]]), Tensor([[0.0, 1.0]]))], 1, resume=path),
}

each_loader = pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS.keys())


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    path = tmp_path / "whole.safetensors"
    trainer().save_checkpoint(path)
    return path.read_bytes()


def refused(load: Callable[[Path], Any], path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(nn.CheckpointError, match=path.name):
        load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024, "memory was taken for it"


@each_loader
def test_a_file_cut_short(tmp_path: Path, whole: bytes, load: Any) -> None:
    """osaurus-ai/vmlx-swift#217, ollama/ollama#17148"""
    path = tmp_path / "cut"
    for size in (0, 1, 7, 8, 9, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        refused(load, path)


def described(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


def file_of(header: Any, content: bytes = bytes(8)) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
HOSTILE = {
    "header beyond the file": (1 << 60).to_bytes(8, "little") + b"{}",
    "header of 99 MB": (99_000_000).to_bytes(8, "little") + b"{}" + bytes(64),
    "all ones": b"\xff" * 64,
    "not JSON": file_of(b"{nothing}"),
    "not UTF-8": file_of(b'{"\xff": 1}'),
    "no object": file_of([1, 2]),
    "deep": file_of(b"[" * 200_000),
    "a name twice": file_of(b'{"a":' + json.dumps(ENTRY).encode() + b',"a":' + json.dumps(ENTRY).encode() + b"}"),
    "overlap": file_of({"a": ENTRY, "b": {**ENTRY, "data_offsets": [4, 12]}}, bytes(12)),
    "gap": file_of({"a": ENTRY, "b": {**ENTRY, "data_offsets": [12, 20]}}, bytes(20)),
    "inverted": file_of(described(data_offsets=[8, 0])),
    "negative": file_of(described(data_offsets=[-8, 0])),
    "beyond the end": file_of(described(shape=[4], data_offsets=[0, 16])),
    "bytes after the last": file_of(described(), bytes(9)),
    "fewer bytes than the shape": file_of(described(shape=[3])),
    "product overflows": file_of(described(shape=[2**62, 4], data_offsets=[0, 0]), b""),
    "a dimension overflows": file_of(described(shape=[2**70, 0], data_offsets=[0, 0]), b""),
    "a negative dimension": file_of(described(shape=[-2, -1])),
    "a dimension of 5000 digits": file_of(b'{"a":{"dtype":"F32","data_offsets":[0,8],"shape":[' + b"9" * 5000 + b"]}}"),
    "a fraction": file_of(described(shape=[2.0])),
    "truth as a number": file_of(described(data_offsets=[False, 8])),
    "unknown dtype": file_of(described(dtype="F99", shape=[8])) + b"x",
    "no dtype": file_of({"a": {"shape": [2], "data_offsets": [0, 8]}}),
    "notes that are no strings": file_of({**described(), "__metadata__": {"x": 1}}),
}


@pytest.mark.parametrize("kind", HOSTILE)
@each_loader
def test_a_header_is_never_trusted(tmp_path: Path, kind: str, load: Any) -> None:
    """osaurus-ai/vmlx-swift#217, ollama/ollama#17148: every length is compared with the size of the file first."""
    path = tmp_path / "hostile"
    path.write_bytes(HOSTILE[kind])
    refused(load, path)


@each_loader
def test_a_header_longer_than_the_specification_allows(tmp_path: Path, load: Any) -> None:
    """A sibling: a file that is as long as its header says, and empty on the disk."""
    path = tmp_path / "sparse"
    length = 100_000_001
    with open(path, "wb") as file:
        file.write(length.to_bytes(8, "little"))
        file.truncate(8 + length)
    refused(load, path)


def test_a_changed_byte_of_a_run_is_noticed(tmp_path: Path, whole: bytes) -> None:
    """A sibling: a file of the right lengths with other contents."""
    path = tmp_path / "changed"
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in (header, len(whole) - 1):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(nn.CheckpointError, match="checksum"):
            nn.load_state(path)


@pytest.mark.parametrize(
    "tree", ['{"$array":"gone"}', '{"$pairs":[[[1],2]]}', '{"$tuple":3}', '{"$pairs":3}', "[" * 100_000, '{"format":1}']
)
def test_a_changed_tree_of_a_run_is_noticed(tmp_path: Path, tree: str) -> None:
    """A sibling: notes that name what is not there."""
    nn.save_file({}, tmp_path / "x", {"treadle_state": tree, "crc32": "0"})
    with pytest.raises((nn.CheckpointError, KeyError)) as caught:
        trainer().load_checkpoint(tmp_path / "x")
    assert caught.type is nn.CheckpointError


class Trap:
    """A pickle of it makes a folder when it is loaded."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.flag),)


@pytest.mark.parametrize("suffix", ["safetensors", "pt", "pth", "pkl", "bin", "ckpt", "npz"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
@each_loader
def test_nothing_in_a_file_is_run(tmp_path: Path, suffix: str, protocol: int, load: Any) -> None:
    """google/gemma_pytorch#1"""
    path, flag = tmp_path / f"model.{suffix}", tmp_path / "flag"
    content = pickle.dumps(Trap(flag), protocol=protocol)
    path.write_bytes(content)
    refused(load, path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)
    refused(load, path)
    assert not flag.exists()


def test_no_file_is_lost(tmp_path: Path) -> None:
    """Siblings: a write that fails, a name that is a link, a name that the format keeps for itself."""
    path, link = tmp_path / "weights", tmp_path / "link"
    nn.save_file({"x": Tensor([1.0])}, path)
    link.symlink_to(path)
    nn.save_file({"x": Tensor([2.0])}, link)
    assert link.is_symlink()
    assert nn.load_file(path)["x"].item() == 2.0
    for wrong in ({"__metadata__": Tensor([1.0])}, {"x": nd.zeros(1, dtype="complex128")}, {"x": object()}):
        with pytest.raises((ValueError, TypeError)):
            nn.save_file(wrong, path)
    with pytest.raises(TypeError, match=r"state\.a\.1 is a set"):
        nn.save_state({"a": [1, {2}]}, path)
    assert nn.load_file(path)["x"].item() == 2.0
    assert sorted(os.listdir(tmp_path)) == ["link", "weights"]


def test_a_mapped_file_is_never_written_to(tmp_path: Path) -> None:
    """A sibling: memory that is a file."""
    path = tmp_path / "x"
    values = np.arange(6, dtype="f4")
    nn.save_file({"x": values, "flag": np.array([True])}, path)
    content = path.read_bytes()
    loaded = nn.load_file(path, mmap=True)
    loaded["x"].data[...] = 9.0
    assert path.read_bytes() == content
    nn.save_file({"x": np.zeros(1, "f4")}, path)
    assert loaded["x"].numpy().tolist() == [9.0] * 6
