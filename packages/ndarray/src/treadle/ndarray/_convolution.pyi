from treadle.ndarray._array import NDArray
from treadle.ndarray.geometry import Geometry

def convolve(
    x: NDArray,
    weight: NDArray,
    bias: NDArray | None,
    out: NDArray,
    outputs: int,
    groups: int,
    geometry: Geometry,
    places: tuple[int, ...],
) -> None: ...
def differentiate(
    x: NDArray,
    gradient: NDArray,
    out: NDArray,
    outputs: int,
    groups: int,
    geometry: Geometry,
    places: tuple[int, ...],
) -> None: ...
def is_direct(outputs: int) -> bool: ...
