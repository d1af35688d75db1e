"""What could break the C text, the files or the process: names, comments, paths, callables that are not their graph."""

import builtins
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import WARNINGS, Library, by_name, compiler

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd import ExportError
from treadle.autograd.export import SGD, Adam, Target, capture, compile, to_c, trace, write_c

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
ONE = ag.Tensor(X)


def double(x: ag.Tensor) -> ag.Tensor:
    return ag.exp(x) * 2.0


# --- names -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["int", "restrict", "class", "main", "exp", "expf", "memcpy", "strlen", "math", "string", "printf", "NAN",
             "isnan", "arena", "input0", "output0", "v1", "w2", "step0", "1st", "", "a-b", "größe", "a b", "_x"],
)  # fmt: skip
def test_names_that_cannot_be_functions_are_refused(name: str) -> None:
    with pytest.raises(ExportError, match="name"):
        write_c(trace(lambda x: ag.exp(x) + float("nan"), [ONE]), name)


@pytest.mark.parametrize("stem", ["int", "math", "1st model", "größe", "a.b", "日本", "exp", "-"])
def test_files_of_any_name_get_a_function_that_compiles(stem: str, tmp_path: Path) -> None:
    report = to_c(double, ONE, tmp_path / f"{stem}.c")
    assert report.source.exists() and report.header.exists()
    done = subprocess.run(
        [*compiler(), *WARNINGS, "-I", str(tmp_path), "-c", "-o", os.devnull, str(report.source)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_parameters_whose_names_collide_are_arrays_of_their_own(tmp_path: Path) -> None:
    leaves = [ag.Tensor(nd.full((2,), float(at)), requires_grad=True) for at in range(1, 6)]
    names = ["a.b", "a_b", "größe", "int", "a_b_slot0"]
    program = capture(
        lambda x: ag.sum(x) + sum(ag.sum(each) * (at + 1.0) for at, each in enumerate(leaves)), ag.ones((2,)),
        train=SGD(0.5, momentum=0.9), parameters=dict(zip(names, leaves, strict=True)),
    )  # fmt: skip
    library = Library(tmp_path)
    library.add("collide", program)
    library.call("collide", [np.ones(2, "float32")])
    found = by_name(library.states("collide"), "collide")
    assert len(found) == 10
    learned = sorted(each[0] for name, each in found.items() if each[0] < 1)
    assert learned == pytest.approx(sorted(at + 1 - 0.5 * (at + 1.0) for at in range(5) if at + 1 - 0.5 * (at + 1) < 1))


def test_names_that_differ_in_case_are_two_headers(tmp_path: Path) -> None:
    """And a project's own CONFIG_H is none of theirs."""
    for name in ("config", "Config"):
        to_c(double, ONE, tmp_path / f"{name}.c")
    (tmp_path / "user.c").write_text(
        '#define CONFIG_H\n#include "config.h"\n#include "Config.h"\n'
        "int use(const float *x, float *y) { return config(x, y) + Config(x, y); }\n"
    )
    done = subprocess.run(
        [*compiler(), "-std=c99", "-Werror=implicit-function-declaration", "-fsyntax-only", str(tmp_path / "user.c")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_an_int_of_16_bits_is_refused_by_the_file(tmp_path: Path) -> None:
    """Instead of indices that wrap around."""
    to_c(double, ONE, tmp_path / "model.c")
    (tmp_path / "limits.h").write_text("#define INT_MAX 32767\n")
    done = subprocess.run(
        [*compiler(), "-std=c99", "-I", str(tmp_path), "-fsyntax-only", str(tmp_path / "model.c")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0 and "int of 32 bits" in done.stderr


def test_a_program_can_be_written_twice() -> None:
    leaf, example = ag.Tensor([1.0, 2.0], requires_grad=True, name="w"), ag.Tensor([1.0, 1.0])
    program = capture(lambda x: ag.sum(x * leaf), example, train=Adam(0.1))
    assert write_c(program, "first").source.replace("first", "other") == write_c(program, "other").source


# --- comments --------------------------------------------------------------------------------------------------------
def test_no_line_of_the_user_ends_its_comment(tmp_path: Path) -> None:
    texts = [
        "x = ag.exp(x)  # */ int broken; /* */ ??/ ??/ " + "?" * 60 + " \\",
        'x = ag.cumsum(x, axis=0) + len("/*" "*/" "\\u202e \\u2066 \u202e \u00e9 \u65e5 // \\\\")',
        "x = ag.sin(x)  # " + "*/" * 80 + "\\",
    ]
    source = "def function(x, ag):\n" + "".join(f"    {line}\n" for line in texts) + "    return x\n"
    path = tmp_path / "user's *⁄ module.py"
    path.write_text(source)
    namespace: dict[str, Any] = {}
    exec(builtins.compile(source, str(path), "exec"), namespace)
    library = Library(tmp_path)
    written = library.add("hostile", trace(lambda x: namespace["function"](x, ag), [ONE]))
    library.load()
    assert "cumsum" in written.source and "\u202e" not in written.source


# --- files -----------------------------------------------------------------------------------------------------------
def test_paths_that_cannot_be_written_are_named_and_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.c").mkdir()
    (tmp_path / "taken.h").mkdir()
    (tmp_path / "file").write_text("")
    for path in ("missing/model.c", "folder.c", "taken.c", "file/model.c"):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(OSError, match=path.split(".")[0]):
            to_c(double, ONE, tmp_path / path)
        assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(ExportError, match=r"must end in \.c"):
        to_c(double, ONE, tmp_path / "model.cpp")


FULL = """
import resource, signal, sys
import treadle.autograd as ag
from treadle.autograd.export import to_c
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
w = ag.Tensor([[0.1 * at for at in range(1000)]])
try:
    to_c(lambda x: x * w, w, sys.argv[1])
except OSError as error:
    print(error.filename)
"""


def test_a_disk_that_is_full_is_told_with_the_file_and_keeps_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "model.c"
    to_c(double, ONE, path)
    before = path.read_text()
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(path) and path.read_text() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.c", "model.h"]


def test_a_failed_export_leaves_the_old_file(tmp_path: Path) -> None:
    to_c(double, ONE, tmp_path / "model.c")
    before = (tmp_path / "model.c").read_text()
    with pytest.raises(ExportError):
        to_c(lambda x: x[x > 0], ONE, tmp_path / "model.c")
    assert (tmp_path / "model.c").read_text() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.c", "model.h"]


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", "")
    with pytest.raises(ExportError, match="install gcc or clang"):
        compile(double, ONE)


def test_a_failing_compiler_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExportError, match="no-such-flag"):
        compile(double, ONE, flags=("-std=c99", "-no-such-flag"))


# --- callables that are more than their graph ------------------------------------------------------------------------
def _written_in_place(x: ag.Tensor) -> ag.Tensor:
    y = x * 2
    y.data[0] = 5.0
    return y + 1


MORE_THAN_THE_GRAPH: dict[str, tuple[Callable[[ag.Tensor], Any], str]] = {
    "item": (lambda x: x * x.sum().item(), "in a way that its graph does not hold"),
    "NumPy": (lambda x: ag.Tensor(nd.asarray(np.sin(x.numpy()))) * 1.0, "in a way that its graph does not hold"),
    "branch": (lambda x: x * 2.0 if x.sum().item() > 1e-9 else x, "in a way that its graph does not hold"),
    "random": (lambda x: x * nd.random.normal(shape=(4,)).mean().item(), "draws random numbers"),
    "dropout": (lambda x: x * ag.Tensor(nd.random.bernoulli(0.5, (3, 4)).astype("float32")), "draws random numbers"),
    "in place": (_written_in_place, r"(?s)return y \+ 1.*written in place"),
    "mask": (lambda x: x[x > 0], r"boolean index"),
    "nothing": (lambda x: None, "NoneType"),
    "number": (lambda x: 1.0, "float"),
    "mapping": (lambda x: {"a": x}, "dict"),
    "nested": (lambda x: (x, (x, x)), "a tuple in a tuple; it must give a Tensor"),
    "empty": (lambda x: (), "gave nothing"),
    "float16": (lambda x: ag.astype(ag.astype(x, "float16") * 2, "float32"), "float16, which C99 lacks"),
    "complex": (lambda x: ag.abs(ag.astype(x, "complex64")), "complex64, which C99 lacks"),
}


@pytest.mark.parametrize("name", MORE_THAN_THE_GRAPH)
@pytest.mark.parametrize("example", [X, np.zeros((3, 4), "float32")], ids=["numbers", "zeros"])
def test_what_is_not_in_the_graph_is_refused(name: str, example: np.ndarray) -> None:
    function, text = MORE_THAN_THE_GRAPH[name]
    with pytest.raises(ExportError, match=text):
        write_c(capture(function, ag.Tensor(example)))


def test_no_example_is_an_error() -> None:
    with pytest.raises(ExportError, match="at least one input"):
        capture(lambda: ONE, ())


def test_nothing_to_train_is_an_error() -> None:
    with pytest.raises(ExportError, match="nothing to train"):
        capture(lambda x: ag.sum(x), ONE, train=SGD(0.1))
    with pytest.raises(ExportError, match="w: to be trained"):
        capture(lambda x: ag.sum(x), ONE, train=SGD(0.1), parameters={"w": ag.ones((2,))})


def test_a_compiler_that_is_asked_for_and_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m32")
    with pytest.raises(ExportError, match="CC names 'no-such-compiler'"):
        compile(double, ONE)


def test_what_is_no_callable_or_no_target_is_told(tmp_path: Path) -> None:
    wrong: Any = 3
    with pytest.raises(ExportError, match="int is no callable"):
        to_c(wrong, ONE, tmp_path / "model.c")
    with pytest.raises(ExportError, match="target is 3"):
        to_c(double, ONE, tmp_path / "model.c", target=wrong)


def test_a_loss_of_several_elements_is_an_error() -> None:
    leaf = ag.Tensor(X, requires_grad=True)
    for function in (lambda x: x * leaf, lambda x: ag.argmax(x * leaf)):
        with pytest.raises(ExportError, match="one floating number"):
            capture(function, ONE, train=SGD(0.1))


def test_a_step_of_another_kind_is_told_what_to_give() -> None:
    leaf: Any = ag.Tensor(X, requires_grad=True)
    with pytest.raises(ExportError, match=r"builtins\.str; give SGD or Adam of treadle\.autograd\.export"):
        capture(lambda x: ag.sum(x * leaf), ONE, train="sgd")  # type: ignore[arg-type]


def test_complex_inputs_are_refused_by_their_dtype(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="complex64, which C99 lacks"):
        to_c(lambda x: x * 2.0, ag.astype(ONE, "complex64"), tmp_path / "model.c")


def test_compile_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    quick = compile(lambda x: ag.exp(x), ag.Tensor([0.0]))
    assert list(tmp_path.iterdir()) == []
    assert quick(ag.Tensor([0.0])).tolist() == [1.0]


CPP = ("-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
PEDANTIC = (
    "-Wpedantic", "-Wshadow", "-Wvla", "-Wcast-qual", "-Wundef", "-Wmissing-prototypes", "-Wstrict-prototypes",
    "-Wunreachable-code",
)  # fmt: skip


@pytest.mark.parametrize("tool", ["gcc", "clang"])
def test_other_compilers_and_cpp_take_the_files(tool: str, tmp_path: Path) -> None:
    """Nothing but C99 without variable lengths, which other compilers take too; the header is C++ as well."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    w = ag.Tensor(np.ones((4, 20), "float32"), requires_grad=True, name="w")

    def function(x: ag.Tensor) -> ag.Tensor:
        y = ag.max_pool(ag.conv(ag.reshape(x @ w, (1, 1, 3, 20)), ag.ones((8, 1, 3, 3)), padding=1), 2)
        return ag.sum(ag.softmax(ag.sort(ag.gelu(y), axis=-1), axis=1) * ag.cumsum(y, axis=2))

    for name, options in {"plain": {}, "int8": {"quantize": [ONE]}, "train": {"train": Adam()}}.items():
        blocks = Target(tile=64, unrolled=False, block=(6, 16))
        for target, weights in ((Target(), None), (blocks, None), (Target(math="own"), tmp_path / "weights.bin")):
            report = to_c(function, ONE, tmp_path / f"{name}.c", target=target, weights=weights, **options)
            (tmp_path / "user.cpp").write_text(f'#include "{report.header.name}"\nint main() {{ return 0; }}\n')
            plus = {"gcc": "g++", "clang": "clang++"}[tool]
            for command in (
                [tool, *WARNINGS, *PEDANTIC, "-c", "-o", os.devnull, str(report.source)],
                [plus, *CPP, str(tmp_path / "user.cpp")],
                [plus, "-x", "c++", *CPP, str(report.source)],
            ):
                done = subprocess.run(command, capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
