"""``to_c``: the files of an exported program, written whole or not at all."""

import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from treadle.autograd._tensor import Tensor
from treadle.autograd.errors import ExportError
from treadle.autograd.export.c_kernels import Target
from treadle.autograd.export.c_names import function_name
from treadle.autograd.export.c_source import write_c
from treadle.autograd.export.capture import capture
from treadle.autograd.export.quantizing import quantized
from treadle.autograd.export.report import ExportReport
from treadle.autograd.export.sizes import code_bytes
from treadle.autograd.export.updates import Update

__all__ = ["to_c", "write_whole"]


def to_c(
    function: Callable[..., Any],
    example_input: Tensor | Sequence[Any],
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    train: Update | None = None,
    quantize: Iterable[Any] | None = None,
    parameters: Mapping[str, Tensor] | None = None,
    target: Target | None = None,
    verify: bool = True,
    compiler: str | Sequence[str] | None = None,
    weights: str | os.PathLike[str] | None = None,
) -> ExportReport:
    """Write a callable over tensors as a self-contained C99 file and its header.

    ``example_input`` is a tensor, or a tuple of them: their shapes and dtypes are the C function's, their values do not
    matter. ``path`` ends in ``.c``; the header lies beside it. The function has the file's name unless ``name`` says
    otherwise: ``int model(const float *input0, float *output0)``. It uses no memory but one static block, and nothing
    of the C library but ``math.h`` and ``memcpy``; it is not reentrant.

    With ``train`` (:class:`SGD`, :class:`Adam`, or a step of your own) the callable gives the loss, and a call of the C
    function is one training step: ``parameters``, by default every leaf that requires grad, and what the step keeps are
    arrays that the header names.

    With ``quantize``, inputs like the example for calibration, weights and values on the way are int8 and the
    arithmetic is that of integers; see :mod:`treadle.autograd.export.quantizing`. Inputs and results stay float32.

    With the device's ``compiler`` and its options (``"arm-none-eabi-gcc -O2 -mcpu=cortex-m7 -mthumb"``) the size of the
    code in the report is that of the object file; without one it is an upper bound.

    With ``weights``, the path of a binary, they go there instead of into the C file, and the device reads them where
    the binary is mapped, in flash or a file: ``model_bind(address, bytes)`` checks it, and must return 0 before the
    first run. Its format is told in :mod:`treadle.autograd.export.c_weights`.

    Raises ExportError where the callable cannot be exported, naming the node and the line; OSError for the files.
    Nothing is left half-written.

    >>> import tempfile, pathlib
    >>> import treadle.autograd as ag
    >>> from treadle.autograd.export import to_c
    >>> w = ag.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = to_c(lambda x: ag.relu(x @ w), ag.Tensor([[1.0, 1.0]]), pathlib.Path(folder, "model.c"))
    ...     "w" in pathlib.Path(folder, "model.c").read_text()
    True
    >>> report.multiply_accumulates, report.flash
    (4, 16)
    """
    source = Path(path)
    if source.suffix != ".c":
        raise ExportError(f"to_c: {source}: the path of the C file must end in .c")
    name = name or function_name(source.stem)
    program = capture(function, example_input, train=train, parameters=parameters, verify=verify)
    losses = None
    if quantize is not None:
        program, losses = quantized(program, quantize)
    written = write_c(program, name, target, apart=weights is not None)
    code = written.code_bytes if compiler is None else code_bytes(written, compiler)
    header = source.with_name(f"{name}.h")
    files = {source: written.source.encode(), header: written.header.encode()}
    binary = None if weights is None else Path(weights)
    if binary is not None and written.weights is not None:
        if binary.resolve() in (source.resolve(), header.resolve()):
            raise ExportError(f"to_c: weights={str(binary)!r} is where the C file or its header goes")
        files[binary] = written.weights
    write_whole(files)
    return ExportReport(
        source, header, written.constant_bytes, written.arena_bytes + written.state_bytes, written.products,
        written.steps, losses, code, compiler is not None, binary,
    )  # fmt: skip


def write_whole(files: Mapping[Path, bytes]) -> None:
    """Write files under temporary names beside their own, then rename them all."""
    for path in files:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "a folder is in the file's place", str(path))
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder to write the file to", str(path))
    waiting: list[tuple[str, Path]] = []
    try:
        for path, content in files.items():
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            waiting.append((temporary, path))
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
            except OSError as error:  # a full disk is told without the file's name
                raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from None
            os.chmod(temporary, 0o644)
        for temporary, path in waiting:
            os.replace(temporary, path)
    finally:
        for temporary, _ in waiting:
            Path(temporary).unlink(missing_ok=True)
