"""A trained module as C on the command line: ``python -m treadle.nn.export``.

    python -m treadle.nn.export my_models:build weights.safetensors --input 1,1,28,28 --output model.c

``my_models:build`` names a module and a callable in it that makes the network (or the network itself). ``--quantize``
takes an ``.npy`` file of inputs, one a row, and gives int8 weights and arithmetic. What the C costs is told before it
is compiled; with ``--ram`` and ``--flash`` (in KiB) also whether it fits, and the command fails if it does not.
"""

import argparse
import importlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import ExportError, Tensor
from treadle.autograd.export import ExportReport, Target, to_c
from treadle.ndarray import TreadleError
from treadle.nn.checkpoint import load_file
from treadle.nn.module import Module

__all__ = ["export_module", "main"]


def export_module(
    module: Module,
    input_shape: Sequence[int],
    path: str | Path,
    *,
    dtype: str = "float32",
    quantize: Any = None,
    name: str | None = None,
    compiler: str | Sequence[str] | None = None,
    weights: str | Path | None = None,
    target: Target | None = None,
) -> ExportReport:
    """Write a module, in evaluation mode, as C for inputs of one shape; see :func:`treadle.autograd.export.to_c`.

    >>> import tempfile
    >>> from treadle import nn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export_module(nn.Linear(4, 2), (1, 4), f"{folder}/model.c")
    >>> report.flash
    40
    """
    was_training = module.training
    module.eval()
    try:
        example = Tensor(nd.zeros(tuple(input_shape), dtype=dtype))
        return to_c(
            module, example, path, quantize=quantize, name=name, compiler=compiler, weights=weights, target=target
        )
    finally:
        module.train(was_training)


def _module(text: str) -> Module:
    """The network that ``package.module:name`` stands for."""
    place, colon, attribute = text.partition(":")
    if not colon:
        raise ExportError(f"{text!r} must be of the form package.module:callable")
    if place.endswith(".py"):
        raise ExportError(f"{place} is a file; name the module as import does: {Path(place).stem}:{attribute}")
    if not all(part.isidentifier() for part in place.split(".")):
        raise ExportError(f"{place!r} is no name of a module that import takes; start where it lies, and name it so")
    sys.path.insert(0, "")
    found: Any = importlib.import_module(place)
    for part in attribute.split("."):
        found = getattr(found, part)
    if not isinstance(found, Module):
        try:
            inspect.signature(found).bind()
        except (TypeError, ValueError) as error:
            raise ExportError(f"{text} cannot be called without arguments: {error}") from None
    made = found if isinstance(found, Module) else found()
    if not isinstance(made, Module):
        raise ExportError(f"{text} made a {type(made).__name__}, not a Module")
    return made


def _shape(text: str) -> tuple[int, ...]:
    """The lengths that ``1,1,28,28`` stands for."""
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise ExportError(f"--input is {text!r}; give the lengths of the axes with commas: 1,1,28,28") from None


def _kibibytes(text: str) -> int:
    """The bytes that a size in KiB stands for."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number < 2.0**50:
        raise argparse.ArgumentTypeError(f"{text!r} is no size in KiB, from 0 on")
    return int(number * 1024)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m treadle.nn.export", description="Write a trained module as C99.")
    parser.add_argument("model", help="package.module:callable that makes the network")
    parser.add_argument("weights", nargs="?", help="a safetensors file of its state")
    parser.add_argument("--input", required=True, help="the input's shape: 1,1,28,28")
    parser.add_argument("--dtype", default="float32", help="the input's dtype (float32)")
    parser.add_argument("--output", default="model.c", help="the C file; its header lies beside it (model.c)")
    parser.add_argument("--name", help="the C function's name (that of the file)")
    parser.add_argument("--quantize", metavar="NPY", help="inputs for calibration, one a row: int8 arithmetic")
    parser.add_argument("--binary", metavar="BIN", help="write the weights to a binary of their own, to be mapped")
    parser.add_argument("--math", choices=["libm", "own"], default="libm", help="the library's functions, or own ones")
    parser.add_argument("--compiler", help="the device's compiler and its options: tell the size of the code it makes")
    parser.add_argument("--ram", type=_kibibytes, metavar="KIB", help="the device's RAM: tell whether it fits")
    parser.add_argument("--flash", type=_kibibytes, metavar="KIB", help="the device's flash")
    given = parser.parse_args(arguments)
    try:
        shape = _shape(given.input)
        module = _module(given.model)
        if given.weights:
            module.load_state_dict(load_file(given.weights))
        rows = None if given.quantize is None else nd.load(given.quantize)
        if rows is not None and rows.ndim == 0:
            raise ExportError(f"--quantize: {given.quantize} holds one number; give inputs, one a row")
        calibration = None if rows is None else [row.reshape(shape).astype(given.dtype) for row in rows]
        report = export_module(
            module, shape, given.output, dtype=given.dtype, quantize=calibration, name=given.name,
            compiler=given.compiler, weights=given.binary, target=Target(math=given.math),
        )  # fmt: skip
    except (TreadleError, ImportError, AttributeError, ValueError, OSError, MemoryError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(report)
    if report.quantization is not None:
        print(report.quantization)
    if given.ram is None and given.flash is None:
        return 0
    print(report.verdict(given.ram, given.flash))
    return 0 if report.fits(given.ram, given.flash) else 1


if __name__ == "__main__":
    sys.exit(main())
