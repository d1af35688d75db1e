"""``from_onnx`` where other readers and runtimes have been wrong: values from the standard, places that are refused.

Sources: iree-org/iree#24584, apache/tvm#19532 (Slice). What lies outside of an axis was taken for another place,
which the standard does not allow, and other readers refuse.
"""

from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
from onnx_cases.building import model, node
from treadle.autograd.export import compile, from_onnx

onnx = pytest.importorskip("onnx")

FAR = 2**62


def _result(made: Any, *inputs: np.ndarray) -> Any:
    found = from_onnx(made)(*[ag.Tensor(each) for each in inputs])
    return [each.tolist() for each in found] if isinstance(found, tuple) else found.tolist()


def _with(
    nodes: list[Any], x: np.ndarray, outputs: tuple[str, ...] = ("y",), version: int = 20, **constants: Any
) -> Any:
    """A model of one input x, whose other names are constants; its outputs have no shape."""
    info, number = onnx.helper.make_tensor_value_info, onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    given = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    return model(
        nodes, inputs=[info("x", number, x.shape)], outputs=[info(each, number, None) for each in outputs],
        initializer=given, version=version,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "step", "wanted"),
    [
        (-99, -FAR, -1, [0]), (-11, 0, -1, []), (0, 5, -1, []), (9, -FAR, -1, list(range(9, -1, -1))),
        (FAR, -FAR, -4, [9, 5, 1]), (9, 0, -3, [9, 6, 3]), (-99, FAR, 3, [0, 3, 6, 9]), (100, 200, 1, []),
    ],
)  # fmt: skip
def test_slices_whose_ends_lie_outside(start: int, end: int, step: int, wanted: list[int]) -> None:
    """The standard: a start before the first element is the first element, whatever the direction."""
    x = np.arange(10, dtype="float32")
    made = _with([node("Slice", "x", "s", "e", "a", "t")], x, s=[start], e=[end], a=[-1], t=[step])
    assert _result(made, x) == wanted


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("place", [3, -4, 5])
def test_scattering_outside_of_an_axis_is_refused(op: str, place: int) -> None:
    """Not written to another row."""
    x = np.zeros((2, 3), "float32")
    places = [[0, place]]
    updates = [1.0] if op == "ScatterND" else [[1.0, 1.0]]
    options: dict[str, Any] = {} if op == "ScatterND" else {"axis": 1}
    made = _with([node(op, "x", "i", "u", **options)], x, i=places, u=np.asarray(updates, "float32"))
    with pytest.raises(ag.OnnxError, match="outside of axis 1 of length 3"):
        _result(made, x)


@pytest.mark.parametrize(("op", "inputs"), [("SequenceErase", ("q", "i")), ("SequenceInsert", ("q", "x", "i"))])
@pytest.mark.parametrize("place", [4, -4])
def test_places_outside_of_a_sequence_are_refused(op: str, inputs: tuple[str, ...], place: int) -> None:
    x = np.zeros(3, "float32")
    nodes = [
        node("SplitToSequence", "x", outputs=("q",)), node(op, *inputs, outputs=("r",)),
        node("ConcatFromSequence", "r", axis=0),
    ]  # fmt: skip
    with pytest.raises(ag.OnnxError, match=f"place {place} in a sequence of 3"):
        _result(_with(nodes, x, i=np.asarray(place)), x)


def test_activations_take_the_parameters_that_they_have_use_of() -> None:
    """Tanh has no alpha: the second one is LeakyRelu's, and h = 0.5 * (0.5 * tanh(-1)) * 0.5."""
    x = np.zeros((1, 1, 1), "float32")
    bias = np.asarray([[0, 0, 0, -1, 0, 0, 0, 0]], "float32")
    recurrent = node(
        "LSTM", "x", "w", "r", "b", outputs=("", "y", ""), hidden_size=1,
        activations=["HardSigmoid", "Tanh", "LeakyRelu"], activation_alpha=[0.3, 0.5], activation_beta=[0.5],
    )  # fmt: skip
    zeros = np.zeros((1, 4, 1), "float32")
    found = _result(_with([recurrent], x, w=zeros, r=zeros, b=bias), x)
    assert found[0][0][0] == pytest.approx(0.5 * 0.5 * np.tanh(-1.0) * 0.5, rel=1e-6)


