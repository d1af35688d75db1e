"""Settings of ops that the standard's own cases leave out: ``from_onnx`` gives what onnxruntime gives."""

from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
from treadle.autograd.export import from_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

TIME, BATCH, SIZE, HIDDEN = 5, 3, 4, 2


def compare(op: str, arrays: list[Any], outputs: int = 1, opset: int = 20, **attributes: Any) -> None:
    """One node on these arrays, None for an input that is left out."""
    names = ["" if each is None else f"x{at}" for at, each in enumerate(arrays)]
    made = onnx.helper.make_node(op, names, [f"y{at}" for at in range(outputs)], **attributes)
    given = {name: each for name, each in zip(names, arrays, strict=True) if each is not None}
    info = onnx.helper.make_tensor_value_info
    kinds = {"float32": 1, "int32": 6, "int64": 7, "uint8": 2}
    graph = onnx.helper.make_graph(
        [made], "graph", [info(name, kinds[each.dtype.name], each.shape) for name, each in given.items()],
        [onnx.ValueInfoProto(name=each) for each in made.output],
    )  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=9)
    model = onnx.shape_inference.infer_shapes(model)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = from_onnx(model)(**{name: ag.Tensor(each) for name, each in given.items()})
    for one, other in zip(found if isinstance(found, tuple) else (found,), session.run(None, given), strict=True):
        assert one.dtype.name == other.dtype.name
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=2e-6)


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(
    ("op", "gates", "states", "options"),
    [
        ("RNN", 1, 1, {"clip": 0.3}),
        ("RNN", 1, 1, {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.1]}),
        ("GRU", 3, 1, {"linear_before_reset": 1}),
        ("GRU", 3, 1, {"linear_before_reset": 0, "activations": ["HardSigmoid", "Softsign"]}),
        ("LSTM", 4, 2, {}),
        ("LSTM", 4, 2, {"input_forget": 1, "clip": 0.5}),
        ("LSTM", 4, 2, {"activations": ["Sigmoid", "Elu", "Relu"]}),
    ],
)
def test_recurrent_layers(op: str, gates: int, states: int, options: dict[str, Any], direction: str) -> None:
    count = 2 if direction == "bidirectional" else 1
    options = {name: each * count if isinstance(each, list) else each for name, each in options.items()}
    arrays = [
        draw(TIME, BATCH, SIZE), draw(count, gates * HIDDEN, SIZE), draw(count, gates * HIDDEN, HIDDEN),
        draw(count, 2 * gates * HIDDEN), np.asarray([5, 2, 4], "int32"), draw(count, BATCH, HIDDEN),
    ]  # fmt: skip
    if op == "LSTM":
        arrays += [draw(count, BATCH, HIDDEN, seed=1), draw(count, 3 * HIDDEN)]
    compare(op, arrays, states + 1, hidden_size=HIDDEN, direction=direction, **options)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    "options",
    [
        {"pads": [0, 1, 2, 1], "strides": [2, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 3]},
        {"auto_pad": "SAME_LOWER", "strides": [3, 2]},
        {"auto_pad": "VALID", "strides": [2, 2]},
        {"ceil_mode": 1, "strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"dilations": [2, 1], "strides": [1, 2]},
    ],
)
def test_pools(op: str, options: dict[str, Any]) -> None:
    compare(op, [draw(2, 3, 9, 10)], kernel_shape=[3, 3], **options)


@pytest.mark.parametrize(
    "options",
    [
        {"pads": [0, 1, 2, 1], "strides": [2, 1]},
        {"strides": [3, 2], "output_padding": [2, 1]},
        {"strides": [2, 2], "dilations": [2, 1], "group": 2},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"output_shape": [11, 12], "strides": [2, 2]},
    ],
)
def test_transposed_convolutions(options: dict[str, Any]) -> None:
    group = options.get("group", 1)
    compare("ConvTranspose", [draw(2, 4, 5, 6), draw(4, 6 // group, 3, 3), draw(6)], **options)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("origin", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize("sizes", [(14, 13), (4, 5)])
def test_resizing(mode: str, origin: str, sizes: tuple[int, int]) -> None:
    arrays = [draw(1, 2, 7, 9), None, None, np.asarray([1, 2, *sizes])]
    compare("Resize", arrays, mode=mode, coordinate_transformation_mode=origin)
    if origin != "align_corners":  # the two differ on which length counts if it is not whole
        scales = [1.0, 1.0, 1.5, 0.6]
        compare(
            "Resize",
            [draw(1, 2, 7, 9), None, np.asarray(scales, "float32")],
            mode=mode,
            coordinate_transformation_mode=origin,
        )


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_grids(mode: str, padding: str, aligned: int) -> None:
    grid = draw(2, 4, 5, 2) * 0.9
    compare("GridSample", [draw(2, 3, 6, 7), grid], opset=16, mode=mode, padding_mode=padding, align_corners=aligned)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scattering(reduction: str) -> None:
    places = np.asarray([[[0], [2], [0 if reduction != "none" else 1], [-1 if reduction != "none" else 4]]])
    compare("ScatterND", [draw(5, 3), places, draw(1, 4, 3)], reduction=reduction)
    rows = np.asarray([[0, 1, 2], [1, 2 if reduction == "none" else 1, 0], [3, 3, 1]])
    compare("ScatterElements", [draw(5, 3), rows, draw(3, 3)], reduction=reduction, axis=0)
