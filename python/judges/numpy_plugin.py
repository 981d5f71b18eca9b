"""A pytest plugin: NumPy's own tests with numpy.linalg over myriad.numpy. tools/python-judges runs it.

MYRIAD_PLANTED_ERROR=1e-6 scales the last column of every result by 1 + 1e-6, to show that the tests judge.
MYRIAD_CALLS=FILE gets the number of calls that reached Myriad, as JSON.
"""
import json
import os

import numpy

import myriad.numpy as drop_in

PLANTED = float(os.environ.get('MYRIAD_PLANTED_ERROR', '0'))


def _damaged(result):
    if isinstance(result, tuple):
        return (_damaged(result[0]), *result[1:])
    result = numpy.array(result)
    if result.size and result.dtype.kind in 'fc':
        result[..., -1:] *= 1 + PLANTED
    return result[()]


def pytest_configure(config):
    if PLANTED:
        for name, function in list(drop_in._FUNCTIONS.items()):
            def damaged(*arguments, function=function):
                result = function(*arguments)
                return result if result is NotImplemented else _damaged(result)
            drop_in._FUNCTIONS[name] = damaged
    drop_in.install()


def pytest_unconfigure(config):
    if path := os.environ.get('MYRIAD_CALLS'):
        with open(path, 'w') as file:
            json.dump(drop_in.report(), file)
