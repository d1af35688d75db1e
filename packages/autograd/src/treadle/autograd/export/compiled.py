"""``compile``: the same C at home, built into a shared library and called without a copy."""

import ctypes
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor, constant
from treadle.autograd.errors import ExportError
from treadle.autograd.export.c_kernels import Target
from treadle.autograd.export.c_source import CSource, write_c
from treadle.autograd.export.capture import capture
from treadle.ndarray import DeviceError, DTypeError, IndexingError, NDArray, ShapeError

__all__ = ["CompiledFunction", "build_library", "compile", "run_compiler"]

FLAGS = (
    "-std=c99", "-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops", "-march=native",
    "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast",
)  # fmt: skip


class CompiledFunction:
    """A callable of arrays of the example's shapes and dtypes. It holds the GIL, as the library has one arena."""

    def __init__(self, written: CSource, library: ctypes.PyDLL) -> None:
        self.written = written
        self._library = library
        self._call: Any = getattr(library, written.name)
        count = len(written.program.inputs) + len(written.program.outputs)
        self._call.argtypes = [ctypes.c_void_p] * count
        self._specs = [(each.shape, each.dtype) for each in written.program.inputs]
        self._results = [(each.shape, each.dtype) for each in written.program.outputs]
        self._single = len(self._results) == 1

    def __call__(self, *inputs: Any) -> Any:
        """The results, as Tensors if the first input is one, else as NDArrays.

        Raises ShapeError, DTypeError, DeviceError where an input differs from its example, IndexingError for an index
        outside of its array.
        """
        if len(inputs) != len(self._specs):
            raise ShapeError(f"{self.written.name}: {len(inputs)} inputs; it takes {len(self._specs)}")
        pointers = []
        held = []  # arrays that are made here must live as long as the call
        for given, (shape, dtype) in zip(inputs, self._specs, strict=True):
            array = given.data if isinstance(given, Tensor) else given
            if type(array) is not NDArray or array.shape != shape or array.dtype is not dtype or array.device != "cpu":
                array = self._fitting(array, shape, dtype)
                held.append(array)
            if not array.is_contiguous:
                array = array.copy()
                held.append(array)
            pointers.append(array.data_pointer)
        results = [nd.empty(shape, dtype=dtype, device="cpu") for shape, dtype in self._results]
        if self._call(*pointers, *[each.data_pointer for each in results]):
            raise IndexingError(f"{self.written.name}: an index lies outside of its array")
        if isinstance(inputs[0], Tensor):
            tensors = [constant(each) for each in results]
            return tensors[0] if self._single else tuple(tensors)
        return results[0] if self._single else tuple(results)

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self.written.name}: machine code of this process cannot be copied; compile it where it is used"
        )

    def _fitting(self, given: Any, shape: tuple[int, ...], dtype: Any) -> NDArray:
        """An input that is no array of the right kind yet."""
        array = given if isinstance(given, NDArray) else nd.asarray(given)
        if array.device != "cpu":
            raise DeviceError(f"{self.written.name}: an input on {array.device}; it runs on cpu")
        if array.shape != shape:
            raise ShapeError(f"{self.written.name}: an input of shape {array.shape}; it was compiled for {shape}")
        if array.dtype is not dtype:
            raise DTypeError(f"{self.written.name}: an input of dtype {array.dtype}; it was compiled for {dtype}")
        return array


def compile(
    function: Callable[..., Any],
    example_input: Tensor | Sequence[Any],
    *,
    flags: str | Sequence[str] = FLAGS,
    verify: bool = True,
) -> CompiledFunction:
    """Compile a callable over tensors with the machine's C compiler (``CC``, else ``cc`` or ``gcc``).

    The result takes arrays or tensors of the examples' shapes and dtypes, reads them where they lie, and gives the same
    values but for rounding; no gradients. Weights are copied: later changes of them are not seen.

    ``flags`` are the compiler's options, as a list or as a command line has them.

    Raises ExportError without a compiler and where the callable cannot be exported.

    >>> import treadle.autograd as ag
    >>> from treadle.autograd.export import compile
    >>> w = ag.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> quick = compile(lambda x: ag.relu(x @ w), ag.Tensor([[0.0, 0.0]]))
    >>> quick(ag.Tensor([[1.0, 1.0]])).tolist()
    [[4.0, 6.0]]
    """
    options = shlex.split(flags) if isinstance(flags, str) else list(flags)
    if not all(isinstance(each, str) for each in options):
        raise ExportError(f"compile: flags are the compiler's options, such as ['-O3'], not {options!r}")
    program = capture(function, example_input, verify=verify)
    written = write_c(program, "compiled", Target(tile=64, unrolled=False, block=(6, 16)))
    with tempfile.TemporaryDirectory(prefix="treadle-") as folder:
        built = build_library(written, Path(folder), options)
        try:
            return CompiledFunction(written, ctypes.PyDLL(str(built)))
        except OSError as error:  # a folder whose files may not be executed, say
            raise ExportError(f"compile: the library cannot be loaded: {error}; TMPDIR names another folder") from None


def _compiler() -> list[str]:
    try:
        asked = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise ExportError(f"compile: the variable CC is no command line: {error}") from None
    if asked and not shutil.which(asked[0]):
        raise ExportError(f"compile: the variable CC names {asked[0]!r}, which is not found; unset it, or correct it")
    for each in (asked, shlex.split(sysconfig.get_config_var("CC") or ""), ["cc"], ["gcc"], ["clang"]):
        if each and shutil.which(each[0]):
            return each
    raise ExportError("compile: no C compiler was found; install gcc or clang, or name one in the variable CC")


def build_library(written: CSource, folder: Path, flags: Sequence[str] = FLAGS) -> Path:
    """Build the shared library of a program in a folder; once it is loaded, the folder may go."""
    source, library = folder / f"{written.name}.c", folder / f"{written.name}.so"
    source.write_bytes(written.source.encode())
    (folder / f"{written.name}.h").write_bytes(written.header.encode())
    command = [*_compiler(), *flags, "-shared", "-fPIC", "-o", str(library), str(source), "-lm"]
    run_compiler(command, library)
    return library


def run_compiler(command: Sequence[str], result: Path) -> None:
    """Run a compiler that makes ``result``. Raises ExportError, with what the compiler says, if it does not."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ExportError(f"compile: {command[0]} cannot be run: {error}") from None
    if done.returncode < 0:
        raise ExportError(f"compile: {command[0]} was ended by signal {-done.returncode}, for want of memory perhaps")
    if done.returncode:
        raise ExportError(f"compile: {command[0]} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    if not result.exists():
        raise ExportError(
            f"compile: {command[0]} wrote no {result.suffix} file; is it a compiler?\n{done.stderr[-2000:]}"
        )
