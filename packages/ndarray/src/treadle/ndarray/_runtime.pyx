"""Instruction set and threads, for config.py."""

from treadle.ndarray._elementwise import select as select_elementwise
from treadle.ndarray._layers import select as select_layers
from treadle.ndarray._matmul import select as select_matmul
from treadle.ndarray._sorting import select as select_sorting

cdef extern from "kernels/isa.h" nogil:
    int td_isa_detect()
    int td_isa_from_name(const char *name)
    const char *td_isa_name(int isa)


def detect():
    """The best instruction set of this processor, as a number."""
    return td_isa_detect()


def from_name(str name):
    """The number of an instruction set, -1 if there is none of that name."""
    return td_isa_from_name(name.encode())


def name_of(int isa):
    """The name of an instruction set."""
    return td_isa_name(isa).decode()


def select(int isa):
    """Make every family use an instruction set."""
    select_elementwise(isa)
    select_matmul(isa)
    select_sorting(isa)
    select_layers(isa)
