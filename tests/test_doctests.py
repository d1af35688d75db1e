"""The examples of docstrings and of the op table are true."""

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import treadle.ndarray as nd
from treadle.ndarray.opset import OPS, Op

PACKAGES = ("treadle.ndarray", "treadle.autograd", "treadle.nn", "treadle.optim", "treadle.data", "treadle.cuda")
OPTIONAL = ("matplotlib", "treadle.cuda._cuda")
"""What a module may lack: the extra of treadle-nn, and kernels that only nvcc builds."""
NEEDED = {f"treadle.autograd.export.onnx_{name}": "onnx" for name in ("export", "import")}
"""What the examples of a module need that need not be there."""


def modules() -> Iterator[str]:
    """Every module of the installed packages."""
    for name in PACKAGES:
        try:
            package = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue
        yield name
        yield from (found.name for found in pkgutil.walk_packages(package.__path__, f"{name}."))


@pytest.mark.parametrize("name", list(modules()))
def test_docstrings(name: str) -> None:
    try:
        module: ModuleType = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(str(error))
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def on_lists(function: Any) -> Any:
    """The function, taking lists for arrays and giving lists back."""

    def call(*arguments: Any) -> Any:
        return function(*(nd.asarray(each) if isinstance(each, list) else each for each in arguments)).tolist()

    return call


@pytest.mark.parametrize("op", list(OPS.values()), ids=lambda op: op.name)
def test_examples_of_the_op_table(op: Op) -> None:
    asked, arrow, answer = op.example.partition(" -> ")
    assert arrow and asked.startswith(f"{op.name}("), op.example
    assert eval(asked, {op.name: on_lists(getattr(nd, op.name))}) == eval(answer)


# --- every public name has an example, and it runs -------------------------------------------------------------------
NAMESPACES = (nd, nd.random, nd.linalg, nd.fft)
BLOCKS = "view_"
"""Methods of this prefix are what the view functions are made of; those have the examples."""


def documented(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public functions and classes of a namespace by their full names, and the public members of its classes."""
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value) and not isinstance(value, nd.DType):
            yield f"{module.__name__}.{name}", value
        if inspect.isclass(value) and not issubclass(value, Exception):
            yield from members(f"{module.__name__}.{name}", value)


def members(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that treadle itself defines, its bases' too."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("treadle."):
            found = {**vars(base), **found}
    for each, value in sorted(found.items()):
        if not each.startswith(("_", BLOCKS)):
            yield f"{name}.{each}", value


PUBLIC = {name: value for module in NAMESPACES for name, value in documented(module)}
EXPECTED_NAMES = 250


def owner(name: str) -> Any:
    """The class of a member, by its full name."""
    return PUBLIC[name.rpartition(".")[0]]


def is_attribute(value: Any) -> bool:
    """Whether it is read and never called: shown in its class's example, since Cython keeps no docstring for some."""
    return inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value) or isinstance(value, property)


def examples(docstring: str | None) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(docstring or "")


def test_the_public_surface_is_found() -> None:
    assert len(PUBLIC) >= EXPECTED_NAMES
    for name in (
        "exp",
        "sum",
        "NDArray.reshape",
        "NDArray.shape",
        "random.normal",
        "linalg.svd",
        "fft.rfftn",
        "random.Generator.jump",
    ):
        assert f"treadle.ndarray.{name}" in PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_have_an_example_that_runs(name: str) -> None:
    value = PUBLIC[name]
    docstring = inspect.getdoc(value) or ""
    attribute = name.rpartition(".")[2]
    if is_attribute(value) and not examples(docstring):
        shown = "".join(example.source for example in examples(owner(name).__doc__))
        assert f".{attribute}" in shown, f"{name} has no example, and that of its class does not show it"
        return
    found = examples(docstring)
    assert found, f"{name} has no example"
    if not inspect.isclass(value):
        assert any(attribute in example.source for example in found), f"the example of {name} does not use it"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    outcome = runner.run(doctest.DocTest(found, {}, name, None, None, docstring))
    assert outcome.attempted == len(found) and outcome.failed == 0
