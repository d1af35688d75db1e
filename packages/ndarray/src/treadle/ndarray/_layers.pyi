from treadle.ndarray._array import NDArray
from treadle.ndarray.geometry import Geometry

def select(isa: int) -> None: ...
def activation_gradient(op: str, gradient: NDArray, saved: NDArray) -> NDArray | None: ...
def max_pool(x: NDArray, places: tuple[int, ...], geometry: Geometry) -> tuple[NDArray, NDArray] | None: ...
def max_pool_gradient(gradient: NDArray, indices: NDArray, input_shape: tuple[int, ...]) -> NDArray | None: ...
def norm_rows(
    x: NDArray, width: int, center: bool, eps: float, weight: NDArray | None, bias: NDArray | None
) -> tuple[NDArray, NDArray | None, NDArray] | None: ...
def norm_rows_gradient(
    gradient: NDArray,
    x: NDArray,
    width: int,
    mean: NDArray | None,
    scale: NDArray,
    weight: NDArray | None,
    wanted: tuple[bool, ...],
) -> tuple[NDArray | None, NDArray | None, NDArray | None] | None: ...
def norm_channels(
    x: NDArray, mean: NDArray, scale: NDArray, weight: NDArray | None, bias: NDArray | None
) -> NDArray | None: ...
def norm_channels_gradient(
    gradient: NDArray,
    x: NDArray,
    mean: NDArray,
    scale: NDArray,
    weight: NDArray | None,
    wanted: tuple[bool, ...],
) -> tuple[NDArray | None, NDArray | None, NDArray | None] | None: ...
def lstm_step(
    product: NDArray,
    given: NDArray,
    before: NDArray,
    gates: NDArray,
    cell: NDArray,
    shown: NDArray,
    hidden: NDArray,
) -> bool: ...
def lstm_step_gradient(
    gates: NDArray, before: NDArray, shown: NDArray, d_shown: NDArray, d_cell: NDArray, d_gates: NDArray
) -> bool: ...
def entropy(op: object, logits: NDArray, targets: NDArray, ignored: int, smoothing: float) -> NDArray | None: ...
def entropy_gradient(
    logits: NDArray, targets: NDArray, ignored: int, smoothing: float, scale: NDArray
) -> NDArray | None: ...