def test_zeros_are_quantised_with_a_scale() -> None:
    """A scale of 0 would make NaN of what is dequantised by 1 / scale."""
    x = np.zeros(3, "float32")
    made = _with([node("DynamicQuantizeLinear", "x", outputs=("q", "y", "z"))], x)
    assert _result(made, x) == 1.0


def test_scales_of_float32_mean_what_they_say() -> None:
    """(1 + 0.5) / 0.6 - 0.5 is 2, though 0.6 has no exact form; 1 / (1 / 7) is 7."""
    x = np.arange(7, dtype="float32").reshape(1, 7)

    def resized(mode: str) -> Any:
        return node("Resize", "x", "", "s", nearest_mode="floor", coordinate_transformation_mode=mode)

    assert _result(_with([resized("half_pixel")], x[:, :4], s=np.asarray([1, 0.6], "float32")), x[:, :4]) == [[0, 2]]
    made = _with([node("Upsample", "x", "s")], x[:, :5], version=9, s=np.asarray([1, 7 / 5], "float32"))
    assert _result(made, x[:, :5]) == [[0, 0, 1, 2, 2, 3, 4]]
    x = np.arange(49, dtype="float32").reshape(1, 49)
    made = _with([resized("asymmetric")], x, s=np.asarray([1, 1 / 7], "float32"))
    assert _result(made, x) == [[0, 7, 14, 21, 28, 35, 42]]


@pytest.mark.parametrize(("op", "wanted"), [("ReduceL2", 5), ("ReduceLogSum", 1)])
def test_reductions_of_integers_stay_integers(op: str, wanted: int) -> None:
    x = np.asarray([3, 4] if op == "ReduceL2" else [3, 1], "int32")
    found = from_onnx(_with([node(op, "x", keepdims=0)], x))(ag.Tensor(x))
    assert found.dtype.name == "int32" and found.item() == wanted


def test_a_loop_that_never_turns_gives_no_rows_of_the_type_it_names() -> None:
    info = onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        [node("Identity", "c", outputs=("d",)), node("Identity", "h", outputs=("k",)),
         node("Cast", "h", outputs=("o",), to=6)], "body",
        [info("i", 7, []), info("c", 9, []), info("h", 1, [2])],
        [info("d", 9, []), info("k", 1, [2]), info("o", 6, [2])],
    )  # fmt: skip
    x = np.zeros(2, "float32")
    found = from_onnx(_with([node("Loop", "m", "", "x", outputs=("h2", "y"), body=body)], x, m=np.asarray(0)))(
        ag.Tensor(x)
    )
    assert (found.shape, found.dtype.name) == ((0, 2), "int32")


def test_samples_of_a_region_are_counted_without_rounding_errors() -> None:
    """A side of 5 * 0.8 in 2 cells has 2 samples a cell, though 0.8 in float32 is a little more."""
    x = np.asarray([[[[0.0, 1.0, 8.0, 27.0, 64.0]]]], "float32")
    region = node("RoiAlign", "x", "r", "b", output_height=1, output_width=2, spatial_scale=0.8,
                  coordinate_transformation_mode="output_half_pixel")  # fmt: skip
    made = _with([region], x, r=np.asarray([[0.0, 0.0, 5.0, 1.0]], "float32"), b=[0])
    assert _result(made, x)[0][0][0] == pytest.approx([(0.5 + 4.5) / 2, (17.5 + 45.5) / 2])


