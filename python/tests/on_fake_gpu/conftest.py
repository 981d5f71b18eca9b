"""Tests of CUDA arrays on the fake driver, in a process of their own: `pytest python/tests/on_fake_gpu`."""
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]

import fake_gpu  # noqa: E402, F401: before anything opens the driver
