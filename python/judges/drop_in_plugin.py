"""A pytest plugin: tests of another library with its linear algebra over Myriad. tools/python-judges runs it.

MYRIAD_DROP_IN=myriad.numpy or myriad.scipy is the module that is installed.
MYRIAD_PLANTED_ERROR=1e-6 scales the last column of every result by 1 + 1e-6, to show that the tests judge.
MYRIAD_CALLS=FILE gets the number of calls that reached Myriad, as JSON.
"""
import importlib
import json
import os

import numpy

PLANTED = float(os.environ.get('MYRIAD_PLANTED_ERROR', '0'))
drop_in = importlib.import_module(os.environ['MYRIAD_DROP_IN'])


def _damaged(result):
    """The result with an error in its first array of numbers that are not integers."""
    if isinstance(result, tuple):
        first = next((i for i, x in enumerate(result) if getattr(x, 'dtype', numpy.dtype(int)).kind in 'fc'), None)
        return result if first is None else (*result[:first], _damaged(result[first]), *result[first + 1 :])
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