def test_sampling_a_grid_is_in_the_graph() -> None:
    """Its places may depend on the input, and go on to C."""
    x = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
    grid = np.asarray([[[[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]]], "float32")
    info = onnx.helper.make_tensor_value_info
    made = model(
        [node("GridSample", "x", "g", align_corners=1)], inputs=[info("x", 1, x.shape), info("g", 1, grid.shape)],
        outputs=[info("y", 1, None)],
    )  # fmt: skip
    loaded, inputs = from_onnx(made), (ag.Tensor(x), ag.Tensor(grid))
    quick: Any = compile(loaded, inputs)
    for each in (loaded, quick):
        assert each(*inputs).tolist() == [[[[0.0, 7.5, 15.0]]]]
        assert each(inputs[0], ag.Tensor(grid[:, :, ::-1].copy())).tolist() == [[[[15.0, 7.5, 0.0]]]]


X = np.arange(6, dtype="float32").reshape(2, 3)
PLANE = np.ones((1, 1, 4, 4), "float32")
OUTSIDE: list[tuple[Any, np.ndarray, dict[str, Any], str]] = [
    (node("Unsqueeze", "x", "a"), X, {"a": [2**40]}, "axis 1099511627776 lies outside of 3"),
    (node("Unsqueeze", "x", "a"), X, {"a": [0, 0]}, "name one twice"),
    (node("CumSum", "x", "a"), X, {"a": np.int64(9)}, "axis 9 lies outside of 2"),
    (node("LayerNormalization", "x", "s", axis=5), X, {"s": np.ones(3, "float32")}, "axis 5 lies outside of 2"),
    (node("GatherElements", "x", "i", axis=3), X, {"i": [[0]]}, "axis 3 lies outside of 2"),
    (node("ScatterElements", "x", "i", "u", axis=3), X, {"i": [[0]], "u": [[np.float32(1)]]}, "axis 3 lies outside"),
    (node("ReduceSum", "x", "a"), X, {"a": [4]}, "axis 4 lies outside of 2"),
    (node("Flatten", "x", axis=9), X, {}, "axis 9 lies outside of 2"),
    (node("Split", "x", "s", axis=1, outputs=("y", "z")), X, {"s": [5, -2]}, "do not make up axis 1 of length 3"),
    (node("ScatterND", "x", "i", "u"), X, {"i": [[0, 0, 0]], "u": np.ones(1, "float32")}, "3 axes into an array of 2"),
    (node("TopK", "x", "k", outputs=("y", "z")), X, {"k": [99]}, "the first 99 of axis 1 of length 3"),
    (node("TopK", "x", "k", outputs=("y", "z")), X, {"k": [-1]}, "the first -1 of axis 1 of length 3"),
    (node("OneHot", "i", "d", "v"), X, {"i": [1], "d": np.int64(-3), "v": [0.0, 1.0]}, "-3 classes"),
    (node("BatchNormalization", "x", "s", "s", "s", "s"), PLANE, {"s": np.ones(7, "float32")}, "7 channels"),
    (node("Resize", "x", "", "s"), PLANE, {"s": np.asarray([1, 1, -1, 1], "float32")}, "each must be above 0"),
    (node("Resize", "x", "", "", "s"), PLANE, {"s": [1, 1, 2**31, 2**31]}, "beyond any memory"),
    (node("RoiAlign", "x", "r", "b", output_height=2**30, output_width=2**30), PLANE,
     {"r": np.asarray([[0, 0, 1, 1]], "float32"), "b": [0]}, "beyond any memory"),
    (node("ConstantOfShape", "s"), X, {"s": [2**40, 2**20]}, "node ConstantOfShape .* beyond any memory"),
    (node("Dropout", "x", "r", "t"), X, {"r": np.float32(5), "t": True}, r"must lie in \[0, 1\)"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "x", "given", "words"), OUTSIDE)
def test_what_lies_outside_is_refused(op: Any, x: np.ndarray, given: dict[str, Any], words: str) -> None:
    made = _with([op], x, outputs=tuple(op.output), **given)
    with pytest.raises(ag.OnnxError, match=words):
        _result(made, x)


def test_directions_that_are_none_are_refused() -> None:
    weights: dict[str, Any] = {"w": np.ones((1, 8, 3), "float32"), "r": np.ones((1, 8, 2), "float32")}
    x = np.ones((1, 4, 3), "float32")
    for way in ("sideways", "bidirectional"):
        with pytest.raises(ag.OnnxError, match=f"direction '{way}' and weights of 1"):
            _result(_with([node("LSTM", "x", "w", "r", direction=way, hidden_size=2)], x, **weights), x)


def test_skips_that_never_end() -> None:
    """2^31 items may be left out between two; there are three."""
    x = np.asarray([1, 2, 1])
    options: dict[str, Any] = {"min_gram_length": 1, "max_gram_length": 2, "mode": "TF", "ngram_counts": [0, 0],
                               "ngram_indexes": [0], "pool_int64s": [1, 1]}  # fmt: skip
    assert _result(_with([node("TfIdfVectorizer", "x", max_skip_count=2**31, **options)], x), x) == [1.0]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_shrinking_integers_gives_integers(dtype: str) -> None:
    x = np.asarray([-3, 0, 2], dtype)
    info, number = onnx.helper.make_tensor_value_info, onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    made = model([node("Shrink", "x", lambd=1.5, bias=1.0)], inputs=[info("x", number, [3])],
                 outputs=[info("y", number, [3])])  # fmt: skip
    found = from_onnx(made)(ag.Tensor(x))
    assert (found.dtype.name, found.tolist()) == (dtype, [-2, 0, 1])
