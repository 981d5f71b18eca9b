"""Handlers of XLA's foreign function interface, without XLA: on the CPU, and on the fake driver of the library's tests."""
import ctypes
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from common import close, matrices, positive
from xla_frame import Xla, version_of

from myriad import _myriad

FAKE = pathlib.Path(__file__).parents[2] / 'build/release/tests/runtime/fake'


def test_all_handlers_tell_their_version():
    for routine, (_, _, _, platforms) in _myriad.xla_routines().items():
        assert 'cpu' in platforms
        for platform in platforms:
            assert version_of(routine, platform) == (0, 3, 0, 0)


@pytest.mark.parametrize('threads', [1, 3])
def test_a_call_shares_the_batch_with_the_threads_of_the_pool(threads):
    a = matrices((5000,), 6, 'f8')
    x, xla = np.zeros_like(a), Xla(threads)
    _myriad.xla_calls(reset=True)
    assert xla.call('inverse', [a], [x]) is None
    close(x, np.linalg.inv(a))
    assert xla.tasks == threads - 1 and _myriad.xla_calls() == {'inverse': 1}
    assert xla.call('inverse', [a[:3]], [x[:3]]) is None and xla.tasks == threads - 1


def test_arguments_are_overwritten_only_in_place():
    a = positive((7, 2), 4, 'c16')
    before, factor, info = a.copy(), np.zeros_like(a), np.ones((7, 2), 'i4')
    assert Xla().call('potrf', [a], [factor, info], {'uplo': 'L'}) is None
    assert np.array_equal(a, before) and not info.any()
    close(np.tril(factor), np.linalg.cholesky(a))
    assert Xla().call('potrf', [a], [a, info], {'uplo': 'L'}) is None
    assert np.array_equal(np.tril(a), np.tril(factor))


def test_wrong_calls_are_errors_for_xla():
    a, info, invalid = np.eye(3), np.zeros((), 'i4'), 3
    for arguments, results, letters, text in (
        ([a], [a], {'uplo': 'L'}, 'potrf: needs 2 arguments or results, has 1'),
        ([a], [a, info], {}, 'potrf: needs the attribute uplo, one letter as uint8'),
        ([a], [a, np.zeros(2, 'i4')], {'uplo': 'L'}, 'potrf: operand 2 has 2 matrices; needs 1'),
        ([a[0]], [a[0], info], {'uplo': 'L'}, 'potrf: operand 0 has 1 axes; needs at least 2'),
        ([a], [a, np.zeros((), 'f4')], {'uplo': 'L'}, 'potrf: operand 2 has elements of another type than the routine needs'),
        ([a.astype('f2')], [a, info], {'uplo': 'L'}, "potrf: operand 0 has elements of XLA's type 10; needs float32, "),
        ([a], [a, info], {'uplo': 'Q'}, 'argument 1 (uplo)'),
    ):
        code, message = Xla().call('potrf', arguments, results, letters)
        assert code == invalid and text in message, message


def test_a_permutation_follows_the_pivots():
    pivots, out = np.array([[2, 2, 2], [0, 1, 2]], 'i4'), np.zeros((2, 4), 'i4')
    assert Xla().call('permutation', [pivots], [out]) is None
    assert out.tolist() == [[2, 0, 1, 3], [0, 1, 2, 3]]


def test_a_gpu_that_is_not_there_is_an_error_for_xla():
    if not _myriad.Queue('automatic').gpu_problem:
        pytest.skip('there is a GPU')
    a, unavailable = np.eye(3), 14
    for stage in ('initialize', 'execute'):
        code, message = Xla().call('inverse', [a], [a.copy()], platform='CUDA', stage=stage)
        assert code == unavailable and 'libcuda' in message


def test_gpu_handlers_on_a_fake_driver():
    """Calls of the driver that they make; no kernels run here, since libfake_kernels is not loaded."""
    if not (FAKE / 'libcuda.so.1').exists() or not (FAKE / 'libfake_nvrtc.so').exists():
        pytest.skip(f'{FAKE} has no fake driver; build the targets fake_cuda and fake_nvrtc')
    environment = {**os.environ, 'LD_LIBRARY_PATH': str(FAKE), 'MYRIAD_NVRTC': str(FAKE / 'libfake_nvrtc.so'), 'MYRIAD_CACHE_DIR': 'off'}
    out = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout == 'all right\n'


class FakeCuda(ctypes.Structure):
    """The first counters of tests/runtime/fake_cuda.hpp."""

    _fields_ = [(name, ctypes.c_int) for name in ('launches', 'live_allocations', 'live_pinned', 'live_streams', 'live_pools', 'live_events',
                                                  'held', 'modules', 'copies', 'peer_copies', 'waits', 'pushes', 'misuses')]  # fmt: skip


