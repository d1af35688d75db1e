"""Files that appear whole or not at all: failures, full disks, several writers."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import treadle.ndarray as nd
from treadle.ndarray.atomic import atomic_write, remove_leftovers


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_folders_are_made_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "deep" / "x"):
        pass
    with atomic_write(tmp_path / "deep" / "x", make_folders=True) as file:
        file.write(b"new")
    assert (tmp_path / "deep" / "x").read_bytes() == b"new"


def test_the_last_of_two_writers_wins(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "x") as first:
        first.write(b"first")
        with atomic_write(tmp_path / "x") as second:
            second.write(b"second")
        assert (tmp_path / "x").read_bytes() == b"second"
    assert (tmp_path / "x").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["x"]


def test_only_what_nobody_writes_any_more_is_left_over(tmp_path: Path) -> None:
    program = """if True:
        import sys
        from treadle.ndarray.atomic import atomic_write
        with atomic_write(sys.argv[1]) as file:
            print("writing", flush=True)
            sys.stdin.read()
    """
    command = [sys.executable, "-c", program, str(tmp_path / "x.npy")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        (tmp_path / ".y.npy.0123.partial").write_bytes(b"")
        (tmp_path / ".z.csv.0123.partial").write_bytes(b"")
        remove_leftovers(tmp_path, ".npy")
        (name,) = [each for each in os.listdir(tmp_path) if each.startswith(".x.npy.")]
        assert sorted(os.listdir(tmp_path)) == [name, ".z.csv.0123.partial"]
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        remove_leftovers(tmp_path, ".npy")
        assert os.listdir(tmp_path) == [".z.csv.0123.partial"]


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = fcntl.flock, []

    def late(file: int, operation: int) -> None:
        if not removed:  # another process takes it for a leftover
            removed.extend(os.listdir(tmp_path))
            os.unlink(tmp_path / removed[0])
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with atomic_write(tmp_path / "x") as file:
        file.write(b"new")
    assert len(removed) == 1
    assert (tmp_path / "x").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["x"]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    """The largest size of a file stands for the disk's."""
    nd.save(tmp_path / "x.npy", nd.ones(3))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(OSError, match="too large"):
            nd.save(tmp_path / "x.npy", nd.ones(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert nd.load(tmp_path / "x.npy").tolist() == [1.0, 1.0, 1.0]
    assert os.listdir(tmp_path) == ["x.npy"]
