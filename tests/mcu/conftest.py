"""The board's tests run in the session ``mcu``, where the cross-compiler and the emulator are at hand."""

from mcu import harness

collect_ignore_glob = ["test_*.py"] if harness.missing() else []
