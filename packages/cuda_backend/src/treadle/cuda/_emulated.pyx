"""The backend on the host: the same kernels as compiled behind emulation/cuda_runtime.h."""

import os

include "runtime_objects.pxi"
include "layer_kernels.pxi"
include "kernel_backend.pxi"

cdef extern from "cuda_runtime.h" namespace "emulation":
    void c_set_reversed "emulation::set_reversed" (bint reversed_)
    bint c_reversed "emulation::reversed" ()
    void c_set_memory_limit "emulation::set_memory_limit" (size_t nbytes)
    void c_fail_host_allocation "emulation::fail_host_allocation" (size_t count)

cdef extern from "asynchronous.h" namespace "emulation":
    void c_break_products "emulation::break_products" (bint broken)


def set_schedule(str schedule):
    """The order in which blocks and threads run: "forward" or "reversed". A kernel without races cares for neither."""
    if schedule not in ("forward", "reversed"):
        raise ValueError(f"the schedule is 'forward' or 'reversed', not {schedule!r}")
    c_set_reversed(schedule == "reversed")


def get_schedule():
    return "reversed" if c_reversed() else "forward"


def set_memory_limit(size_t nbytes):
    """How many bytes of memory each device has from now on; 0: as many as the host gives."""
    c_set_memory_limit(nbytes)


def fail_host_allocation(size_t count):
    """Let the count-th shared array that threads ask for from now on fail for want of host memory; 0: none."""
    c_fail_host_allocation(count)


def break_products(bint broken):
    """Let the emulated wgmma be wrong in one element, as a GPU's might be that has never run it."""
    c_break_products(broken)


set_schedule(os.environ.get("TREADLE_EMULATION_SCHEDULE", "forward"))
