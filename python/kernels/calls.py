"""Calls the functions of myriad.linalg as for arrays in GPU memory, on the fake driver (tests/runtime/fake_cuda.hpp): nothing is computed.

With MYRIAD_KERNEL_LIST the library lists the kernels that the calls ask for; with packs and no compiler a call fails whose kernel is in no
pack. The environment describes the GPU. python/kernels/make_wheel.py runs this for every GPU that it builds packs for.
"""
import argparse
import itertools
import math
import mmap
import sys
import types

import numpy

from myriad import Unavailable, _arrays, _myriad, _queues, linalg

MOST_BYTES = 1 << 30  # of an array
MAP_NORESERVE = 0x4000  # Linux's; mmap.MAP_NORESERVE from Python 3.13 on
MATRICES = (1, 3, 300, 5000, 40000)  # in a batch; kernels for few matrices and for many differ
DTYPES = ('f4', 'f8', 'c8', 'c16')
RESULTS = ('rows', 'columns')

# The functions with kernels. x and y are stacks of n-by-n matrices, b is a vector for all of them, c a stack of n-by-1 matrices.
CALLS = {
    'cholesky': [lambda x, y, b, c: linalg.cholesky(x, check=False), lambda x, y, b, c: linalg.cholesky(x, upper=True, check=False)],
    'det': [lambda x, y, b, c: linalg.det(x)],
    'eigh': [lambda x, y, b, c: linalg.eigh(x, check=False)],
    'eigvalsh': [lambda x, y, b, c: linalg.eigvalsh(x, check=False)],
    'inv': [lambda x, y, b, c: linalg.inv(x, check=False)],
    'matmul': [
        lambda x, y, b, c: linalg.matmul(x, y), lambda x, y, b, c: linalg.matmul(x, c), lambda x, y, b, c: linalg.matmul(x, b),
        lambda x, y, b, c: linalg.matmul(b, x),
    ],
    'matrix_norm': [lambda x, y, b, c: linalg.matrix_norm(x, ord=2)],
    'matrix_power': [lambda x, y, b, c: linalg.matrix_power(x, 2), lambda x, y, b, c: linalg.matrix_power(x, -3)],
    'matrix_rank': [lambda x, y, b, c: linalg.matrix_rank(x)],
    'pinv': [lambda x, y, b, c: linalg.pinv(x, check=False)],
    'qr': [lambda x, y, b, c: linalg.qr(x), lambda x, y, b, c: linalg.qr(x, mode='complete')],
    'slogdet': [lambda x, y, b, c: linalg.slogdet(x)],
    'solve': [
        lambda x, y, b, c: linalg.solve(x, y, check=False), lambda x, y, b, c: linalg.solve(x, c, check=False),
        lambda x, y, b, c: linalg.solve(x, b, check=False),
    ],
    'svd': [lambda x, y, b, c: linalg.svd(x, check=False), lambda x, y, b, c: linalg.svd(x, full_matrices=False, check=False)],
    'svdvals': [lambda x, y, b, c: linalg.svdvals(x, check=False)],
}
# Names without kernels: functions of the array's own library, functions that do not exist yet, the error.
ELSEWHERE = {
    'LinAlgError', 'cross', 'diagonal', 'eig', 'eigvals', 'matrix_transpose', 'outer', 'tensordot', 'trace', 'vecdot', 'vector_norm',
}


