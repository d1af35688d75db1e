"""These tests compare with PyTorch; where it is not installed, as in every session but ``parity``, they are no tests."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
