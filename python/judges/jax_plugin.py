"""A pytest plugin: JAX's own tests of its linear algebra over myriad.jax. tools/python-judges runs it.

MYRIAD_PLANTED_ERROR=1e-6 scales every result of Myriad by 1 + 1e-6, to show that the tests judge.
MYRIAD_CALLS=FILE gets the number of calls that reached Myriad, as JSON, and those that were left to JAX with the reasons.
"""
import json
import os

import jax.numpy as jnp

import myriad.jax

PLANTED = float(os.environ.get('MYRIAD_PLANTED_ERROR', '0'))


def pytest_configure(config):
    if PLANTED:
        call = myriad.jax._call

        def damaged(*arguments, **options):
            return [x * (1 + PLANTED) if jnp.issubdtype(x.dtype, jnp.inexact) else x for x in call(*arguments, **options)]

        myriad.jax._call = damaged
    myriad.jax.enable(min_batch=1)


def pytest_unconfigure(config):
    report = myriad.jax.report()
    if path := os.environ.get('MYRIAD_CALLS'):
        with open(path, 'w') as file:
            json.dump({'calls': report.calls, 'operators': report}, file)
