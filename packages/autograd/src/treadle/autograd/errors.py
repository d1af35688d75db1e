"""The errors that belong to graphs. Those of shapes, dtypes and devices are :mod:`treadle.ndarray.errors`'s."""

from treadle.ndarray.errors import TreadleError

__all__ = [
    "ExportError", "GradientCheckError", "GradientError", "GraphFreedError", "NonFiniteError", "OnnxError",
    "OpContractError", "SavedValueError",
]  # fmt: skip


class GradientError(TreadleError, RuntimeError):
    """A gradient that cannot be asked for: of a tensor without a graph, or with respect to one outside it."""


class GraphFreedError(GradientError):
    """The graph was released by an earlier backward; ``retain_graph=True`` there keeps it."""


class SavedValueError(GradientError):
    """A value that an op saved for its backward rule was overwritten in place before the rule ran."""


class OpContractError(TreadleError, TypeError):
    """An op whose ``forward`` or ``backward`` did not give what it must: number, kind, shape, dtype or device."""


class GradientCheckError(TreadleError, AssertionError):
    """A gradient that differs from the numerical one."""


class NonFiniteError(TreadleError, ArithmeticError):
    """A NaN or an infinity where there was none before; ``finding`` is the :class:`Finding` that tells more."""

    def __init__(self, message: str, finding: object = None) -> None:
        super().__init__(message)
        self.finding = finding


class ExportError(TreadleError, ValueError):
    """A callable that cannot be exported, or not in the way that was asked for: which node, and why."""


class OnnxError(TreadleError, ValueError):
    """An ONNX model that cannot be run, or not on these inputs: which node, and why."""
