from treadle.ndarray._array import NDArray

def windows(
    x: NDArray, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> NDArray: ...
