from treadle.ndarray._array import NDArray

def adam_step(
    parameter: NDArray, gradient: NDArray, first: NDArray, second: NDArray, hyper: tuple[float, ...]
) -> bool: ...
def sgd_step(
    parameter: NDArray, gradient: NDArray, momentum_buffer: NDArray | None, hyper: tuple[float, ...]
) -> bool: ...
