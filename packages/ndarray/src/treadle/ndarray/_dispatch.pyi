from collections.abc import Callable
from typing import Any, final

from treadle.ndarray._array import NDArray

Operand = NDArray | complex

@final
class UnaryFunction:
    __name__: str
    __qualname__: str
    def __init__(self, name: str) -> None: ...
    def __call__(self, x: Any, /, *, out: NDArray | None = None) -> NDArray: ...

@final
class BinaryFunction:
    __name__: str
    __qualname__: str
    def __init__(self, name: str) -> None: ...
    def __call__(self, x: Any, y: Any, /, *, out: NDArray | None = None) -> NDArray: ...

def where(condition: Any, x: Operand, y: Operand, /, *, out: NDArray | None = None) -> NDArray: ...
def clip(
    x: Any, /, min: Operand | None = None, max: Operand | None = None, *, out: NDArray | None = None
) -> NDArray: ...
def set_asarray(function: Callable[..., NDArray]) -> None: ...
