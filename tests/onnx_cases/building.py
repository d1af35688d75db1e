"""Models in ONNX from nodes. onnx is imported when one is made: where it is missing, test files skip first."""

from typing import Any

__all__ = ["model", "node"]


def model(nodes: list[Any], *, inputs: Any = None, outputs: Any = None, version: int = 20, **parts: Any) -> Any:
    """A model of these nodes, from x to y, both of shape (2,) unless other are given."""
    from onnx import helper

    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "graph", inputs or [info("x", 1, [2])], outputs or [info("y", 1, [None])], parts.pop("initializer", [])
    )
    domains = [("", version), *parts.pop("domains", [])]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in domains], **parts)


def node(op: str, *inputs: str, outputs: tuple[str, ...] = ("y",), **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(op, list(inputs), list(outputs), **attributes)
