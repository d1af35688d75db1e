from types import CodeType

class Position:
    code: CodeType
    instruction: int

def position() -> Position | None: ...
