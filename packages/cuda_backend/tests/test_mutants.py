"""The tool that takes barriers out finds them all, and what it writes is what it says."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[1] / "tools"

pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="the tools are in the repository only")

SOURCE = """\
/* __syncthreads() in a comment */
__global__ void one_kernel(int (&x)[4], const Plan plan)
{
    __syncthreads(); // and __syncthreads() here
    x[0] = __shfl_down_sync(mask(1, 2), f(x[0], 1), 4) + __popc(1);
}

template <class T>
TD_DEVICE T other(T x)
{
    for (;;) {
        __syncwarp();
        __syncthreads();
    }
}
"""


def test_every_barrier_and_exchange_is_found(load: Callable[[str], ModuleType], tmp_path: Path) -> None:
    mutants = load("mutants")
    file = tmp_path / "some.cu"
    file.write_text(SOURCE)
    found = mutants.changes(file)
    assert [change[:2] for change in found] == [("one_kernel", 1), ("one_kernel", 2), ("other", 1), ("other", 2)]
    changed = [SOURCE[:begin] + replacement + SOURCE[end:] for _, _, begin, end, replacement in found]
    assert "    ; // and" in changed[0]
    assert "x[0] = (f(x[0], 1)) + __popc(1);" in changed[1]
    assert changed[2].count("__syncwarp") == 0 and changed[2].count("__syncthreads") == 4


def test_the_kernels_barriers_are_all_mutants(load: Callable[[str], ModuleType]) -> None:
    mutants = load("mutants")
    names = [mutant.name for mutant in mutants.mutants()]
    assert len(names) == len(set(names)) >= 17
    for path in mutants.KERNELS.glob("*.cu"):
        own = mutants.without_comments(path.read_text()).count("__sync")
        assert sum(name.startswith(f"{path.name}:{path.name}:") for name in names) >= own
    assert {name.split(":")[0] for name in names if ":lanes.h:" in name} >= {"reduce.cu", "arg_reduce.cu", "softmax.cu"}


def test_every_proof_is_of_a_barrier_that_exists(load: Callable[[str], ModuleType]) -> None:
    mutants = load("mutants")
    proofs = tomllib.loads(mutants.REDUNDANT.read_text())
    assert set(proofs) <= {mutant.name for mutant in mutants.mutants()}
    assert all(len(proof) > 60 for proof in proofs.values())
