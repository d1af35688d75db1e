from collections.abc import Sequence
from typing import SupportsIndex

from treadle.ndarray._array import NDArray

def windows(x: NDArray, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> NDArray: ...
def strided(
    x: NDArray,
    offset: int,
    shape: SupportsIndex | Sequence[SupportsIndex],
    strides: Sequence[int],
    writable: bool,
) -> NDArray: ...
