"""The errors of treadle.nn that the layers below do not know."""

from treadle.ndarray import TreadleError

__all__ = ["CheckpointError", "NonFiniteLossError", "StateDictError"]


class StateDictError(TreadleError, RuntimeError):
    """A state dict that does not fit the module; the message lists every difference and nothing was loaded."""


class CheckpointError(TreadleError, ValueError):
    """A file of weights that is damaged, of another format, or holds what treadle has no dtype for."""


class NonFiniteLossError(TreadleError, ArithmeticError):
    """A loss that became NaN or infinite; the weights are those before the step."""
