from treadle.ndarray._array import NDArray

def sort(
    op: str, x: NDArray, axis: object, descending: bool, stable: bool, want_values: bool, want_places: bool
) -> tuple[NDArray | None, NDArray | None]: ...
