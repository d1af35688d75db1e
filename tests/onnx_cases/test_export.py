"""What ``to_onnx`` writes does in onnxruntime what the callable does, and comes back by ``from_onnx``."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from mcu import models
from onnx_cases.callables import CALLABLES, WITHOUT
from treadle import nn
from treadle.autograd.export import from_onnx, to_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def judged(path: Path, *inputs: ag.Tensor) -> list[Any]:
    """onnxruntime's results."""
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, {f"input{at}": each.numpy() for at, each in enumerate(inputs)}))


def same(found: Any, wanted: Any) -> None:
    """Equal dtypes and shapes, and numbers within float32's rounding."""
    rows = zip(found, wanted if isinstance(wanted, list | tuple) else [wanted], strict=True)
    for one, other in rows:
        array = one if isinstance(one, np.ndarray) else one.numpy()
        assert array.dtype == other.numpy().dtype
        assert array.shape == other.shape
        np.testing.assert_allclose(array, other.numpy(), rtol=5e-6, atol=3e-6)


@pytest.mark.parametrize("opset", [18, 20, 25])
@pytest.mark.parametrize("name", CALLABLES)
def test_callables(name: str, opset: int, tmp_path: Path) -> None:
    function, *inputs = CALLABLES[name]
    path = to_onnx(function, tuple(inputs), tmp_path / "model.onnx", opset=opset)
    wanted = function(*inputs)
    same(judged(path, *inputs), wanted)
    back = from_onnx(path)(*inputs)
    same(back if isinstance(back, tuple) else [back], wanted)


def test_every_tensor_function_is_exported() -> None:
    named = {name.partition(" ")[0] for name in CALLABLES}
    assert not set(ag.functions.__all__) - named - set(WITHOUT)
    assert not named & set(WITHOUT)


@pytest.mark.parametrize("options", [{}, {"stride": 1, "padding": 1}, {"stride": 2, "ceil_mode": True}])
def test_places_of_the_largest_are_counted_in_each_plane(options: Any, tmp_path: Path) -> None:
    pool = nn.MaxPool2d(3, return_indices=True, **options).eval()
    x = ag.Tensor(nd.random.Generator(1).normal(shape=(2, 3, 7, 6)))
    path = to_onnx(pool, x, tmp_path / "model.onnx")
    same(judged(path, x), pool(x))
    same(from_onnx(path)(x), pool(x))


def test_parameters_are_initializers_of_their_names(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3)).eval()
    x = ag.Tensor(nd.random.Generator(1).normal(shape=(2, 3, 4)))
    path = to_onnx(model, x, tmp_path / "classifier.onnx")
    written = onnx.load(path)
    arrays = {each.name: onnx.numpy_helper.to_array(each) for each in written.graph.initializer}
    for name, parameter in model.named_parameters():
        np.testing.assert_array_equal(arrays[name], parameter.numpy())
    assert (written.producer_name, written.producer_version) == ("treadle", ag.__version__)
    assert written.graph.name == "classifier"
    assert "Dropout" not in {each.op_type for each in written.graph.node}
    assert any("Linear" in each.doc_string for each in written.graph.node)
    same(judged(path, x), model(x))


@pytest.mark.parametrize("name", models.MODELS)
def test_batches_of_any_length(name: str, tmp_path: Path) -> None:
    made = models.MODELS[name]()
    digits = np.stack(made.inputs[:7]).reshape(7, 64).astype("float32")

    def function(x: ag.Tensor) -> ag.Tensor:
        return made.function(made.weights, x)

    path = to_onnx(function, ag.Tensor(digits[:2]), tmp_path / "model.onnx", batch_axis=0, parameters=made.weights)
    assert from_onnx(path).inputs[0].shape == ("batch", 64)
    for count in (1, 2, 7):
        rows = ag.Tensor(digits[:count])
        same(judged(path, rows), function(rows))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x * ag.reshape(ag.arange(x.shape[0]), (-1, 1)), "depends on the batch's length"),
        (lambda x: x * float(x.shape[0]), "depends on the batch's length"),
        (lambda x: sum((x[each] for each in range(x.shape[0])), ag.zeros(4)), "depends on the batch's length"),
    ],
)
def test_what_was_made_for_a_batch_is_refused(function: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ag.ExportError, match=words):
        to_onnx(function, ag.Tensor(nd.ones((3, 4))), tmp_path / "model.onnx", batch_axis=0)
    assert not list(tmp_path.iterdir())


def _branches(x: ag.Tensor) -> ag.Tensor:
    return x if bool((x.sum() > 0).item()) else -x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: ag.linalg.inv(x), ["linalg.inv", "test_export.py", "no form"]),
        (lambda x: ag.nextafter(x, x + 1.0), ["nextafter", "no form"]),
        (lambda x: ag.bitwise_left_shift(ag.astype(x, "int32"), ag.astype(x, "int32")), ["unsigned", "int32"]),
        (lambda x: x + ag.Tensor(nd.random.normal(shape=(3, 3))), ["random"]),
        (_branches, ["branch"]),
        (lambda x: 3.0, ["float"]),
    ],
)
def test_what_has_no_form_says_so(function: Any, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(ag.ExportError) as caught:
        to_onnx(function, ag.Tensor(nd.eye(3) * 2.0), tmp_path / "model.onnx")
    for word in words:
        assert word in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("opset", [0, 17, 999])
def test_opsets_that_are_none(opset: int, tmp_path: Path) -> None:
    with pytest.raises(ag.ExportError, match="opset"):
        to_onnx(lambda x: x, ag.Tensor([1.0]), tmp_path / "model.onnx", opset=opset)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        to_onnx(lambda x: x + 1.0, ag.Tensor([1.0]), tmp_path / "nowhere" / "model.onnx")


def test_dtypes_survive(tmp_path: Path) -> None:
    for dtype in ("float64", "int32", "uint8", "bool", "bfloat16", "float16"):
        held = ag.Tensor(nd.asarray([[1, 0, 1]]).astype(dtype))
        path = to_onnx(lambda x, held=held: ag.concat([x, held]), held, tmp_path / "model.onnx", verify=False)
        found = from_onnx(path)(held)
        assert found.dtype is held.dtype
        assert found.data.astype("float32").tolist() == [[1.0, 0.0, 1.0]] * 2
