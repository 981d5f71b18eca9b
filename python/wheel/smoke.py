"""Uses an installed wheel: smoke.py [--torch]. Run by tools/wheel in an environment without compiler and repository."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time

import numpy as np


def require(condition, problem):
    if not condition:
        sys.exit(f'smoke.py: {problem}')


def mapped(name):
    """The files with this part of a name that are mapped into the process"""
    return {line.split()[-1] for line in open('/proc/self/maps') if name in line.rsplit('/', 1)[-1]}


def threads():
    return len(os.listdir('/proc/self/task'))


torch = None
if '--torch' in sys.argv:
    import torch
    torch.ones(1000, 1000) @ torch.ones(1000, 1000)
for compiler in ('cc', 'gcc', 'g++', 'clang'):
    require(shutil.which(compiler) is None, f'there is a compiler: {shutil.which(compiler)}')
openmp_before, threads_before = mapped('libgomp'), threads()
started = time.perf_counter()
import myriad
from myriad import batched, lapack, linalg
import_time = time.perf_counter() - started
blas_threads = threads() - threads_before
site = sysconfig.get_path('platlib')
require(pathlib.Path(myriad.__file__).is_relative_to(site), f'myriad was imported from {myriad.__file__}, not from {site}')

rng = np.random.default_rng(0)
for dtype in ('f4', 'f8', 'c8', 'c16'):
    for n, count in ((5, 20_000), (40, 300), (150, 6)):  # SIMD lanes, and LAPACK
        a = rng.standard_normal((count, n, n)) + (1j * rng.standard_normal((count, n, n)) if dtype[0] == 'c' else 0)
        a, identity = (a / n + 2 * np.eye(n)).astype(dtype), np.eye(n, dtype=dtype)
        gram = a @ a.conj().mT + identity
        tolerance = n * n * np.finfo(dtype).eps * 10

        def near(x, y):
            return x.dtype == y.dtype and np.abs(x - y).max() <= tolerance * np.abs(y).max()

        require(near(a @ linalg.inv(a), identity + 0 * a), f'inv is wrong for {dtype}, n = {n}')
        factor = linalg.cholesky(gram)
        require(near(factor @ factor.conj().mT, gram), f'cholesky is wrong for {dtype}, n = {n}')
        q, r = linalg.qr(a)
        require(near(q @ r, a), f'qr is wrong for {dtype}, n = {n}')
        few = slice(0, 100)
        w, v = linalg.eigh(gram[few])
        require(near(v * w[:, None, :].astype(dtype) @ v.conj().mT, gram[few]), f'eigh is wrong for {dtype}, n = {n}')
        u, s, vh = linalg.svd(a[few])
        require(near(u * s[:, None, :].astype(dtype) @ vh, a[few]), f'svd is wrong for {dtype}, n = {n}')

openmp = mapped('libgomp') | mapped('libomp')
require(openmp == openmp_before, f'myriad loaded an OpenMP: {openmp - openmp_before}')
require(len(mapped('libscipy_openblas')) >= 1, 'LAPACK of the wheel is not loaded')
if torch:
    require(len(openmp) == 1, f'torch has loaded one OpenMP, but there are {openmp}')
    a = torch.randn(500, 8, 8, dtype=torch.float64)
    require(torch.allclose(linalg.inv(a) @ a, torch.eye(8, dtype=torch.float64), atol=1e-6), 'inv of a tensor is wrong')
    torch.ones(1000, 1000) @ torch.ones(1000, 1000)

# A fork after the pool has started
a = rng.standard_normal((20_000, 8, 8)) + 8 * np.eye(8)
want = linalg.inv(a)
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends a child that hangs
    os._exit(0 if np.array_equal(linalg.inv(a), want) else 1)
require(os.waitpid(child, 0)[1] == 0, 'a forked child did not compute')

# The program
with tempfile.TemporaryDirectory() as folder:
    def program(*arguments):
        done = subprocess.run(['myriad', *arguments], cwd=folder, capture_output=True, text=True, timeout=100)
        require(done.returncode == 0, f'myriad {" ".join(arguments)} failed: {done.stderr}')
        return done.stdout

    require(myriad.__version__ in program('--version'), 'myriad --version does not print the version of the package')
    require('openblas' in json.loads(program('info', '--json'))['versions'], 'myriad info --json has no version of LAPACK')
    np.savez(pathlib.Path(folder, 'in.npz'), a=a, b=a[:, :, :2])
    program('solve', 'in.npz:a', 'in.npz:b', '-o', 'x.npy')
    x = np.load(pathlib.Path(folder, 'x.npy'))
    require(np.abs(a @ x - a[:, :, :2]).max() < 1e-10, 'myriad solve is wrong')
print(f'Python {sys.version.split()[0]}, NumPy {np.__version__}{f", torch {torch.__version__}" if torch else ""}: all is well. Import after NumPy: '
      f'{1000 * import_time:.0f} ms; threads: {threads_before} before it, {blas_threads} more by loading LAPACK, {threads()} after calls; '
      f'OpenMP: {", ".join(sorted(openmp)) or "none"}')