class Memory:
    """Addresses for arrays. Pages that nothing touches take no memory."""

    def __init__(self):
        self._map = mmap.mmap(-1, 16 * MOST_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
        self._used = 0

    def clear(self):
        self._used = 0

    def array(self, shape, dtype, columns=False):
        """A new array of zeros or what was there before; with `columns` its matrices are column-major."""
        if columns:
            return self.array((*shape[:-2], shape[-1], shape[-2]), dtype).mT
        begin, self._used = self._used, self._used + -(-math.prod(shape) * numpy.dtype(dtype).itemsize // 256) * 256
        return numpy.ndarray(shape, dtype, self._map, begin)


class Model(type(_arrays.NumPy)):
    """NumPy arrays that stand for arrays of a library with GPU support. New matrices are row-major, or column-major as in torch."""

    name = 'model'
    xp = numpy

    def __init__(self, columns):
        self._columns = columns
        self._memory = Memory()
        self._queue = _queues.on_gpu(self, 0, _queues.LEGACY_STREAM)

    def clear(self):
        self._memory.clear()

    def new(self, shape, dtype, columns=False):
        return self._memory.array(shape, dtype, columns)

    def empty(self, like, shape, dtype=None):
        return self._memory.array(shape, like.dtype if dtype is None else dtype, self._columns and len(shape) > 2)

    def inputs(self, arrays, halves=False):
        return list(arrays)

    def copy(self, x):
        return self.empty(x, x.shape)

    def triangle(self, x, upper):
        return self.empty(x, x.shape)

    def assign(self, out, x):
        pass

    def invalidate(self, x, failed):
        pass

    def failures(self, info):
        return 0, 0

    def result(self, x):
        return x

    def queue(self, x):
        return self._queue


class OnGpu:
    """An array as the extension module reads a tensor of torch on the first GPU."""

    device = types.SimpleNamespace(type='cuda', index=0)

    def __init__(self, x):
        self._x = x
        self.shape = x.shape
        self.dtype = f'torch.{x.dtype.name}'

    def data_ptr(self):
        return self._x.__array_interface__['data'][0]

    def stride(self):
        return tuple(s // self._x.itemsize for s in self._x.strides)

    def is_neg(self):
        return False

    def is_conj(self):
        return False


class Routines:
    """The extension module for arrays that stand for such on a GPU."""

    def __getattr__(self, name):
        routine = getattr(_myriad, name)
        return lambda queue, *arguments: routine(queue, *(OnGpu(x) if isinstance(x, numpy.ndarray) else x for x in arguments))


def run(sizes, dtypes, functions, results, matrices):
    """Makes the calls, for row-major and column-major arguments. results: 'rows' for results as those of myriad.linalg, 'columns' for such as
    those of torch's operators. Returns the number of calls and the errors of those that failed for lack of a kernel, by function."""
    if unknown := set(linalg.__all__) ^ (CALLS.keys() | ELSEWHERE):
        raise SystemExit(f'calls.py: neither in CALLS nor in ELSEWHERE, or no function of myriad.linalg: {", ".join(sorted(unknown))}')
    linalg._myriad = Routines()
    number, errors = 0, {}
    for order in results:
        model = Model(order == 'columns')
        linalg.library_of = lambda *arrays: model
        for dtype, n, count in itertools.product(dtypes, sizes, matrices):
            if count * n * n * numpy.dtype(dtype).itemsize > MOST_BYTES:
                continue
            for function, x_columns, y_columns in itertools.product(functions, (False, True), (False, True)):
                if y_columns and function not in ('matmul', 'solve'):
                    continue  # y is not used
                for call in CALLS[function]:
                    model.clear()
                    x, y = model.new((count, n, n), dtype, x_columns), model.new((count, n, n), dtype, y_columns)
                    number += 1
                    try:
                        call(x, y, model.new((n,), dtype), model.new((count, n, 1), dtype))
                    except Unavailable as error:
                        errors.setdefault(f'{function}, {count} matrices of {n} rows, {dtype}', str(error))
    return number, errors


def numbers(text):
    """The numbers in a text such as 1-32,64."""
    out = []
    for part in text.split(','):
        first, _, last = part.partition('-')
        out.extend(range(int(first), int(last or first) + 1))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--n', type=numbers, required=True, help='rows of matrices, such as 1-32,64')
    parser.add_argument('--dtype', type=lambda text: text.split(','), default=DTYPES, help='such as f8,c16')
    parser.add_argument('--functions', type=lambda text: text.split(','), default=list(CALLS), help='of myriad.linalg')
    parser.add_argument('--results', type=lambda text: text.split(','), default=RESULTS, help='rows, columns or both; default: both')
    parser.add_argument('--matrices', type=numbers, default=MATRICES, help='in a batch')
    options = parser.parse_args()
    if unknown := {*options.dtype} - {*DTYPES} | {*options.functions} - CALLS.keys() | {*options.results} - {*RESULTS}:
        parser.error(f'unknown: {", ".join(sorted(unknown))}')
    number, errors = run(options.n, options.dtype, options.functions, options.results, options.matrices)
    for call, error in errors.items():
        print(f'{call}: {error}', file=sys.stderr)
    print(f'{number} calls')
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
