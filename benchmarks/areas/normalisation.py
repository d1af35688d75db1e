"""Softmax, log-sum-exp and the statistics of layer normalisation, 4096 x 1024 float32."""

from benchmarks.case import Case, Goal, case
from benchmarks.libraries import normal

__all__ = ["CASES"]

GOALS = (Goal("torch", 1.0),)


def _cases(threads: int = 1) -> list[Case]:
    written = {
        "softmax, axis 1": ("xp.softmax(a, axis=1)", "xp.softmax(a, dim=1)"),
        "softmax, axis 0": ("xp.softmax(a, axis=0)", "xp.softmax(a, dim=0)"),
        "log_softmax, axis 1": ("xp.log_softmax(a, axis=1)", "xp.log_softmax(a, dim=1)"),
        "logsumexp, axis 1": ("xp.logsumexp(a, axis=1)", "xp.logsumexp(a, dim=1)"),
        "mean and var, axis 1": (
            "(xp.mean(a, axis=1), xp.var(a, axis=1))",
            "xp.var_mean(a, dim=1, correction=0)",
        ),
    }
    return [
        case(
            f"{name}, 4096 x 1024 float32",
            {"a": normal(4096, 1024)},
            own,
            GOALS,
            threads=threads,
            numpy=None,
            torch=torch,
        )
        for name, (own, torch) in written.items()
    ]


CASES = [*_cases(), *_cases(threads=2)]
