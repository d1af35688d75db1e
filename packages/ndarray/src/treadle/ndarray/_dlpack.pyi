from treadle.ndarray._array import NDArray
from treadle.ndarray._types import Device

VERSION: tuple[int, int]

class Imported:
    readonly: bool
    is_copy: bool
    def __init__(self, capsule: object) -> None: ...
    @property
    def device(self) -> tuple[int, int]: ...

def to_capsule(x: NDArray, device_type: int, device_id: int, versioned: bool, is_copy: bool) -> object: ...
def to_array(owner: Imported, device: Device) -> tuple[NDArray, bool]: ...
