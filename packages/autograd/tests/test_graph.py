"""The graph as a thing to look at: order, table, picture, reachability."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


def _network() -> tuple[ag.Tensor, dict[str, ag.Tensor], ag.Tensor]:
    x = ag.ones((5, 4))
    weights = {
        "0.weight": ag.ones((3, 4)).requires_grad_(),
        "0.bias": ag.zeros(3).requires_grad_(),
        "2.weight": ag.ones((2, 3)).requires_grad_(),
        "2.bias": ag.zeros(2).requires_grad_(),
    }
    hidden = ag.relu(ag.linear(x, weights["0.weight"], weights["0.bias"]))
    logits = ag.linear(hidden, weights["2.weight"], weights["2.bias"])
    return ag.cross_entropy(logits, ag.zeros(5, dtype="int64")), weights, x


def test_topological_order_and_lookup() -> None:
    loss, weights, x = _network()
    graph = ag.Graph.of(loss, names=weights)
    assert len(graph) == 10
    for node in graph:
        assert all(number < node.number for number in node.inputs)
        assert [graph.nodes[number].tensor for number in node.inputs] == list(node.tensor.inputs) or node.inputs
    assert weights["0.weight"] in graph and x in graph and loss in graph and ag.ones(1) not in graph
    assert graph[weights["0.bias"]].label == "0.bias"
    assert graph[loss].label == "CrossEntropy()" and graph[loss].kind == "op"
    assert graph[x].kind == "constant" and graph[weights["2.bias"]].kind == "parameter"
    with pytest.raises(KeyError, match="not in this graph"):
        graph[ag.ones(1)]
    assert repr(graph) == "<Graph of 10 nodes, 6 of them leaves>"


def test_table_shows_op_shape_dtype_and_the_users_line() -> None:
    loss, weights, _ = _network()
    lines = str(ag.Graph.of(loss, names=weights)).splitlines()
    assert lines[0].split() == ["node", "inputs", "shape", "dtype", "bytes", "flops", "grad", "built", "at"]
    linear = next(line for line in lines if "Linear()" in line)
    assert "(5, 3)" in linear and "float32" in linear and "test_graph.py:" in linear
    assert 'hidden = ag.relu(ag.linear(x, weights["0.weight"], weights["0.bias"]))' in linear
    assert any("0.weight" in line and "(3, 4)" in line for line in lines)


def test_location_is_the_innermost_line_outside_of_treadle() -> None:
    x = ag.Tensor([1.0], requires_grad=True)
    y = ag.concat([x, x], axis=None)  # goes through a function of treadle
    place = y.location
    assert place is not None and place.file == __file__
    assert place.function == "test_location_is_the_innermost_line_outside_of_treadle"
    assert place.text.startswith("y = ag.concat(") and str(place) == f"{__file__}:{place.line}"
    z = (
        x
        + ag.exp(
            x
        )
    )  # fmt: skip
    assert z.location is not None and z.inputs[1].location is not None
    assert z.inputs[1].location.text.startswith("+ ag.exp(")
    assert x.location is None


def test_repeated_inputs_and_shared_nodes() -> None:
    x = ag.Tensor([1.0], requires_grad=True)
    y = x * x
    graph = ag.Graph.of(y + y, y)
    assert [node.inputs for node in graph] == [(), (0, 0), (1, 1)]
    assert graph.outputs == (2, 1)


def test_deep_graphs() -> None:
    x = ag.Tensor([1.0], requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1
    assert len(ag.Graph.of(y)) == 20_001 and ag.reaches(x, y)


def test_reaches() -> None:
    loss, weights, x = _network()
    assert all(ag.reaches(each, loss) for each in [*weights.values(), x, loss])
    w = ag.Tensor([1.0], requires_grad=True)
    assert not ag.reaches(w, loss)
    assert not ag.reaches(w, w.detach() * 2) and ag.reaches(w, (w * 2).sum())


def test_svg_is_a_well_formed_layered_picture(tmp_path: Path) -> None:
    loss, weights, _ = _network()
    path = tmp_path / "graph.svg"
    text = ag.Graph.of(loss, names=weights).svg(path)
    assert path.read_text(encoding="utf-8") == text
    root = ElementTree.fromstring(text)
    namespace = "{http://www.w3.org/2000/svg}"
    words = [each.text for each in root.iter(f"{namespace}text")]
    for label in ("0.weight", "2.bias", "Linear", "Relu", "CrossEntropy", "3 × 4", "scalar"):
        assert label in words
    edges = [each for each in root.iter(f"{namespace}path") if each.get("marker-end")]
    assert len(edges) == 9
    boxes = [
        (float(each.get("x", 0)), float(each.get("y", 0)), float(each.get("width", 0)), float(each.get("height", 0)))
        for group in root.iter(f"{namespace}g")
        for each in group.iter(f"{namespace}rect")
    ]
    assert len(boxes) == 10
    for number, (x, y, width, height) in enumerate(boxes):
        assert x >= 0 and y >= 0 and x + width <= float(root.get("width", 0)) + 1
        for other in boxes[number + 1 :]:  # no two overlap
            apart_x = x + width <= other[0] or other[0] + other[2] <= x
            apart_y = y + height <= other[1] or other[1] + other[3] <= y
            assert apart_x or apart_y


def _attention(x: ag.Tensor, weights: dict[str, ag.Tensor]) -> ag.Tensor:
    def heads(z: ag.Tensor) -> ag.Tensor:
        return ag.permute_dims(ag.reshape(z, (2, 5, 2, 4)), (0, 2, 1, 3))

    query, key, value = (heads(x @ weights[name]) for name in ("query", "key", "value"))
    mixed = ag.softmax(query @ ag.matrix_transpose(key) / 2.0, axis=-1) @ value
    return x + ag.reshape(ag.permute_dims(mixed, (0, 2, 1, 3)), (2, 5, 8)) @ weights["out"]


def _unrolled(steps: int) -> ag.Tensor:
    h, w, u = ag.zeros((2, 6)), ag.ones((6, 6)).requires_grad_(), ag.ones((4, 6)).requires_grad_()
    for _ in range(steps):
        h = ag.tanh(ag.ones((2, 4)) @ u + h @ w)
    return h


def _points(path: str) -> Iterator[tuple[float, float]]:
    """Points along a path of the commands M, V and C."""
    x = y = 0.0
    for command, text in re.findall(r"([MVC])([^MVC]*)", path):
        numbers = [float(each) for each in text.split()]
        if command == "M":
            x, y = numbers
        elif command == "V":
            yield from ((x, y + (numbers[0] - y) * at / 8) for at in range(9))
            y = numbers[0]
        else:
            ends = [(x, y), *zip(numbers[::2], numbers[1::2], strict=True)]
            for at in range(17):
                t = at / 16
                factors = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
                yield tuple(sum(f * end[axis] for f, end in zip(factors, ends, strict=True)) for axis in (0, 1))
            x, y = numbers[-2:]


@pytest.mark.parametrize("kind", ["attention", "unrolled", "diamonds"])
def test_edges_run_beside_boxes_and_boxes_apart(kind: str) -> None:
    if kind == "attention":
        weights = {name: ag.ones((8, 8)).requires_grad_() for name in ("query", "key", "value", "out")}
        x = ag.ones((2, 5, 8)).requires_grad_()
        output = _attention(_attention(x, weights), weights)
    elif kind == "unrolled":
        output = _unrolled(30)
    else:
        output = ag.ones(1).requires_grad_()
        for _ in range(12):
            output = ag.tanh(output * 0.5) + output * 0.25 + ag.ones(1)
    graph = ag.Graph.of(output)
    root = ElementTree.fromstring(graph.svg())
    space = "{http://www.w3.org/2000/svg}"
    boxes = []
    for group in root.iter(f"{space}g"):
        (rect,) = group.iter(f"{space}rect")
        left, top, width, height = (float(rect.get(name, 0)) for name in ("x", "y", "width", "height"))
        boxes.append((left, top, left + width, top + height))
        for each in group.iter(f"{space}text"):
            assert len(each.text or "") * 6.0 <= width and top < float(each.get("y", 0)) < top + height
    assert len(boxes) == len(graph)
    assert not [
        (a, b) for a, b in combinations(boxes, 2) if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]
    lines = [each.get("d", "") for each in root.iter(f"{space}path") if each.get("fill") == "none"]
    for x, y in (point for line in lines for point in _points(line)):
        assert not [box for box in boxes if box[0] < x < box[2] and box[1] + 0.2 < y < box[3] - 0.2]
    ends = [each for each in root.iter(f"{space}path") if each.get("marker-end")]
    assert len(ends) == sum(len(set(node.inputs)) for node in graph)


def test_ops_on_leaves_stand_right_above_their_use() -> None:
    root = ElementTree.fromstring(ag.Graph.of(_unrolled(20)).svg())
    assert float(root.get("width", 0)) < 800.0


def test_what_nobody_could_read_is_refused_or_cut() -> None:
    x = ag.Tensor([1.0], requires_grad=True)
    y = x
    for _ in range(1500):
        y = y * 0.5 + y * 0.5
    graph = ag.Graph.of(y)
    with pytest.raises(ag.GradientError, match=r"4,501 nodes make no picture.*collapse"):
        graph.svg()
    tree = graph.tree()
    assert len(tree) < 20_000 and re.search(r"\([0-9,]+ nodes lie deeper than 40 branchings", tree)
    assert "deeper" not in graph.tree(depth=None)
    with pytest.raises(ValueError, match="depth"):
        graph.tree(depth=-1)
    wide = ag.Graph.of(ag.concat([x * float(i) for i in range(2000)]))
    assert len(str(wide)) < 600_000 and "(2,000)" in str(wide)


def test_what_is_no_tensor_is_refused() -> None:
    x = ag.Tensor([1.0], requires_grad=True)
    tools: list[Any] = [ag.Graph.of, ag.Stepper, lambda y: ag.reaches(x, y), lambda y: ag.why(y, x), ag.first_nonfinite]
    for tool in [*tools, lambda y: ag.connection(x, y)]:
        with pytest.raises(nd.DTypeError, match="expected a Tensor"):
            tool([1.0])
    with pytest.raises(KeyError, match="float is not in this graph"):
        ag.Graph.of(x)[1.0]  # type: ignore[index]
    assert len(ag.Graph.of()) == 0 and ag.Graph.of().tree() == ""


def test_what_lazy_mode_has_put_off_is_named_and_left_alone() -> None:
    with ag.lazy():
        constant = ag.ones((2, 2)) @ ag.ones((2, 2))
        y = ag.exp(ag.Tensor([1.0], requires_grad=True, name="x"))
    assert "MatMul() (not computed yet)" in str(ag.Graph.of(constant)) and not constant.is_realized
    assert ag.Graph.of(y).svg() and ag.Graph.of(y).tree() and not y.is_realized


def test_svg_escapes_names() -> None:
    x = ag.Tensor([1.0], requires_grad=True, name='a<b & "c"')
    root = ElementTree.fromstring(ag.Graph.of(x * 2).svg())
    assert any(each.text == 'a<b & "c"' for each in root.iter("{http://www.w3.org/2000/svg}text"))


def test_the_table_counts_bytes_and_operations_and_marks_the_way_to_parameters() -> None:
    w = ag.Tensor([[1.0, 2.0]], requires_grad=True, name="w")
    loss = (ag.tanh(ag.ones((3, 1)) @ w) + ag.exp(ag.ones(2))).sum()
    graph = ag.Graph.of(loss)
    costs = {node.label: (node.nbytes, node.flops) for node in graph}
    assert costs["MatMul()"] == (24, 2 * 3 * 2) and costs["Tanh()"] == (24, 6) and costs["Sum()"] == (4, 6)
    marked = [node.label for node in graph if graph.leads_to_parameter(node)]
    assert marked == ["w", "MatMul()", "Tanh()", "Add()", "Sum()"]


def test_the_tree_names_what_it_has_shown_and_stops_at_a_depth() -> None:
    w = ag.Tensor([1.0], requires_grad=True, name="w")
    y = ag.exp(w)
    tree = ag.Graph.of((y * y + w).sum()).tree()
    assert tree.splitlines()[0].startswith("%4 Sum()") and tree.count("...") == 2
    assert ag.Graph.of((y * y + w).sum()).tree(depth=1).splitlines()[2].endswith("Multiply() (1,) ...")
    deep = w
    for _ in range(20_000):
        deep = deep * 1.0
    assert len(ag.Graph.of(deep).tree().splitlines()) == 20_001


def test_dot_quotes_labels(tmp_path: Path) -> None:
    w = ag.Tensor([1.0], requires_grad=True, name='a "b" \\ c')
    text = ag.Graph.of(w * 2.0).dot(tmp_path / "graph.dot")
    assert '\\"b\\"' in text and "n0 -> n1;" in text and (tmp_path / "graph.dot").read_text() == text


def test_replace_computes_what_depends_on_the_op_and_shares_the_rest() -> None:
    x = ag.Tensor([1.0, 4.0], requires_grad=True)
    y, other = ag.exp(x), ag.tanh(x)
    loss = (y * other).sum()
    graph = ag.Graph.of(loss)
    changed = graph.replace(y, ag.ops.Sqrt())
    result = changed.nodes[changed.outputs[0]].tensor
    assert result.item() == pytest.approx((ag.sqrt(x) * ag.tanh(x)).sum().item())
    assert other in changed and y not in changed and y in graph
    assert loss.op is graph[loss].tensor.op
    with pytest.raises(ag.GradientError, match="leaf"):
        graph.replace(x, ag.ops.Sqrt())
    with pytest.raises(KeyError):
        graph.replace(result, ag.ops.Sqrt())


def test_replace_passes_ops_with_several_results() -> None:
    x = ag.Tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    y = x * 1.0
    q, r = ag.linalg.qr(y)
    changed = ag.Graph.of((q @ r).sum()).replace(y, ag.ops.Multiply(right=2.0))
    assert changed.nodes[-1].tensor.item() == pytest.approx(14.0)


def test_replace_of_one_of_several_results() -> None:
    x = ag.Tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    values, vectors = ag.linalg.eigh(x)
    loss = values.sum() + ag.sum(vectors * vectors) * 10.0
    graph = ag.Graph.of(loss)

    class Swapped(ag.TupleOp):
        def forward(self, xp, a):  # type: ignore[no-untyped-def, override]
            return (xp.diagonal(a), a), ()

    both = graph.replace(vectors, Swapped())
    assert both.nodes[-1].tensor.item() == pytest.approx(5.0 + 10.0 * 15.0)
    one = graph.replace(vectors, ag.ops.Positive())
    assert one.nodes[-1].tensor.item() == pytest.approx(5.0 + 10.0 * 15.0)
    assert graph.replace(values, ag.ops.Positive()).nodes[-1].tensor.shape == ()
    assert values in one and vectors not in one and values not in both
    labels = [node.label for node in graph]
    assert "Eigh()[0]" in labels and "Eigh()[1]" in labels
    with pytest.raises(ag.GradientError, match="has 3 results where the graph has 2"):
        graph.replace(values, ag.ops.SVD())
    doubled = x * 2.0
    with pytest.raises(ag.GradientError, match="has 2 results where the graph has 1"):
        ag.Graph.of(ag.exp(doubled)).replace(doubled, ag.ops.QR())


def test_replace_refuses_what_a_checkpoint_hides() -> None:
    x = ag.Tensor([1.0, 4.0], requires_grad=True)
    y = ag.exp(x)
    loss = ag.checkpoint(lambda z: z * y, x).sum()
    with pytest.raises(ag.GradientError, match="make it an argument"):
        ag.Graph.of(loss).replace(y, ag.ops.Sqrt())
    loss = ag.checkpoint(lambda z, y: z * y, x, y).sum()
    assert ag.Graph.of(loss).replace(y, ag.ops.Sqrt()).nodes[-1].tensor.item() == pytest.approx(9.0)


@pytest.mark.parametrize("name", ["a\x00b", "two\nlines", "\u202e turned", "\ud800", "<&>\"']]>", "{}|\\n\x0c"])
def test_names_of_any_characters_make_readable_text_and_valid_xml(name: str) -> None:
    graph = ag.Graph.of(ag.Tensor([1.0], requires_grad=True, name=name) * 2.0)
    root = ElementTree.fromstring(graph.svg())
    shown = next(node for node in graph if node.tensor.is_leaf).label
    assert shown.isprintable() and any(each.text == shown for each in root.iter("{http://www.w3.org/2000/svg}text"))
    assert (len(graph.tree().splitlines()), len(graph.table().splitlines())) == (2, 4)
    for text in (graph.tree(), graph.table(), graph.dot(), graph.svg()):
        assert all(each.isprintable() or each == "\n" for each in text)