def on_fake_driver():
    driver, nvrtc = ctypes.CDLL('libcuda.so.1'), ctypes.CDLL(os.environ['MYRIAD_NVRTC'])
    driver.fake_cuda.restype, nvrtc.fake_nvrtc.restype = ctypes.POINTER(FakeCuda), ctypes.POINTER(ctypes.c_int)
    fake, compiled = driver.fake_cuda().contents, nvrtc.fake_nvrtc()
    queue = _myriad.Queue('gpu')  # makes the GPU's context
    memory = []

    def there(shape, dtype):
        memory.append(ctypes.create_string_buffer(int(np.prod(shape)) * np.dtype(dtype).itemsize + 256))
        return (-(-ctypes.addressof(memory[-1]) // 256) * 256, shape, dtype)

    b, m, n, k = 6, 5, 4, 4
    square, tall, real, info = there((b, n, n), 'c8'), there((b, m, n), 'c8'), there((b, n), 'f4'), there((b,), 'i4')
    vector, number, real_number = there((b, k), 'c8'), there((b,), 'c8'), there((b,), 'f4')
    cases = {
        'potrf': ([square], [square, info], {'uplo': 'L'}),
        'getrf': ([square], [square, there((b, n), 'i4'), info], {}),
        'solve': ([square, there((b, n, 2), 'c8')], [there((b, n, 2), 'c8')], {}),
        'inverse': ([square], [there((b, n, n), 'c8')], {}),
        'det': ([square], [number], {}),
        'logdet': ([square], [number, real_number], {}),
        'trsm': ([square, tall], [tall], {'side': 'R', 'uplo': 'L', 'trans': 'T', 'conj': 'Y', 'diag': 'N'}),
        'geqrf': ([tall], [tall, vector], {}),
        'orgqr': ([tall, vector], [tall], {}),
        'ormqr': ([tall, vector, there((b, m, 3), 'c8')], [there((b, m, 3), 'c8')], {'side': 'L', 'trans': 'C'}),
        'syevd': ([square], [square, real, info], {'uplo': 'U'}),
        'sytrd': ([square], [square, real, there((b, n - 1), 'f4'), there((b, n - 1), 'c8')], {'uplo': 'L'}),
        'gesvd': ([tall], [tall, real, there((b, m, m), 'c8'), there((b, n, n), 'c8'), info], {'job': 'A'}),
        'gesvd_values': ([tall], [tall, real, info], {}),
    }
    on_gpu = {name for name, (_, _, _, platforms) in _myriad.xla_routines().items() if 'CUDA' in platforms}
    assert set(cases) == on_gpu, set(cases) ^ on_gpu
    xla = Xla(stream=1)
    events = None
    for name, (arguments, results, letters) in cases.items():
        for repeat in range(2):  # in initialize all kernels are compiled and nothing runs; in execute all runs
            before, kernels, launches = fake.waits, compiled[0], fake.launches
            assert xla.call(name, arguments, results, letters, 'CUDA', 'initialize') is None, xla.errors
            assert fake.launches == launches, name
            assert (compiled[0] > kernels) == (repeat == 0), name
            kernels, copies, pools = compiled[0], fake.copies, fake.live_allocations
            assert xla.call(name, arguments, results, letters, 'CUDA', 'execute') is None, xla.errors
            assert compiled[0] == kernels and fake.launches > launches, name
            in_place = _myriad.xla_routines()[name][2]
            assert fake.copies - copies == sum(x[0] != arguments[int(j)][0] for x, j in zip(results, in_place) if j != '-'), name
            assert fake.waits == before and fake.live_allocations == pools and not xla.live, name
    # Workspace is XLA's, and a lack of it is told to XLA.
    large = there((b, 200, 200), 'f8')
    assert xla.call('syevd', [large], [large, there((b, 200), 'f8'), info], {'uplo': 'L'}, 'CUDA') is None and xla.allocated > 0 and not xla.live
    poor = Xla(stream=1, allocate=lambda bytes: None)
    exhausted = 8
    assert poor.call('syevd', [large], [large, there((b, 200), 'f8'), info], {'uplo': 'L'}, 'CUDA')[0] == exhausted
    # A second GPU and other streams have queues of their own.
    for i in range(20):
        assert Xla(device=i % 2, stream=1 + i % 2).call('inverse', *cases['inverse'][:2], {}, 'CUDA') is None
    assert fake.misuses == 0
    del queue
    print('all right')


if __name__ == '__main__':
    on_fake_driver()
