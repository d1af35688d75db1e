"""Tools to look into a graph: what happened in it, why, and where it went wrong. See docs/debugging.md."""

from treadle.autograd.debugging.anomaly import Finding, detect_anomaly, first_nonfinite
from treadle.autograd.debugging.connection import Break, Connection, connection
from treadle.autograd.debugging.health import GradientHealth, gradient_health
from treadle.autograd.debugging.memory import LiveLine, track_memory
from treadle.autograd.debugging.stepper import Breakpoint, Step, Stepper
from treadle.autograd.debugging.why import Contribution, Path, Paths, Why, why

__all__ = [
    "Break", "Breakpoint", "Connection", "Contribution", "Finding", "GradientHealth", "LiveLine", "Path", "Paths",
    "Step", "Stepper", "Why", "connection", "detect_anomaly", "first_nonfinite", "gradient_health", "track_memory",
    "why",
]  # fmt: skip
