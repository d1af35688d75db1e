"""These tests compare with PyTorch; where it is not installed they are not collected. The session ``parity`` has it."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
