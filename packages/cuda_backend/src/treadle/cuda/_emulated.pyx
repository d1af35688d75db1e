"""The backend on the host: the same kernels as compiled behind emulation/cuda_runtime.h."""

import os

include "kernel_backend.pxi"

cdef extern from "cuda_runtime.h" namespace "emulation":
    void c_set_reversed "emulation::set_reversed" (bint reversed_)
    bint c_reversed "emulation::reversed" ()


def set_schedule(str schedule):
    """The order in which blocks and threads run: "forward" or "reversed". A kernel without races cares for neither."""
    if schedule not in ("forward", "reversed"):
        raise ValueError(f"the schedule is 'forward' or 'reversed', not {schedule!r}")
    c_set_reversed(schedule == "reversed")


def get_schedule():
    return "reversed" if c_reversed() else "forward"


set_schedule(os.environ.get("TREADLE_EMULATION_SCHEDULE", "forward"))
