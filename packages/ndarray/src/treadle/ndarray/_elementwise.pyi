UNARY_NAMES: list[str]
BINARY_NAMES: list[str]
TERNARY_NAMES: list[str]
REDUCE_NAMES: list[str]

def select(isa: int) -> None: ...
