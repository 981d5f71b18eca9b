"""The example of docs/python.md runs, and the page names every function."""
import pathlib
import re

import numpy as np

import myriad.numpy
from myriad import batched, lapack, linalg

PAGE = pathlib.Path(__file__).parents[2] / 'docs' / 'python.md'


def test_example(capsys):
    blocks = re.findall(r'```python\n(.*?)```', PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 1
    names = {}
    try:
        exec(compile(blocks[0], str(PAGE), 'exec'), names)
    finally:
        myriad.numpy.uninstall()
    assert capsys.readouterr().out == 'Singular matrix (matrix 17 of 10000)\n'
    assert np.allclose(names['a'][0].shape, (8, 8)) and np.allclose(names['x'][~names['bad']], names['y'])
    assert np.isnan(names['inverse'][17]).all() and len(names['factors']) == 1000


def test_functions_are_named():
    text = PAGE.read_text()
    for module in (linalg, lapack, batched, myriad.numpy):
        for name in module.__all__:
            if name[0].islower():
                assert re.search(rf'`{name}\b', text), f'{module.__name__}.{name}'
