"""Arrays of dask: functions of stacks of matrices are mapped over the chunks. Results are lazy; nothing but their shapes is computed."""
import dataclasses
import functools
import inspect
import itertools
import math
import types
from collections.abc import Callable

import dask.array as da
import numpy

from ._arrays import Library, library_of


@dataclasses.dataclass(frozen=True)
class _OnChunk:
    """A function for one chunk, which dask compares and sends to its workers.

    names: parameters whose arguments are arrays with a number for each matrix, which follow the arrays of matrices.
    """
    function: Callable
    names: tuple
    constants: tuple
    options: dict

    def __call__(self, *chunks):
        arrays = [_whole(chunk) for chunk in chunks]
        matrices = len(arrays) - len(self.names)
        numbers = dict(zip(self.names, arrays[matrices:]))
        return self.function(*arrays[:matrices], *self.constants, **numbers, **self.options)


def _whole(chunk):
    """The array in lists of one: dask lists the chunks along an axis that the result does not have."""
    while isinstance(chunk, list):
        chunk, = chunk
    return chunk


def _field(k, chunk):
    return _whole(chunk)[k]


class Dask(Library):
    """dask.array.Array, chunks of any library. myriad.linalg asks for `lazy` and calls by_chunks in place of computing."""

    name = 'dask'
    lazy = True

    def __init__(self):
        self.xp = _namespace()

    def inputs(self, arrays, halves=False):
        raise TypeError('arrays of dask are taken by the functions of myriad.linalg only; map other functions over the chunks with '
                        'dask.array.map_blocks or dask.array.apply_gufunc')

    def using(self, x, stream):
        self.inputs([x])

    def by_chunks(self, function, arrays, *constants, **options):
        """function(*arrays, *constants, **options), chunk by chunk: an array of dask, or a named tuple of such.

        Arrays have two core axes, or one if they have no more. Options that are arrays have a number for each matrix.
        """
        names = tuple(name for name, x in options.items() if isinstance(x, da.Array) or numpy.ndim(x) > 0)
        given = dict(zip(inspect.signature(function).parameters, arrays))
        given |= {name: options.pop(name) for name in names}
        given = {name: _array(function, name, x, name in names) for name, x in given.items()}
        core = {name: 0 if name in names else min(x.ndim, 2) for name, x in given.items()}
        for name, x in given.items():
            _check_core(function, name, x, core[name])
        batches = [x.shape[:x.ndim - core[name]] for name, x in given.items()]
        if not any(math.isnan(size) for batch in batches for size in batch):
            numpy.broadcast_shapes(*batches)  # raises ValueError

        call = _OnChunk(function, names, constants, options)
        # The results for no matrices have the core axes and types of all, or the function refuses its arguments.
        results = call(*(numpy.zeros(_no_matrices(x, core[name]), x.dtype) for name, x in given.items()))
        stacked = max(core.values()) == 2
        like = next(x for x in (*arrays, *given.values()) if isinstance(x, da.Array))
        leading = tuple(range(max(map(len, batches))))
        given, chunks = _with_common_chunks(given, core, leading)
        # All arrays share the indices of core axes, although sizes differ: dask fuses layers whose results have all indices of the arguments.
        axes = len(leading), len(leading) + 1
        pairs = []
        for name, x in given.items():
            pairs += x, [*leading[len(leading) - x.ndim + core[name]:], *axes[2 - core[name]:]]

        def blockwise(name, function, sizes, dtype, *pairs):
            indices = *leading, *axes[2 - len(sizes):]
            meta = numpy.empty_like(like._meta, dtype=dtype, shape=(0,) * len(indices))  # of the library of the chunks
            return da.blockwise(function, indices, *pairs, adjust_chunks={**chunks, **dict(zip(axes[2 - len(sizes):], sizes))},
                                align_arrays=False, token=name, meta=meta)

        if not isinstance(results, tuple):
            return blockwise(function.__name__, call, results.shape[stacked:], results.dtype, *pairs)
        tuples = blockwise(function.__name__, call, (1, 1), like.dtype, *pairs)  # a named tuple for each chunk
        return type(results)(*(
            blockwise(f'{function.__name__}_{name}', functools.partial(_field, k), x.shape[stacked:], x.dtype, tuples, (*leading, *axes))
            for k, (name, x) in enumerate(results._asdict().items())))


