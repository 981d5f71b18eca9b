"""Importing the package, in interpreters of its own, and what it does to a process: folders of sys.path, and os.fork()."""
import os
import subprocess
import sys

import pytest

import myriad


def run(program, folder, **environment):
    site = os.path.dirname(os.path.dirname(myriad.__file__))
    environment = {**os.environ, 'PYTHONPATH': site, **environment}
    done = subprocess.run([sys.executable, '-c', program], cwd=folder, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_any_entry_of_the_path(tmp_path):
    (tmp_path / 'nvidia').mkdir()
    program = f'''
import pathlib, sys
sys.path[:0] = ['', pathlib.Path({str(tmp_path)!r}), {str(tmp_path)!r}.encode(), 'no such folder', None, 17]
import myriad
print(myriad.__version__)
'''
    assert run(program, tmp_path).strip() == myriad.__version__


FORK = '''
import os, signal, sys
{}
import numpy as np
from myriad import linalg
a = np.random.default_rng(0).standard_normal((20000, 8, 8)) + 8 * np.eye(8)
want = linalg.inv(a)
for _ in range(2):
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends a child that hangs
        os._exit(0 if np.array_equal(linalg.inv(a), want) else 1)
    status = os.waitpid(child, 0)[1]
    assert status == 0, f'the child ended with {{status}}'
    assert np.array_equal(linalg.inv(a), want)  # the parent goes on
print('done')
'''


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork')
@pytest.mark.parametrize('before', ['', 'torch'])
def test_a_forked_child_computes(tmp_path, before):
    if before:
        pytest.importorskip(before)
        before = 'import torch; torch.ones(1000, 1000) @ torch.ones(1000, 1000)'
    # More threads than one, also on a machine with one core
    assert run(FORK.format(before), tmp_path, MYRIAD_NUM_THREADS='4', OMP_NUM_THREADS='4') == 'done\n'


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork')
def test_multiprocessing_computes(tmp_path):
    program = '''
import multiprocessing
import numpy as np
import myriad.numpy
myriad.numpy.install()
a = np.random.default_rng(0).standard_normal((20000, 8, 8)) + 8 * np.eye(8)
want = np.linalg.inv(a)
def work(i):
    return bool(np.array_equal(np.linalg.inv(a), want))
with multiprocessing.get_context('fork').Pool(2) as pool:
    assert pool.map_async(work, range(4)).get(timeout=60) == [True] * 4
'''
    run(program, tmp_path, MYRIAD_NUM_THREADS='4', OMP_NUM_THREADS='4')
