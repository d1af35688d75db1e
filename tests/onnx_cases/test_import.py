"""``from_onnx``: what it gives, and what it refuses."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from onnx_cases.building import model, node
from treadle.autograd.export import from_onnx, to_c, to_onnx

onnx = pytest.importorskip("onnx")


X = ag.Tensor([1.0, -2.0])


# --- what it gives ----------------------------------------------------------------------------------------------------
def test_gradients_flow_to_weights_and_inputs(tmp_path: Path) -> None:
    draws = nd.random.Generator(0)
    w = ag.Tensor(draws.normal(shape=(4, 3)), requires_grad=True, name="w")
    x = ag.Tensor(draws.normal(shape=(2, 3)), requires_grad=True)
    path = to_onnx(lambda x: ag.softmax(ag.linear(x, w)), x.detach(), tmp_path / "model.onnx")
    loaded = from_onnx(path, requires_grad=True)
    (ag.softmax(ag.linear(x, w)) ** 2).sum().backward()
    again = ag.Tensor(x.data, requires_grad=True)
    (loaded(again) ** 2).sum().backward()
    for one, other in ((again, x), (loaded.weights["w"], w)):
        assert one.grad is not None and other.grad is not None
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-5, atol=1e-7)


def test_weights_can_be_exchanged() -> None:
    weight = onnx.numpy_helper.from_array(np.asarray([2.0, 3.0], "float32"), "w")
    loaded = from_onnx(model([node("Mul", "x", "w")], initializer=[weight]))
    assert loaded(X).tolist() == [2.0, -6.0]
    loaded.weights["w"] = ag.Tensor([10.0, 10.0])
    assert loaded(X).tolist() == [10.0, -20.0]
    assert [name for name, _ in loaded.named_parameters()] == ["w"]
    assert "Mul" not in repr(loaded) and "1 weights" in repr(loaded)


def test_a_model_goes_on_to_c(tmp_path: Path) -> None:
    weight = onnx.numpy_helper.from_array(np.asarray([[2.0, 3.0], [4.0, 5.0]], "float32"), "w")
    loaded = from_onnx(model([node("MatMul", "x", "w", outputs=("h",)), node("Relu", "h")], initializer=[weight]))
    report = to_c(loaded, X, tmp_path / "model.c")
    assert report.multiply_accumulates == 4
    assert report.flash == 16


def test_functions_of_the_model() -> None:
    body = [node("Mul", "a", "a", outputs=("s",)), node("LeakyRelu", "s", outputs=("b",))]
    body[1].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    function = onnx.helper.make_function(
        "own", "Squared", ["a"], ["b"], body, [onnx.helper.make_opsetid("", 20)], attributes=["slope"]
    )
    made = model([node("Squared", "x", domain="own", slope=0.5)], functions=[function], domains=[("own", 1)])
    assert from_onnx(made)(X).tolist() == [1.0, 4.0]


def test_inputs_by_name_and_what_does_not_fit() -> None:
    loaded = from_onnx(model([node("Neg", "x")]))
    assert loaded(x=X).tolist() == [-1.0, 2.0]
    for given, named in (((), {}), ((X, X), {}), ((), {"z": X})):
        with pytest.raises(ag.OnnxError, match="takes the inputs x"):
            loaded(*given, **named)
    with pytest.raises(ag.OnnxError, match=r"'x' is float32 of shape \(2,\).*int64"):
        loaded(ag.Tensor([1, 2]))
    with pytest.raises(ag.OnnxError, match=r"\(3,\) was given"):
        loaded(ag.Tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("op", "version", "attributes", "wanted"),
    [
        ("Clip", 6, {"min": -1.0, "max": 0.5}, [0.5, -1.0]),
        ("ReduceSum", 11, {"axes": [0], "keepdims": 0}, -1.0),
        ("Unsqueeze", 11, {"axes": [0]}, [[1.0, -2.0]]),
        ("Slice", 9, {"starts": [1], "ends": [9]}, [-2.0]),
        ("Pad", 2, {"pads": [1, 0], "value": 7.0}, [7.0, 1.0, -2.0]),
        ("TopK", 1, {"k": 1}, [1.0]),
    ],
)
def test_older_versions_of_ops(op: str, version: int, attributes: dict[str, Any], wanted: Any) -> None:
    outputs = ("y", "places") if op == "TopK" else ("y",)
    found = from_onnx(model([node(op, "x", outputs=outputs, **attributes)], version=version))(X)
    assert found.tolist() == wanted


def test_softmax_before_version_13_runs_over_all_axes_behind() -> None:
    info = onnx.helper.make_tensor_value_info
    made = model([node("Softmax", "x")], version=11, inputs=[info("x", 1, [1, 2, 2])])
    assert from_onnx(made)(ag.Tensor([[[0.0, 0.0], [0.0, 0.0]]])).tolist() == [[[0.25, 0.25], [0.25, 0.25]]]


def test_threads_share_a_model() -> None:
    """Each has its own place in the graphs within the graph."""
    info = onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        [node("Identity", "c", outputs=("d",)), node("Add", "h", "x", outputs=("k",))], "body",
        [info("i", 7, []), info("c", 9, []), info("h", 1, [2])], [info("d", 9, []), info("k", 1, [2])],
    )  # fmt: skip
    start = onnx.numpy_helper.from_array(np.zeros(2, "float32"), "zero")
    turns = onnx.numpy_helper.from_array(np.asarray(50), "turns")
    loaded = from_onnx(model([node("Loop", "turns", "", "zero", body=body)], initializer=[start, turns]))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda each: loaded(ag.Tensor([each, 1.0])).tolist(), map(float, range(20))))
    assert found == [[50.0 * each, 50.0] for each in range(20)]


# --- what it refuses --------------------------------------------------------------------------------------------------
def test_files_that_are_none(tmp_path: Path) -> None:
    good = model([node("Neg", "x")]).SerializeToString()
    path = tmp_path / "model.onnx"
    for content in (b"", b"no model", good[: len(good) // 2], good[:-3], b"\x00" * 64, b"\xff" * 64):
        path.write_bytes(content)
        with pytest.raises(nd.FileFormatError, match=r"model\.onnx"):
            from_onnx(path)
    with pytest.raises(FileNotFoundError):
        from_onnx(tmp_path / "nowhere.onnx")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(2**31 + 1)  # takes no room
    with pytest.raises(nd.FileFormatError, match="at most"):
        from_onnx(path)


def test_damaged_bytes_never_do_more_than_raise() -> None:
    weight = onnx.numpy_helper.from_array(np.asarray([[2.0, 3.0], [4.0, 5.0]], "float32"), "w")
    made = model([node("MatMul", "x", "w", outputs=("h",)), node("Softmax", "h", axis=0)], initializer=[weight])
    good, draws = made.SerializeToString(), np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(good)
        for place in draws.integers(0, len(good), draws.integers(1, 4)):
            damaged[place] = draws.integers(0, 256)
        try:
            from_onnx(bytes(damaged))(X)
        except (nd.FileFormatError, ag.OnnxError):
            continue


def test_tensors_in_other_files(tmp_path: Path) -> None:
    weight = onnx.numpy_helper.from_array(np.arange(2, dtype="float32"), "w")
    path = tmp_path / "model.onnx"
    made = model([node("Add", "x", "w")], initializer=[weight])
    onnx.save(made, path, save_as_external_data=True, location="weights", size_threshold=0)
    with pytest.raises(ag.OnnxError, match="'w' lie in another file"):
        from_onnx(path)


@pytest.mark.parametrize("number", [1, 17, 21, 22, 23, 26])
@pytest.mark.parametrize("dims", [[1 << 40], [2, 1 << 20], [3]])
def test_tensors_whose_elements_do_not_fill_them(number: int, dims: list[int]) -> None:
    weight = onnx.TensorProto(name="w", data_type=number, dims=dims, raw_data=b"12345")
    with pytest.raises((ag.OnnxError, nd.FileFormatError), match="w"):
        from_onnx(model([node("Add", "x", "w")], initializer=[weight]))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: model([node("StringNormalizer", "x")], version=10), ["StringNormalizer", "treadle has no op"]),
        (lambda: model([node("Own", "x", domain="own")], domains=[("own", 1)]), ["Own", "of own"]),
        (lambda: model([node("Cast", "x", to=8)]), ["Cast", "STRING", "no such dtype"]),
        (lambda: model([node("Reshape", "x", "s", name="third")], initializer=[
            onnx.numpy_helper.from_array(np.asarray([3]), "s")]), ["Reshape 'third' -> y", "float32 (2,)", "(3,)"]),
    ],
)  # fmt: skip
def test_errors_name_the_node(made: Any, words: list[str]) -> None:
    with pytest.raises(ag.OnnxError) as caught:
        from_onnx(made())(X)
    for word in words:
        assert word in str(caught.value)


def test_functions_that_call_themselves() -> None:
    opsets = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("own", 1)]
    function = onnx.helper.make_function(
        "own", "F", ["a"], ["b"], [node("F", "a", outputs=("b",), domain="own")], opsets
    )
    made = model([node("F", "x", domain="own")], functions=[function], domains=[("own", 1)])
    with pytest.raises((ag.OnnxError, nd.FileFormatError)):
        from_onnx(made)(X)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    for attempt in (lambda: from_onnx(b"x"), lambda: to_onnx(lambda x: x, X, tmp_path / "model.onnx")):
        with pytest.raises(ImportError, match=r"treadle-autograd\[onnx\]"):
            attempt()
