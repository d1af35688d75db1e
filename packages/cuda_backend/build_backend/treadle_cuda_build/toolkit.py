"""Where nvcc is, whether it will do, and what to build for."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "NVCC_WHEELS", "Toolkit", "architectures", "emulation_only", "find_toolkit", "require_compiler", "require_toolkit",
    "strict",
]  # fmt: skip

NVCC_WHEELS = (
    "nvidia-cuda-nvcc==13.0.*",
    "nvidia-cuda-runtime==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
    "nvidia-nvvm==13.0.*",
    "nvidia-cuda-crt==13.0.*",
)
OLDEST_NVCC = (12, 0)
DEFAULT_ARCHITECTURES = "75,80,90,90a"
"""90a is Hopper with the instructions that later processors do not have, such as wgmma."""
_NO_NVCC = (
    "treadle-cuda needs nvcc to build its kernels for a GPU, and none was found: not on PATH, not under CUDA_HOME or "
    "/usr/local/cuda, not in the Python environment. Install the CUDA toolkit, or the wheels "
    + " ".join(f"'{wheel}'" for wheel in NVCC_WHEELS)
    + " (pip does so by itself unless it runs with --no-build-isolation), or build only the emulation on the host with "
    "TREADLE_CUDA_EMULATION_ONLY=1."
)


@dataclass(frozen=True)
class Toolkit:
    """An nvcc, and where the static runtime library lies."""

    nvcc: Path
    library: Path


def emulation_only() -> bool:
    """Whether TREADLE_CUDA_EMULATION_ONLY asks for the host build alone."""
    return os.environ.get("TREADLE_CUDA_EMULATION_ONLY", "0") not in ("", "0")


def strict() -> bool:
    """Whether TREADLE_STRICT_BUILD takes warnings, and registers that spill, for errors."""
    return os.environ.get("TREADLE_STRICT_BUILD", "0") not in ("", "0")


def _candidates() -> list[Path]:
    found = shutil.which("nvcc")
    roots = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots.append("/usr/local/cuda")
    # The wheels, which in an isolated build lie in a folder of its own that only sys.path knows.
    roots += [str(Path(entry, "nvidia", "cu13")) for entry in sys.path if entry]
    paths = [Path(root, "bin", "nvcc") for root in roots]
    return [Path(found).resolve(), *paths] if found else paths


def _library(nvcc: Path) -> Path | None:
    root = nvcc.parent.parent
    for folder in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
        if (root / folder / "libcudart_static.a").exists():
            return root / folder
    return None


def find_toolkit() -> Toolkit | None:
    """The first nvcc that stands beside a static runtime library: on PATH, CUDA_HOME, /usr/local/cuda, in wheels."""
    for nvcc in _candidates():
        library = _library(nvcc) if nvcc.exists() else None
        if library is not None:
            return Toolkit(nvcc, library)
    return None


def require_toolkit() -> Toolkit:
    """The toolkit, or an error that says how to get one."""
    toolkit = find_toolkit()
    if toolkit is None:
        raise SystemExit(_NO_NVCC)
    printed = subprocess.run([toolkit.nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", printed)
    if release is None or (int(release[1]), int(release[2])) < OLDEST_NVCC:
        oldest = ".".join(map(str, OLDEST_NVCC))
        version = release[0] if release else "an unknown release"
        raise SystemExit(f"treadle-cuda needs nvcc {oldest} or newer; {toolkit.nvcc} is {version}.")
    return toolkit


def require_compiler() -> str:
    """The C++ compiler, or an error that says how to get one."""
    compiler = os.environ.get("CXX") or (sysconfig.get_config_var("CXX") or "g++").split()[0]
    if shutil.which(compiler.split()[0]) is None:
        raise SystemExit(
            f"treadle-cuda needs a C++ compiler to build, and {compiler!r} was not found. Install one (Debian: apt-get "
            "install g++ python3-dev; Fedora: dnf install gcc-c++ python3-devel) or set CXX."
        )
    return compiler


def architectures(*, specific: bool) -> list[str]:
    """nvcc's options for TREADLE_CUDA_ARCHS (default 75,80,90,90a): code for each, and PTX of the newest plain one.

    Only a source with instructions that later processors lack is ``specific``, and compiled for 90a in place of 90. The
    others are compiled for 90 alone, which runs on the same GPUs.
    """
    names = [name.strip() for name in os.environ.get("TREADLE_CUDA_ARCHS", DEFAULT_ARCHITECTURES).split(",")]
    wrong = [name for name in names if not re.fullmatch(r"\d{2,3}[af]?", name)]
    if wrong:
        raise SystemExit(f"TREADLE_CUDA_ARCHS lists compute capabilities such as 75,80,90a, not {', '.join(wrong)!r}.")
    plain = [int(name) for name in names if name.isdecimal()]
    names = [name for name in names if f"{name}a" not in names] if specific else [name.rstrip("af") for name in names]
    options = [f"-gencode=arch=compute_{name},code=sm_{name}" for name in dict.fromkeys(names)]
    if plain:
        options.append(f"-gencode=arch=compute_{max(plain)},code=compute_{max(plain)}")
    return options
