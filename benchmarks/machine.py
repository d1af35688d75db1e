"""What the numbers were measured on: processor, instruction set, versions, and how busy the machine was."""

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["describe", "heading", "warnings"]

DISTRIBUTIONS = {"treadle": "treadle-ndarray", "numpy": "numpy", "torch": "torch", "scipy": "scipy"}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def describe() -> dict[str, Any]:
    """The machine as data; nothing in it names a folder or a host."""
    import treadle.ndarray as nd

    found = {name: _version(distribution) for name, distribution in DISTRIBUTIONS.items()}
    return {
        "processor": _processor(),
        "cpus": len(os.sched_getaffinity(0)),
        "isa": nd.isa(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name, version in found.items() if version},
        "niceness": os.nice(0),
        "load": round(os.getloadavg()[0], 2),
    }


def heading(machine: dict[str, Any]) -> str:
    """One line of it."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['processor']}, {machine['cpus']} CPUs, kernels {machine['isa']}, Python {machine['python']}, "
        f"{versions}; niceness {machine['niceness']}, load average at the start {machine['load']}"
    )


def warnings(machine: dict[str, Any]) -> list[str]:
    """What makes the numbers doubtful."""
    doubts = []
    if machine["load"] > 0.3:
        doubts.append(f"load average {machine['load']}: other work runs beside, most of all the two-thread rows suffer")
    if machine["niceness"] > 0:
        doubts.append(f"niceness {machine['niceness']}: every burst yields to other work")
    if machine["cpus"] < 2:
        doubts.append("one CPU: the two-thread rows are left out")
    return doubts
