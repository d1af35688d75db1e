from treadle.ndarray._array import NDArray

def lstm(
    gates: NDArray,
    hidden: NDArray,
    cell: NDArray,
    weight: NDArray,
    on: NDArray,
    cells: NDArray,
    shown: NDArray,
    hiddens: NDArray,
) -> bool: ...
def lstm_gradient(
    on: NDArray,
    cells: NDArray,
    shown: NDArray,
    cell: NDArray,
    weight: NDArray,
    by_hiddens: NDArray | None,
    by_cells: NDArray | None,
    by_gates: NDArray,
    by_hidden: NDArray,
    by_cell: NDArray,
) -> bool: ...
