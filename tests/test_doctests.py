"""The examples of docstrings and of the op table are true."""

import doctest
import importlib
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