def _array(function, name, x, numbers):
    """The argument as an array of dask, one that is not with whole matrices in its chunks."""
    if isinstance(x, da.Array):
        return x
    library = library_of(x)
    if library.name not in ('numpy', 'cupy'):
        kind = f'{type(x).__module__}.{type(x).__name__}'
        raise TypeError(f'{function.__name__}: {name} is a {kind} beside an array of dask; needs an array of dask, NumPy or CuPy')
    if library.name == 'numpy':
        x = numpy.asarray(x)
    core = 0 if numbers else min(x.ndim, 2)
    return da.from_array(x, chunks=('auto',) * (x.ndim - core) + (-1,) * core)


def _check_core(function, name, x, core):
    for axis in range(-core, 0):
        if math.isnan(x.shape[axis]):
            raise ValueError(f'{function.__name__}: the size of axis {axis} of {name} is unknown; use {name}.compute_chunk_sizes()')
        if x.numblocks[axis] > 1:
            whole = ', '.join(f'{a}: -1' for a in range(-core, 0))
            what = 'matrix' if core == 2 else 'vector'
            raise ValueError(f'{function.__name__}: axis {axis} of {name} has {x.numblocks[axis]} chunks; a {what} must be in one chunk: '
                             f'use {name}.rechunk({{{whole}}})')


def _no_matrices(x, core):
    return x.shape[-core:] if core == 1 else (0, *x.shape[x.ndim - core:]) if x.ndim else ()


def _with_common_chunks(given, core, leading):
    """The arrays with the same chunks along leading axes, and these chunks by the number of the axis."""
    other = itertools.count(len(leading))  # core axes have indices of their own, since their sizes differ
    pairs = []
    for name, x in given.items():
        pairs += x, [*leading[len(leading) - x.ndim + core[name]:], *itertools.islice(other, core[name])]
    chunks, arrays = da.unify_chunks(*pairs)
    return dict(zip(given, arrays)), {axis: chunks[axis] for axis in leading}


def _namespace():
    """The functions of the array API standard that myriad.linalg takes from the arrays' own library. They allow chunks along all axes."""

    def cross(x1, x2, axis):
        a, b = (da.moveaxis(da.asarray(x), axis, -1) for x in (x1, x2))
        for name, x in (('x1', a), ('x2', b)):
            if x.shape[-1] != 3:
                raise ValueError(f'cross: {name} has {x.shape[-1]} elements along axis {axis}; needs 3')
        products = [a[..., i - 2] * b[..., i - 1] - a[..., i - 1] * b[..., i - 2] for i in range(3)]
        return da.moveaxis(da.stack(products, axis=-1).rechunk({-1: -1}), -1, axis)

    def vecdot(x1, x2, axis):
        a, b = (da.moveaxis(da.asarray(x), axis, -1) for x in (x1, x2))
        if a.shape[-1] != b.shape[-1]:
            raise ValueError(f'vecdot: x1 has {a.shape[-1]} elements along axis {axis}, x2 has {b.shape[-1]}; needs as many')
        return (a.conj() * b).sum(-1)

    def vector_norm(x, axis, keepdims, ord):
        x = abs(x if x.dtype.kind in 'fc' else x.astype('f8'))
        if abs(ord) == math.inf:
            return (x.max if ord > 0 else x.min)(axis=axis, keepdims=keepdims)
        if ord == 0:
            return (x != 0).astype(x.dtype).sum(axis=axis, keepdims=keepdims)
        return (x**ord).sum(axis=axis, keepdims=keepdims)**(1 / ord)

    linalg = types.SimpleNamespace(
        cross=cross,
        diagonal=lambda x, offset: da.diagonal(x, offset, -2, -1),
        outer=da.outer,
        trace=lambda x, offset, dtype: da.diagonal(x, offset, -2, -1).sum(-1, dtype=dtype),
        vector_norm=vector_norm)
    return types.SimpleNamespace(linalg=linalg, tensordot=lambda x1, x2, axes: da.tensordot(x1, x2, axes), vecdot=vecdot)
