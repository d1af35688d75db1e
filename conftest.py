"""Hypothesis profiles for every test of the repository; ``HYPOTHESIS_PROFILE`` chooses one."""

import gc
import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, max_examples=60, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=15)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_finish() -> None:
    """What exists before the first test lasts to the end: tests that collect garbage need not look through it."""
    gc.collect()
    gc.freeze()
