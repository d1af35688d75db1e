"""What ops share outside of the hot path: how they print, and how operands that are no tensors are met."""

import functools
import inspect
import linecache
from typing import Any

from treadle.autograd.errors import OpContractError
from treadle.ndarray import DTypeError, NDArray, TreadleError

__all__ = [
    "as_compiled", "as_scalar", "configuration", "describe", "expected_tensor", "is_data", "kind_of", "mirrored",
    "miscounted", "named", "refuse", "rule_of", "without_configuration", "without_operands",
]  # fmt: skip


_COUNTING = ("values to unpack", "positional arg", "tuple index out of range")


def configuration(op: object) -> dict[str, Any]:
    """The op's configuration where it differs from the default, by the names that its constructor takes.

    It is read off the signature of ``__init__`` and the attributes of the same names; compiled classes, which have no
    signature, name it in ``configuration`` (with None for the default).
    """
    known: Any = getattr(op, "configuration", None)
    if known is not None:
        defaults = dict.fromkeys(known)
    else:
        try:
            defaults = {name: each.default for name, each in inspect.signature(type(op)).parameters.items()}
        except ValueError:  # compiled: the constructor of an op without configuration
            defaults = {}
    found = {name: getattr(op, name, default) for name, default in defaults.items()}
    return {
        name: value
        for name, value in found.items()
        if value is not defaults[name] and not _equal(value, defaults[name])
    }


def without_configuration(op: object, operands: tuple[Any, ...]) -> None:
    """What makes an op whose constructor takes nothing by position: the operands go to the call."""
    if operands:
        name = type(op).__name__
        raise TypeError(f"{name}(...) makes the op, and takes no operands; call the op on them: {name}()(...)")


def without_operands(op: object, arguments: tuple[Any, ...]) -> None:
    """What makes an op, given a tensor: ``Sum(x)`` would keep x for the axis. Indices may be tensors, and so may what
    configures a user's own op."""
    kind = type(op)
    code = getattr(kind.__init__, "__code__", None)  # compiled classes see to it themselves
    if code is not None and kind.__module__.startswith("treadle.") and "index" not in code.co_varnames:
        without_configuration(op, arguments)


def as_compiled(kind: Any) -> None:
    """Uncompiled, fields of every op have to be made, and __cinit__ is a name like any other."""

    def new(kind: Any, *arguments: Any, **keywords: Any) -> Any:
        self = object.__new__(kind)
        self.__cinit__(*arguments, **keywords)
        return self

    kind.__new__, kind._is_direct = new, False


def describe(op: object) -> str:
    """The op's name and the configuration that differs from the default: ``MatMul(transpose_b=True)``."""
    parts = [f"{name}={_short(value)}" for name, value in configuration(op).items()]
    return f"{type(op).__name__}({', '.join(parts)})"


def _equal(value: Any, default: Any) -> bool:
    return type(value) is type(default) and not isinstance(value, NDArray) and bool(value == default)


def _short(value: Any) -> str:
    if isinstance(value, NDArray):
        return f"array of shape {value.shape}"
    if isinstance(value, tuple) and any(isinstance(each, NDArray) for each in value):
        return f"({', '.join(_short(each) for each in value)})"
    return str(value) if type(value).__name__ == "DType" else repr(value)


def as_scalar(value: Any) -> bool | int | float | complex | None:
    """A Python scalar for a Python or NumPy scalar, which are weak both; None for anything else."""
    if isinstance(value, bool | int | float | complex):
        return value
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and not hasattr(value, "__setitem__"):
        scalar = value.item()
        return scalar if isinstance(scalar, bool | int | float | complex) else None
    return None


def mirrored(op: Any, xp: Any, grad: Any, node: Any) -> tuple[Any, ...]:
    """The gradients of a holomorphic op's operands, by a rule that is written as for real numbers.

    Such a rule gives g f'(x), and the gradient of a complex operand is g conj(f'(x)) = conj(conj(g) f'(x)).
    """
    results = op.backward(xp, xp.conj(grad), node)
    given = results if isinstance(results, tuple | list) else (results,)
    return tuple([xp.conj(each) if each is not None and each.dtype.kind == "c" else each for each in given])


def rule_of(op: Any, dtype: Any) -> Any:
    """The backward rule of an op whose result is of a dtype, to be called with (xp, grad, node)."""
    return functools.partial(mirrored, op) if dtype.kind == "c" and op.holomorphic else op.backward


def is_data(value: Any) -> bool:
    """Whether the value is plain data, which must be wrapped, rather than an object with operators of its own."""
    foreign = hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")
    return foreign or isinstance(value, list | tuple | NDArray)


def refuse(op: object, index: int, value: Any) -> DTypeError:
    """The error for an operand that is no tensor."""
    kind = type(value).__name__
    return DTypeError(f"{op}: operand {index} is of type {kind}, not a Tensor; wrap it with Tensor(...)")


def miscounted(op: Any, count: int, error: Exception) -> Exception:
    """The error of a number of operands that an op's ``forward`` or ``infer`` does not take, or the error as it is."""
    text, trace = str(error), error.__traceback__
    if isinstance(error, TreadleError) or not any(each in text for each in _COUNTING):
        return error
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    for method in (op.forward, op.infer):
        ours = text.startswith(f"{method.__qualname__}() ")
        if trace is not None and trace.tb_frame.f_code is getattr(method, "__code__", None):
            line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
            ours = any(each in line for each in ("arrays", "shapes", "dtypes"))  # what the operands are unpacked from
        if ours:
            return OpContractError(f"{op} does not take {count} tensor{'' if count == 1 else 's'}")
    return error


def named(name: str, options: dict[str, Any]) -> Any:
    """The array function of a name with its options, of the namespace to compute with and the operands."""
    return lambda xp, *operands: getattr(xp, name)(*operands, **options)


def expected_tensor(name: str, value: object) -> DTypeError:
    """The error for an argument of a function that is no tensor."""
    return DTypeError(f"{name}: expected a Tensor, not {type(value).__name__}; wrap data with Tensor(...)")


def kind_of(result: Any) -> str:
    """What an op's forward returned, in words."""
    if type(result) is tuple:
        return f"a tuple of ({', '.join([_name_of(each) for each in result])})"
    return _name_of(result)


def _name_of(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" if kind.__module__ in ("numpy", "torch") else kind.__name__
