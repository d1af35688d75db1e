"""ONNX files and the tensors in them, read with care: the package ``onnx``, the extra ``treadle-autograd[onnx]``.

Reading executes nothing. What is cut short, damaged, or points to other files is refused before a tensor is made.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.autograd.errors import OnnxError
from treadle.autograd.export.onnx_narrow import bytes_of, held_in
from treadle.ndarray import DType, FileFormatError, NDArray

__all__ = ["DTYPES", "array_of", "dtype_of", "read_model", "require_onnx", "tensor_proto"]

LARGEST = 2**31 - 1
"""The most bytes that a message of protobuf can have."""

DTYPES: dict[int, DType] = {
    1: nd.float32, 2: nd.uint8, 3: nd.int8, 4: nd.uint16, 5: nd.int16, 6: nd.int32, 7: nd.int64, 9: nd.bool,
    10: nd.float16, 11: nd.float64, 12: nd.uint32, 13: nd.uint64, 14: nd.complex64, 15: nd.complex128,
    16: nd.bfloat16,
}  # fmt: skip
"""By the number in ``TensorProto.DataType``."""

NUMBERS = {dtype.name: number for number, dtype in DTYPES.items()}


def require_onnx() -> Any:
    """The package ``onnx``; an ImportError that says how to install it where it is missing."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ModuleNotFoundError as error:
        raise ImportError("models in ONNX need the package onnx: install the extra treadle-autograd[onnx]") from error
    return onnx


def dtype_of(number: int) -> DType:
    """The dtype of a number of ``TensorProto.DataType``. Raises OnnxError for one that treadle lacks."""
    found = DTYPES.get(number) or held_in(number)
    if found is None:
        names = require_onnx().TensorProto.DataType
        known = number in names.values()
        raise OnnxError(f"elements of type {names.Name(number) if known else number}: treadle has no such dtype")
    return found


def read_model(source: Any) -> Any:
    """A ``ModelProto`` from a path, bytes or a ``ModelProto``, checked.

    Raises FileFormatError for what is no whole ONNX model, OSError for a file that cannot be read, OnnxError for
    tensors in other files.
    """
    onnx = require_onnx()
    if isinstance(source, onnx.ModelProto):
        model, name = source, "the model"
    else:
        content, name = _content(source)
        model = onnx.ModelProto()
        try:
            model.ParseFromString(content)
        except Exception as error:  # the class depends on how protobuf is built
            raise FileFormatError(f"from_onnx: {name} is damaged, cut short, or no ONNX model: {error}") from None
    if not model.HasField("graph") or not model.opset_import:
        raise FileFormatError(f"from_onnx: {name} is no ONNX model: it has no graph, or names no version of the ops")
    _refuse_other_files(model)
    try:
        with _every_shape(model):
            onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        raise FileFormatError(f"from_onnx: {name} is no valid ONNX model: {str(error).splitlines()[0]}") from None
    return model


@contextmanager
def _every_shape(model: Any) -> Iterator[None]:
    """While it lasts every input and output has a shape: the standard lets it be left out, the checker does not."""
    kinds = [each.type.tensor_type for each in (*model.graph.input, *model.graph.output)
             if each.type.HasField("tensor_type")]  # fmt: skip
    silent = [each for each in kinds if not each.HasField("shape")]
    try:
        for each in silent:
            each.shape.SetInParent()
        yield
    finally:
        for each in silent:
            each.ClearField("shape")


def _content(source: Any) -> tuple[bytes, str]:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), "the model"
    path = Path(os.fspath(source))
    size = path.stat().st_size
    if size > LARGEST:
        raise FileFormatError(f"from_onnx: {path} has {size} bytes; a model in one file has at most {LARGEST}")
    if size == 0:
        raise FileFormatError(f"from_onnx: {path} is empty")
    return path.read_bytes(), str(path)


def _refuse_other_files(message: Any) -> None:
    """Raise for a tensor, anywhere in the model, whose elements lie in another file."""
    if message.DESCRIPTOR.name == "TensorProto":
        if message.data_location == message.EXTERNAL or len(message.external_data):
            raise OnnxError(
                f"from_onnx: the elements of {message.name!r} lie in another file; "
                "onnx.save(onnx.load(path), path, save_as_external_data=False) makes one file of it"
            )
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            repeated = hasattr(value, "append") or hasattr(value, "add")
            for each in value if repeated else (value,):
                _refuse_other_files(each)


def array_of(proto: Any) -> NDArray:
    """The array of a ``TensorProto``. Raises OnnxError where its elements do not fill its shape."""
    numpy_helper = require_onnx().numpy_helper
    dtype = dtype_of(proto.data_type)
    shape = tuple(proto.dims)
    if any(length < 0 for length in shape):
        raise OnnxError(f"tensor {proto.name!r} has the shape {shape}")
    narrow, count = proto.data_type not in DTYPES, math.prod(shape)
    size = bytes_of(proto.data_type, count) if narrow else count * dtype.itemsize
    if proto.HasField("raw_data") and len(proto.raw_data) != size:
        raise OnnxError(f"tensor {proto.name!r} of shape {shape} and {dtype.name} has {len(proto.raw_data)} bytes")
    try:
        found = numpy_helper.to_array(proto)
    except (ValueError, TypeError) as error:
        raise OnnxError(f"tensor {proto.name!r} of shape {shape} and {dtype.name}: {error}") from None
    if narrow:
        return nd.asarray(found.astype(dtype.name), copy=True).reshape(shape)
    if dtype is nd.bfloat16:  # NumPy has no such type of its own
        return nd.asarray(found.astype("float32")).astype(dtype).reshape(shape)
    return nd.asarray(found, copy=True)


def tensor_proto(array: NDArray, name: str) -> Any:
    """The ``TensorProto`` of an array."""
    onnx = require_onnx()
    if array.dtype.name not in NUMBERS:
        raise OnnxError(f"ONNX has no elements of {array.dtype.name}")
    if array.dtype is nd.bfloat16:  # the upper halves of the float32
        raw = (array.astype("float32").numpy().view("uint32") >> 16).astype("<u2").tobytes()
    else:
        numbers = array.numpy()
        raw = numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()
    return onnx.TensorProto(name=name, data_type=NUMBERS[array.dtype.name], dims=array.shape, raw_data=raw)
