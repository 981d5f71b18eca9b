"""Arrays of dask: myriad.linalg beside the same calls on NumPy arrays, on threads and on a cluster of two processes, one of which is killed."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

WHY = 'dask is not installed: python/requirements-dask.txt'
da = pytest.importorskip('dask.array', reason=WHY)
distributed = pytest.importorskip('distributed', reason=WHY)
xr = pytest.importorskip('xarray', reason=WHY)
zarr = pytest.importorskip('zarr', reason=WHY)

import cloudpickle
import dask
from dask.array.utils import assert_eq

import myriad
from common import hermitian, matrices, positive, random, tolerance
from myriad import batched, lapack, linalg

ROOT = pathlib.Path(__file__).parents[2]
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the workers cannot import the tests


def chunked(x, *leading):
    return da.from_array(x, chunks=(*leading, *x.shape[len(leading):]))


def block(word):
    """The block of code of docs/python.md with this word."""
    found = [code for code in re.findall(r'```py\n(.*?)```', (ROOT / 'docs' / 'python.md').read_text(), re.DOTALL) if word in code]
    assert len(found) == 1
    return found[0]


def same(lazy, expected, chunks=None):
    """The lazy result has type, shape, chunks, meta and values of what was expected, and the same fields."""
    if isinstance(expected, tuple):
        assert type(lazy) is type(expected)
        for x, y in zip(lazy, expected, strict=True):
            same(x, y, chunks)
        return
    assert isinstance(lazy, da.Array) and isinstance(lazy._meta, np.ndarray)
    rtol = tolerance(expected.dtype) if expected.dtype.kind in 'fc' else 0
    assert_eq(lazy, expected, rtol=rtol, atol=rtol * (np.abs(expected).max() if expected.size else 0))
    if chunks is not None:
        assert lazy.chunks[:len(chunks)] == chunks and all(len(c) == 1 for c in lazy.chunks[len(chunks):])


# ---- Every function -----------------------------------------------------------------------------

CALLS = {
    'cholesky': [lambda f, a, b, p: f(p), lambda f, a, b, p: f(p, upper=True)],
    'det': [lambda f, a, b, p: f(a)],
    'eigh': [lambda f, a, b, p: f(p)],
    'eigvalsh': [lambda f, a, b, p: f(p)],
    'inv': [lambda f, a, b, p: f(a)],
    'matmul': [lambda f, a, b, p: f(a, b), lambda f, a, b, p: f(a, b[0, 0, :, 0]), lambda f, a, b, p: f(b[0, 0, :, 0], a)],
    'matrix_norm': [lambda f, a, b, p: f(b), lambda f, a, b, p: f(b, ord='nuc', keepdims=True), lambda f, a, b, p: f(b, ord=np.inf)],
    'matrix_power': [lambda f, a, b, p: f(a, 3), lambda f, a, b, p: f(a, -1), lambda f, a, b, p: f(a, 0)],
    'matrix_rank': [lambda f, a, b, p: f(b), lambda f, a, b, p: f(b, rtol=0.4)],
    'pinv': [lambda f, a, b, p: f(b), lambda f, a, b, p: f(b, rtol=0.4)],
    'qr': [lambda f, a, b, p: f(b), lambda f, a, b, p: f(b, mode='complete')],
    'slogdet': [lambda f, a, b, p: f(a)],
    'solve': [lambda f, a, b, p: f(a, b), lambda f, a, b, p: f(a, b[0, 0, :, 0])],
    'svd': [lambda f, a, b, p: f(b), lambda f, a, b, p: f(b, full_matrices=False)],
    'svdvals': [lambda f, a, b, p: f(b)],
}
# Functions of dask itself, which may split core axes
OTHERS = {
    'cross': [lambda f, a, b: f(b[..., :3, 0], b[..., :3, 1]), lambda f, a, b: f(b[..., :3, :], b[..., 1:4, :], axis=-2)],
    'diagonal': [lambda f, a, b: f(b), lambda f, a, b: f(b, offset=1)],
    'matrix_transpose': [lambda f, a, b: f(b)],
    'outer': [lambda f, a, b: f(a[0, 0, 0], b[0, 0, 1])],
    'tensordot': [lambda f, a, b: f(a[0], b[0], axes=((2, 0), (1, 0))), lambda f, a, b: f(a[0, 0], b[0, 0], axes=1)],
    'trace': [lambda f, a, b: f(b), lambda f, a, b: f(b, offset=-1)],
    'vecdot': [lambda f, a, b: f(a, a), lambda f, a, b: f(b, b, axis=-2)],
    'vector_norm': [lambda f, a, b: f(b), lambda f, a, b: f(b, axis=(0, -1), keepdims=True), lambda f, a, b: f(b, axis=1, ord=np.inf),
                    lambda f, a, b: f(b, axis=-1, ord=-np.inf), lambda f, a, b: f(b, axis=-1, ord=1), lambda f, a, b: f(b, axis=-1, ord=0)],
}


def test_all_functions_are_tested():
    assert CALLS.keys() | OTHERS.keys() == set(linalg.__all__) - {'eig', 'eigvals', 'LinAlgError'}


@pytest.mark.parametrize('dtype', ['f8', 'c8'])
@pytest.mark.parametrize('name', CALLS)
def test_function(name, dtype):
    arrays = matrices((5, 2), 4, dtype), random((5, 2, 4, 3), dtype), positive((5, 2), 4, dtype)
    lazy = [chunked(x, 2, 1) for x in arrays]
    function = getattr(linalg, name)
    for call in CALLS[name]:
        result, expected = call(function, *lazy), call(function, *arrays)
        if name in ('eigh', 'svd', 'qr'):  # exactly: vectors have no other unique values
            assert all(np.array_equal(x, y) for x, y in zip(*dask.compute(result, expected), strict=True))
        same(result, expected, ((2, 2, 1), (1, 1)))


@pytest.mark.parametrize('name', OTHERS)
def test_function_of_dask(name):
    a, b = random((3, 2, 4, 4)), random((3, 2, 4, 5), 'c16')
    lazy = [da.from_array(x, chunks=2) for x in (a, b)]
    for call in OTHERS[name]:
        same(call(getattr(linalg, name), *lazy), call(getattr(linalg, name), a, b))
    same(linalg.vector_norm(chunked(np.arange(6), 4)), linalg.vector_norm(np.arange(6)))


def test_no_eigensolver():
    for f in (linalg.eig, linalg.eigvals):
        with pytest.raises(NotImplementedError):
            f(chunked(matrices((3,), 4, 'f8'), 2))


# ---- Arguments ----------------------------------------------------------------------------------


def test_arguments_are_combined():
    a, b = matrices((6, 1), 4, 'f8'), random((5, 4, 3), 'c8')
    x = linalg.solve(a, b)
    same(linalg.solve(chunked(a, 4, 1), chunked(b, 2)), x, ((4, 2), (2, 2, 1)))  # broadcast, promoted
    same(linalg.solve(chunked(a, 4, 1), b), x, ((4, 2), (5,)))
    same(linalg.solve(a, chunked(b, 2)), x, ((6,), (2, 2, 1)))
    same(linalg.matmul(chunked(a[:, 0], 4), chunked(a[:, 0], 3)), a[:, 0] @ a[:, 0], ((3, 1, 2),))  # other chunks
    same(linalg.matmul(chunked(b, 2), [[1, 2], [3, 4], [5, 6]]), linalg.matmul(b, [[1, 2], [3, 4], [5, 6]]), ((2, 2, 1),))
    i = np.arange(18).reshape(2, 3, 3)
    same(linalg.matmul(chunked(i, 1), i), i @ i, ((1, 1),))  # integers stay integers
    same(linalg.det(chunked(i, 1)), linalg.det(i), ((1, 1),))
    same(linalg.inv(chunked(a[0, 0], 4)), linalg.inv(a[0, 0]), ())  # one matrix
    same(linalg.inv(chunked(a[:0], 1, 1)), linalg.inv(a[:0]))  # none


def test_tolerances_for_each_matrix():
    a, rtol = random((7, 5, 3)), np.linspace(0, 0.9, 7)
    for function in (linalg.pinv, linalg.matrix_rank):
        for given in (rtol, chunked(rtol, 2), list(rtol)):
            same(function(chunked(a, 3), rtol=given), function(a, rtol=rtol))
        same(function(chunked(a, 3), rtol=da.from_array(np.array(0.4))), function(a, rtol=0.4), ((3, 3, 1),))


def test_unknown_number_of_matrices():
    a = matrices((20,), 4, 'f8')
    x = chunked(a, 6)
    some = x[linalg.det(x) > np.median(linalg.det(a))]
    assert np.isnan(some.shape[0])
    assert np.allclose(linalg.solve(some, some).compute(), np.broadcast_to(np.eye(4), (10, 4, 4)))


def test_what_is_refused():
    a = chunked(matrices((6,), 4, 'f8'), 2)
    split = a.rechunk((2, 4, 3))
    with pytest.raises(ValueError, match=r'^inv: axis -1 of x has 2 chunks; a matrix must be in one chunk: use x.rechunk\(\{-2: -1, -1: -1\}\)$'):
        linalg.inv(split)
    with pytest.raises(ValueError, match=r'^solve: axis -1 of x2 has 2 chunks.*x2.rechunk'):
        linalg.solve(a, split)
    with pytest.raises(ValueError, match=r'^matmul: axis -1 of x2 has 2 chunks; a vector must be in one chunk: use x2.rechunk\(\{-1: -1\}\)$'):
        linalg.matmul(a, da.ones(4, chunks=2))
    same(linalg.inv(split.rechunk({-2: -1, -1: -1})), linalg.inv(a.compute()))
    with pytest.raises(ValueError, match=r'^svd: the size of axis -2 of x is unknown; use x.compute_chunk_sizes\(\)'):
        linalg.svd(a[0][a[0, 0] > 0])
    # Errors of shapes, types and options, before anything is computed
    with pytest.raises(myriad.LinAlgError, match='must be square, are 4 and 3'):
        linalg.cholesky(a[:, :, :3])
    with pytest.raises(myriad.LinAlgError, match='0-dimensional'):
        linalg.det(a[0, 0, 0])
    with pytest.raises(ValueError, match='matmul: x1 has 4 columns and x2 has 3 rows'):
        linalg.matmul(a, a[:, :3])
    with pytest.raises(ValueError, match='vecdot: x1 has 3 elements along axis -1, x2 has 1; needs as many'):
        linalg.vecdot(da.ones((5, 3)), da.ones((5, 1)))
    with pytest.raises(ValueError, match='broadcast'):
        linalg.solve(a, a[:5])
    with pytest.raises(ValueError, match="qr: mode is 'r'"):
        linalg.qr(a, mode='r')
    with pytest.raises(TypeError, match='float16 is unsupported'):
        linalg.inv(a.astype('f2'))
    with pytest.raises(TypeError, match='solve: x2 is a dask.delayed.Delayed'):
        linalg.solve(a, dask.delayed(np.eye)(4))
    with pytest.raises(ValueError, match='cross: x1 has 4 elements along axis -1; needs 3'):
        linalg.cross(a, a)
    for call in (lambda: lapack.getrf(a), lambda: lapack.getrf(a, stream=1), lambda: batched.solve_refined(a, a),
                 lambda: batched.cholesky_jitter(a)):
        with pytest.raises(TypeError, match='taken by the functions of myriad.linalg only; .* dask.array.map_blocks'):
            call()
    with pytest.raises(NotImplementedError, match='array 0 is a Array'):
        batched.ragged([a])


def test_failed_matrices():
    a = matrices((6,), 4, 'f8')
    a[3] = 0
    x = linalg.inv(chunked(a, 2))
    with pytest.raises(myriad.LinAlgError, match=r'Singular matrix \(matrix 1 of 2\)') as error:  # of its chunk
        x.compute()
    assert error.value.info.tolist() == [0, 1]
    x = linalg.inv(chunked(a, 2), check=False).compute()
    assert np.isnan(x[3]).all() and np.array_equal(np.delete(x, 3, 0), linalg.inv(np.delete(a, 3, 0)))


def test_nothing_is_computed_before_it_is_asked_for(monkeypatch):
    def fail(x):
        raise AssertionError('computed')

    a = da.ones((6, 4, 4), chunks=(2, 4, 4)).map_blocks(fail, dtype='f8')
    for name, calls in CALLS.items():
        for call in calls:
            x = call(getattr(linalg, name), a[:, None], a[:, None], a[:, None])
            with pytest.raises(AssertionError, match='computed'):
                dask.compute(x)
    a = chunked(hermitian((6,), 4, 'f8'), 2)
    calls, eigen = [], linalg._eigen
    monkeypatch.setattr(linalg, '_eigen', lambda *arguments: calls.append(1) or eigen(*arguments))
    w, v = linalg.eigh(a)
    calls.clear()
    dask.compute(w, v, scheduler='sync')
    assert len(calls) == 3  # once a chunk for both results


def test_steps_are_fused():
    """Steps before and after a call are in one task with it, as they are with map_blocks."""
    a, b = (da.from_array(x, chunks=(2, 4, 4)) + 1 for x in (matrices((6,), 4, 'f8'), random((6, 4, 4))))
    tasks = [len(dask.optimize(2 * x)[0].dask) for x in (linalg.solve(a, b), da.map_blocks(np.linalg.solve, a, b, meta=np.empty((0, 0, 0))))]
    assert tasks[0] == tasks[1]


def test_names_tell_equal_results():
    a = chunked(matrices((6,), 4, 'f8'), 2)
    assert linalg.qr(a).Q.name == linalg.qr(a).Q.name and linalg.qr(a).Q.name.startswith('qr_Q-')
    assert linalg.qr(a).Q.name != linalg.qr(a, mode='complete').Q.name
    assert linalg.matrix_power(a, 2).name != linalg.matrix_power(a, 3).name
    assert linalg.solve(a, a).name.startswith('solve-')


def test_dask_is_imported_by_its_users_only():
    program = "import sys, myriad; myriad.linalg.inv([[2.0]]); print([m for m in ('dask', 'distributed', 'myriad._dask') if m in sys.modules])"
    site = pathlib.Path(myriad.__file__).parents[1]
    done = subprocess.run([sys.executable, '-c', program], env={**os.environ, 'PYTHONPATH': str(site)}, capture_output=True, text=True, check=True)
    assert done.stdout == '[]\n'


# ---- Schedulers ---------------------------------------------------------------------------------


def test_threads():
    """Four threads call into this process at once."""
    a, b = matrices((4000,), 8, 'f8'), random((4000, 8, 2))
    together = threading.Barrier(4, timeout=60)

    def wait(x):
        together.wait()
        return x

    with dask.config.set(scheduler='threads', num_workers=4):
        x = linalg.solve(chunked(a, 1000).map_blocks(wait, meta=np.empty((0, 0, 0))), b).compute()
        inverse, factors = dask.compute(linalg.inv(chunked(a, 50)), linalg.svd(chunked(a, 200)))
    assert np.allclose(a @ x, b) and np.allclose(a @ inverse, np.eye(8))
    assert np.allclose((factors.U * factors.S[:, None, :]) @ factors.Vh, a)


@pytest.fixture(scope='module')
def client(tmp_path_factory):
    """Two worker processes, each with one core and one GPU, where there are any: the cluster of docs/python.md."""
    names = {'gpus': 2}
    folder = tmp_path_factory.mktemp('dask')
    with dask.config.set({'temporary-directory': folder, 'distributed.scheduler.dashboard.status.task-stream-length': 1}):
        exec(block('SpecCluster'), names)
        with names['cluster'], names['client'] as client:
            client.wait_for_workers(2)
            yield client


def share():
    return os.environ['CUDA_VISIBLE_DEVICES'], myriad.info()['threads'], os.getpid()


def test_share_of_a_worker(client):
    devices, threads, processes = zip(*client.run(share).values())
    assert sorted(devices) == ['0', '1'] and threads == (1, 1)
    assert len({*processes, os.getpid()}) == 3


def test_two_processes(client):
    a, b = matrices((2000,), 6, 'c16'), random((2000, 6, 2), 'c16')
    x, y = client.scatter([a, b], broadcast=True)  # read-only in the workers
    x, y = (da.from_delayed(dask.delayed(f), z.shape, z.dtype).rechunk((100, 6, -1)) for f, z in ((x, a), (y, b)))
    solution, (q, r), rank = dask.compute(linalg.solve(x, y), linalg.qr(x), linalg.matrix_rank(x))
    assert np.allclose(a @ solution, b) and np.allclose(q @ r, a) and (rank == 6).all()
    a[1234] = 0
    with pytest.raises(myriad.LinAlgError, match=r'Singular matrix \(matrix 34 of 100\)') as error:
        linalg.inv(chunked(a, 100)).compute()
    assert error.value.info.sum() == 1


def test_killed_worker(client, tmp_path):
    """kill -9 of a worker process, in the middle of a chunk: its chunks are computed again, and the result is complete."""
    a = matrices((400,), 8, 'f8')
    log, gate, chunks = tmp_path / 'log', tmp_path / 'gate', 20

    def work(x, block_info=None):
        number = block_info[0]['chunk-location'][0]
        with log.open('a') as file:
            file.write(f'begin {number} {os.getpid()}\n')
        if number == chunks - 1 and not gate.exists():
            gate.write_text(str(os.getpid()))
            time.sleep(60)  # is killed here
        x = linalg.inv(x)
        with log.open('a') as file:
            file.write(f'end {number} {os.getpid()}\n')
        return x

    future = client.compute(linalg.solve(chunked(a, 400 // chunks).map_blocks(work, dtype='f8'), chunked(a, 400 // chunks)))
    processes = {pid for _, _, pid in client.run(share, on_error='ignore').values()}
    until = time.monotonic() + 30
    while not gate.exists() or not gate.read_text():
        assert time.monotonic() < until
        time.sleep(0.01)
    victim = int(gate.read_text())
    assert victim in processes and f'begin {chunks - 1} {victim}' in log.read_text()
    os.kill(victim, signal.SIGKILL)
    result = future.result(timeout=60)
    assert np.allclose(result, a @ a)
    begun, ended = ([line.split()[1:] for line in log.read_text().splitlines() if line.startswith(word)] for word in ('begin', 'end'))
    assert [pid for number, pid in ended if number == str(chunks - 1)] != [] and [str(chunks - 1), str(victim)] not in ended
    assert len(begun) > chunks and {int(number) for number, _ in ended} == set(range(chunks))
    client.wait_for_workers(2, timeout=60)  # another process in its place
    assert victim not in {pid for _, _, pid in client.run(share).values()}


# ---- Zarr and xarray ----------------------------------------------------------------------------


def test_zarr_example(tmp_path):
    """Stores are read and written in 20 chunks, of which a worker holds few."""
    command = [sys.executable, ROOT / 'examples' / 'python' / 'zarr_systems.py', '--folder', tmp_path, '--memory', '400MiB']
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1'})
    assert done.returncode == 0, done.stderr
    assert '| 100% Completed |' in done.stdout and '(limit 1e-12)' in done.stdout
    a, b, x = (zarr.open_array(tmp_path / f'{name}.zarr', mode='r') for name in 'abx')
    assert x.chunks == (500, 16, 2) and x.shape == (10000, 16, 2) and x.nchunks_initialized == 20
    assert np.allclose(x[:], np.linalg.solve(a[:], b[:]), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize('chunks', [None, {'time': 3}])
def test_xarray(chunks):
    names = {
        'stress': xr.DataArray(hermitian((7, 4), 3, 'f8'), dims=('time', 'cell', 'i', 'j'), coords={'time': range(7)}),
        'a': xr.DataArray(matrices((7,), 3, 'f8'), dims=('time', 'i', 'j')), 'b': xr.DataArray(random((7, 3)), dims=('time', 'i')),
    }
    given = dict(names)
    if chunks:
        names = {name: x.chunk(chunks) for name, x in names.items()}
    exec(block('xr.apply_ufunc'), names)
    w, v = np.linalg.eigh(given['stress'].values)
    assert names['w'].dims == ('time', 'cell', 'mode') and names['v'].dims == ('time', 'cell', 'i', 'mode')
    assert np.allclose(names['w'], w) and np.allclose(np.abs(names['v']), np.abs(v))
    assert names['x'].dims == ('time', 'j')
    assert np.allclose(names['x'], np.linalg.solve(given['a'].values, given['b'].values[..., None])[..., 0])
    assert all((names[name].chunks is not None) == bool(chunks) for name in 'wvx')
