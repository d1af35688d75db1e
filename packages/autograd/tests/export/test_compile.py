"""``compile``: what is given to it, how long it lives, and compilers that fail in other ways than by a message."""

import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd import ExportError
from treadle.autograd.export import CompiledFunction, compile

ONES = ag.ones((3,))


@pytest.fixture(scope="module")
def weighed() -> CompiledFunction:
    return compile(lambda a, b: a * 10.0 + b, (ONES, ONES))


def test_several_lists_live_as_long_as_the_call(weighed: CompiledFunction) -> None:
    """The memory of one was that of the next."""
    assert weighed([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).tolist() == [14.0, 25.0, 36.0]
    rows = nd.asarray([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    assert weighed(rows[:, 0], rows[:, 1]).tolist() == [14.0, 25.0, 36.0]


def test_subclasses_of_a_tensor_are_tensors(weighed: CompiledFunction) -> None:
    class Named(ag.Tensor):
        """As a module's parameters are."""

    assert type(weighed(Named([1.0, 2.0, 3.0]), Named([0.0, 0.0, 0.0]))) is ag.Tensor


def test_machine_code_is_not_copied(weighed: CompiledFunction) -> None:
    for each in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="compile it where it is used"):
            each(weighed)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("sh -c 'kill -9 $$'", "ended by signal 9"), ("true", "true wrote no"), ("false", "status 1"),
        ("'gcc", "CC is no command line"),
    ],
)  # fmt: skip
def test_compilers_that_give_no_library(command: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", command)
    with pytest.raises(ExportError, match=text):
        compile(lambda a: a * 2.0, ONES)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (b"\x7fELF damaged", "cannot be run"),
        (b'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho damaged > "$2"\n', "cannot be loaded"),
        (b"#!/bin/sh\nprintf 'Fehler: \\374ber' >&2\nexit 1\n", "Fehler"),  # in no encoding of Python's
    ],
    ids=["no program", "no library", "a foreign message"],
)
def test_compilers_of_the_test(program: bytes, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_bytes(program)
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(ExportError, match=text):
        compile(lambda a: a * 2.0, ONES)


def test_folders_with_spaces_quotes_and_letters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "a b 'c' \"d\" größe"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    quick: Any = compile(lambda a: a * 2.0, ONES)
    assert quick(ONES).tolist() == [2.0, 2.0, 2.0] and not list(folder.iterdir())


def test_the_limit_of_gelu_keeps_its_sign() -> None:
    quick: Any = compile(lambda x: (ag.gelu(x), ag.gelu_tanh(x)), ag.Tensor([1.0]))
    assert [str(each.item()) for each in quick(ag.Tensor([float("-inf")]))] == ["-0.0", "-0.0"]


def test_options_as_a_command_line_has_them() -> None:
    """They were taken letter by letter."""
    x = ag.Tensor([1.0, 2.0])
    assert compile(lambda x: x * 2.0, x, flags="-std=c99 -O1")(x).tolist() == [2.0, 4.0]
    options: Any = [3]
    with pytest.raises(ag.ExportError, match="the compiler's options"):
        compile(lambda x: x * 2.0, x, flags=options)
