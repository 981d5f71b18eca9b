"""Batches beyond stacks of equal matrices: different sizes, mixed precision, regularized factorizations, grouped products."""
from typing import Any, NamedTuple

import numpy

from . import _myriad
from ._arrays import NumPy, Ragged, Torch, ragged_of
from ._arrays import library_of_stacks as library_of
from ._cupy import CuPy
from ._errors import LinAlgError
from .lapack import _given, _scalar, _take
from .linalg import _check, _square

__all__ = ['JitterResult', 'Ragged', 'RefinedResult', 'cholesky_jitter', 'gemm_grouped', 'ragged', 'solve_refined']

Array = Any


class RefinedResult(NamedTuple):
    x: Array
    iterations: Array


class JitterResult(NamedTuple):
    factor: Array
    replaced: Array


def ragged(arrays) -> Ragged:
    """A batch of matrices that differ in size, without a copy: one array for each, all of one library, type and device.

    The library is NumPy, torch (CPU and CUDA) or CuPy. Arrays with two axes are matrices of any strides; arrays with one axis are vectors, and
    columns where a routine takes matrices. The functions of myriad.lapack take ragged batches and return them; the attribute `arrays` is a
    tuple of the arrays. On a GPU results lie in one piece of memory, and pointers and sizes are copied to the GPU by the first call on a
    stream: about 40 bytes a matrix.
    """
    arrays = list(arrays)
    if not arrays:
        return Ragged([])
    library = library_of(*arrays)
    for b, x in enumerate(arrays):
        if not isinstance(library, (type(NumPy), Torch, CuPy)) or not library.owns(x) or library is NumPy and type(x) is not numpy.ndarray:
            raise NotImplementedError(f'ragged: array {b} is a {type(x).__name__}; ragged batches are made of arrays of NumPy, torch or CuPy')
        if getattr(x, 'requires_grad', False):
            library.inputs([x])  # refuses it where gradients are recorded
    return ragged_of(library).batch(arrays)


def solve_refined(a: Array, b: Array, /, *, check: bool = True) -> RefinedResult:
    """Solves A X = B in double by factors in single precision and refinement; matrices for which that fails are solved in double.

    a: (..., n, n), b: (..., n, k) or (n,), float64 or complex128. x: (..., n, k); iterations: (...), the number of refinements, or below
    zero where double was used: -2 a number is too large for single precision, -3 the factorization failed, -31 no convergence.
    Raises LinAlgError for a singular matrix, whose x is NaN with check=False. Cost: 2/3 n^3 flops in single, 4 n^2 k in double a refinement.
    """
    library = library_of(a, b)
    a, b = library.inputs([a, b])
    _square(a)
    vector = b.ndim == 1
    if vector:
        b = b[:, None]
    batch = numpy.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    factors = library.copy(library.broadcast(a, (*batch, *a.shape[-2:])))
    x = library.empty(a, (*batch, *b.shape[-2:]))
    iterations = library.numbers(factors, library.int32)
    info = library.numbers(factors, library.int32)
    _myriad.gesv_mixed(library.queue(a), factors, None, b, x, iterations, info)
    if check:
        _check(library, info, 'Singular matrix')
    return RefinedResult(x[..., 0] if vector else x, library.result(iterations))


def cholesky_jitter(a: Array, /, *, jitter: Any = None, floor: Any = None, upper: bool = False, check: bool = True) -> JitterResult:
    """The Cholesky factor of A + jitter I, in which pivots below `floor` are replaced by it.

    a: (..., n, n), of which one triangle is read; jitter, floor: numbers or arrays of shape (...), None for none. factor: (..., n, n);
    replaced: (...), the number of pivots that were replaced. Raises LinAlgError where the matrix is not positive definite even so; such
    factors are NaN with check=False. Cost: n^3 / 3 flops.
    """
    library = library_of(a)
    a, = library.inputs([a])
    _square(a)
    factor = library.triangle(a, upper)
    real = library.real(a.dtype)

    def numbers(value):
        if value is None:
            return None
        if getattr(value, 'requires_grad', False):
            value, = library.inputs([value])  # refuses it where gradients are recorded
        out = library.numbers(a, real)
        out[...] = value
        return out

    replaced, info = library.numbers(a, library.int32), library.numbers(a, library.int32)
    _myriad.potrf_regularized(library.queue(a), 'U' if upper else 'L', factor, numbers(jitter), numbers(floor), replaced, info)
    if check:
        _check(library, info, 'Matrix is not positive definite')
    else:
        library.invalidate(factor, info != 0)
    return JitterResult(factor, library.result(replaced))


def gemm_grouped(groups, /) -> list:
    """Products of several groups of matrices in one call. groups: a list of tuples (a, b) or (a, b, c) or (a, b, c, alpha, beta).

    a: (..., m, k), b: (..., k, n), c: (..., m, n), each group with its own sizes. Returns a list with alpha A B + beta C of each; c is
    overwritten and returned where it is given. alpha is 1 and beta 0 by default, numbers: those in GPU memory are fetched, which waits for the
    GPU. All groups have one type. Cost: 2 m n k flops a matrix.
    """
    groups = [tuple(g) for g in groups]
    if not groups:
        return []
    library = library_of(*(x for g in groups for x in g[:3]))
    given, results = [], []
    for g, group in enumerate(groups):
        if len(group) not in (2, 3, 5):
            raise ValueError(f'gemm_grouped: group {g} has {len(group)} members; needs 2, 3 or 5')
        name = f'gemm_grouped: group {g}'
        _, batch, a, b = _take(name, 0, True, a=group[0], b=group[1])
        c = group[2] if len(group) > 2 else None
        alpha, beta = group[3:] if len(group) == 5 else (1.0, 0.0)
        alpha, beta = _scalar(f'{name}: alpha', alpha), _scalar(f'{name}: beta', beta)
        shape = (*batch, a.shape[-2], b.shape[-1])
        if c is None:
            if beta != 0:
                raise ValueError(f'gemm_grouped: group {g} has beta {beta} and no c')
            c = library.empty(a, shape)
        else:
            _given(library, f'{name}: c', c, a, shape, a.dtype)
        given.append((alpha, a, b, beta, c))
        results.append(c)
    _myriad.gemm_grouped(library.queue(results[0]), given)
    return results
