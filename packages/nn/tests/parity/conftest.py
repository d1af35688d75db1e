"""These tests compare with PyTorch; where it is not installed they are not collected. The session ``parity`` has it."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Small tensors: PyTorch's threads would only wait for each other."""
    import torch

    torch.set_num_threads(1)
