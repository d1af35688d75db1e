from treadle.ndarray._array import NDArray

def attention(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None,
    causal: bool,
    past: int,
    scale: float,
    out: NDArray,
    logsumexp: NDArray,
) -> bool: ...
def attention_gradient(
    gradient: NDArray,
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None,
    causal: bool,
    past: int,
    scale: float,
    out: NDArray,
    logsumexp: NDArray,
    by_query: NDArray,
    by_key: NDArray,
    by_value: NDArray,
) -> bool: ...
