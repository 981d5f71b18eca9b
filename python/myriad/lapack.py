"""LAPACK's routines, for stacks of matrices: names and options of LAPACK without the type letter, one call for all matrices.

Arrays have the shape (..., m, n), vectors (..., length); leading axes are the batch and are broadcast. Arguments that a routine overwrites
are copied first: with out=a (or another array of the result's shape) it works in place, without a copy. Results that are asked for by name
(info=, ipiv=, tau=, ...) are written to arrays of the caller, and made otherwise.

Arrays of the caller for results have exactly the type and shape of the result, and all are checked before anything is written. Pivots of
arrays on the CPU are checked, too; on a GPU pivots outside of 1, ..., n make the routines read and write outside of the matrices.

Nothing is checked after the call, and nothing waits for a GPU: look at `info`, LAPACK's error code of every matrix, an int32 array.
stream= is the CUDA stream for arrays in GPU memory: an int or an object with __cuda_stream__; by default the current stream of the arrays'
library. Results are allocated and copied on it, too. A ragged batch (myriad.batched.ragged) may stand for any array of matrices.
"""
import functools
import inspect
from typing import Any, NamedTuple

import numpy

from . import _myriad
from ._arrays import Ragged, RaggedOf, library_of

Array = Any


class Getrf(NamedTuple):
    lu: Array
    ipiv: Array
    info: Array


class Gesv(NamedTuple):
    lu: Array
    ipiv: Array
    x: Array
    info: Array


class Factor(NamedTuple):
    factor: Array
    info: Array


class Inverse(NamedTuple):
    inverse: Array
    info: Array


class Posv(NamedTuple):
    factor: Array
    x: Array
    info: Array


class Geqrf(NamedTuple):
    qr: Array
    tau: Array


class Gels(NamedTuple):
    qr: Array
    x: Array
    info: Array


class Syevd(NamedTuple):
    w: Array
    v: Array
    info: Array


class Sytrd(NamedTuple):
    a: Array
    d: Array
    e: Array
    tau: Array


class Gesvd(NamedTuple):
    s: Array
    u: Array
    vt: Array
    info: Array


class Gebrd(NamedTuple):
    a: Array
    d: Array
    e: Array
    tauq: Array
    taup: Array


class Geequ(NamedTuple):
    r: Array
    c: Array
    rowcnd: Array
    colcnd: Array
    amax: Array
    info: Array


class Gerfs(NamedTuple):
    x: Array
    ferr: Array
    berr: Array


__all__ = []


def _routine(f):
    """Adds stream= and puts the name into __all__. The stream is made the current one of the arrays' library, so that copies run on it, too."""
    signature = inspect.signature(f)
    stream_parameter = inspect.Parameter('stream', inspect.Parameter.KEYWORD_ONLY, default=None)

    @functools.wraps(f)
    def routine(*arrays, stream=None, **options):
        if stream is None:
            return f(*arrays, **options)
        given = list(signature.bind(*arrays, **options).arguments.values())
        with library_of(*given).using(given[0], stream):
            return f(*arrays, **options)

    routine.__signature__ = signature.replace(parameters=[*signature.parameters.values(), stream_parameter])
    __all__.append(f.__name__)
    return routine


def _type(x):
    return type(x).__name__


def _take(routine, vectors=0, halves=False, /, **arrays):
    """The arrays' library, their common leading axes (None for ragged batches), and the arrays, with one element type.

    The last `vectors` arrays have one axis for each matrix, the others two.
    """
    library = library_of(*arrays.values())
    if type(library) is RaggedOf:
        first = next(x for x in arrays.values() if type(x) is Ragged)
        for name, x in arrays.items():
            if type(x) is not Ragged:
                raise TypeError(f'{routine}: {name} is a {_type(x)}; where one array is a ragged batch, all are')
            if (of := library_of(x)) is not library and len(x):
                raise TypeError(f'{routine}: {name} is a ragged batch of {of.of.name} arrays; the first one is of {library.of.name} arrays')
            if len(x) != len(first):
                raise ValueError(f'{routine}: {name} has {len(x)} matrices; the first ragged batch has {len(first)}')
        return library, None, *arrays.values()
    given = list(library.inputs(list(arrays.values()), halves))
    shapes = []
    last = len(given) - vectors
    for k, x in enumerate(given):
        core = 2 if k < last else 1
        if x.ndim < core:
            hint = '; a single right-hand side has the shape (n, 1)' if x.ndim == 1 and k > 0 else ''
            raise ValueError(f'{routine}: {list(arrays)[k]} has {x.ndim} axes; needs at least {core}{hint}')
        shapes.append(tuple(x.shape[:-core]))
    batch = shapes[0]
    for k, shape in enumerate(shapes):
        if shape != batch:
            try:
                batch = numpy.broadcast_shapes(batch, shape)
            except ValueError:
                raise ValueError(f'{routine}: {list(arrays)[k]} has leading axes {shape}, which do not fit {batch}') from None
    # The arrays that are not overwritten; those that are, are broadcast by _overwritten.
    for k in range(last):
        if shapes[k] != batch:
            given[k] = library.stretched(given[k], batch)
    return library, batch, *given


def _given(library, name, x, like, shape, dtype):
    """Refuses an array of the caller that cannot take a result of this shape and type."""
    if not library.owns(x):
        raise TypeError(f'{name} is a {_type(x)}; needs {library.noun}')
    if x.dtype != dtype:
        raise TypeError(f'{name} has elements of type {x.dtype}; needs {dtype}')
    if tuple(x.shape) != tuple(shape):
        raise ValueError(f'{name} has the shape {tuple(x.shape)}; needs {tuple(shape)}')
    library.check_written(name, x, like)


def _given_ragged(library, name, x, shapes, dtype):
    if type(x) is not Ragged:
        raise TypeError(f'{name} is a {_type(x)}; needs {RaggedOf.noun}')
    if (of := library_of(x)) is not library and len(x):
        raise TypeError(f'{name} is a ragged batch of {of.of.name} arrays; needs {library.of.name} arrays')
    if x.dtype != dtype and len(x):
        raise TypeError(f'{name} has elements of type {x.dtype}; needs {dtype}')
    if len(x) != len(shapes):
        raise ValueError(f'{name} has {len(x)} matrices; needs {len(shapes)}')
    for b, (a, shape) in enumerate(zip(x.arrays, shapes)):
        if a.shape != shape:
            raise ValueError(f'{name} has the shape {a.shape} in matrix {b}; needs {shape}')


def _result(library, name, x, like, batch, shape, dtype):
    """The caller's array for a result, checked."""
    dtype = like.dtype if dtype is None else dtype
    if type(library) is RaggedOf:
        _given_ragged(library, name, x, [shape(*a.shape) for a in like.arrays], dtype)
    else:
        _given(library, name, x, like, (*batch, *shape(*like.shape[-2:])), dtype)
    return x


def _vectors(library, name, x, like, batch, length, dtype=None):
    """x, or where that is None new vectors, whose length follows from the sizes of `like`."""
    if x is not None:
        return _result(library, name, x, like, batch, lambda m, n: (length(m, n),), dtype)
    if type(library) is RaggedOf:
        return library.vectors(like, length, dtype)
    return library.empty(like, (*batch, length(*like.shape[-2:])), dtype)


def _matrices(library, name, x, like, batch, shape):
    if x is not None:
        return _result(library, name, x, like, batch, shape, None)
    return library.matrices(like, shape)


def _info(library, routine, info, like, batch):
    if type(library) is RaggedOf:
        if info is None:
            return library.numbers(like, library.int32)
        library, batch, like = library.of, (len(like),), like.arrays[0] if len(like) else None
    if info is None:
        return library.empty(like, batch, library.int32)
    _given(library, f'{routine}: info', info, like, batch, library.int32)
    if not library.contiguous(info):
        raise ValueError(f'{routine}: info must be contiguous')
    return info


def _overwritten(library, batch, *triples):
    """Arrays that the routine overwrites, one for each (name, x, out): `out` with the content of x, or a copy. All are checked before."""
    inputs = []
    for name, x, out in triples:
        if type(library) is RaggedOf:
            if out is not None and out is not x:
                _given_ragged(library, name, out, [a.shape for a in x.arrays], x.dtype)
        else:
            shape = (*batch, *x.shape[-2:])
            if out is not None:
                _given(library, name, out, x, shape, x.dtype)
            if tuple(x.shape) != shape:
                x = library.broadcast(x, shape)
        inputs.append(x)
    results = []
    for (_, _, out), x in zip(triples, inputs):
        if out is None:
            out = library.copy(x)
        elif out is not x:
            library.assign(out, x)
        results.append(out)
    return results


def _pivots(library, name, ipiv, lu):
    """ipiv. Row numbers outside the matrices are refused, since the library would follow them; arrays on a GPU are not looked at."""
    if type(library) is RaggedOf:
        _given_ragged(library, name, ipiv, [(a.shape[1],) for a in lu.arrays], library.int32)
        if len(lu) and library.on_cpu(lu):
            rows = numpy.concatenate(ipiv.arrays)
            wrong = numpy.flatnonzero((rows < 1) | (rows > numpy.repeat([a.shape[0] for a in lu.arrays], [len(p) for p in ipiv.arrays])))
            if wrong.size:
                raise ValueError(f'{name} has a row number {rows[wrong[0]]}, which is outside of its matrix')
        return ipiv
    if not library.owns(ipiv):
        raise TypeError(f'{name} is a {_type(ipiv)}; needs {library.noun}')
    if ipiv.dtype != library.int32:
        raise TypeError(f'{name} has elements of type {ipiv.dtype}; needs {library.int32}')
    n = lu.shape[-1]
    if ipiv.ndim < 1 or ipiv.shape[-1] != n:
        raise ValueError(f'{name} has the shape {tuple(ipiv.shape)}; needs (..., {n})')
    if 0 not in ipiv.shape and library.on_cpu(ipiv):
        low, high = library.range_of(ipiv)
        if low < 1 or high > n:
            raise ValueError(f'{name} has row numbers from {low} to {high}; those of {n} rows are from 1')
    return ipiv


def _reals(library, name, x, a):
    """x, real vectors for matrices a, or None."""
    if x is None:
        return None
    if not library.owns(x):
        raise TypeError(f'{name} is a {_type(x)}; needs {library.noun}')
    if x.dtype != library.real(a.dtype):
        raise TypeError(f'{name} has elements of type {x.dtype}; needs {library.real(a.dtype)}')
    return library.inputs([x])[0]


def _letter(name, x, letters):
    if not isinstance(x, str) or len(x) != 1 or x not in letters:
        raise ValueError(f'{name} is {x!r}; must be one of {", ".join(map(repr, letters))}')
    return x


def _scalar(name, x):
    """x, a number."""
    if isinstance(x, (float, int)):
        return float(x)
    if getattr(x, 'requires_grad', False):
        raise RuntimeError(f'{name} requires grad, and these functions have no derivatives; pass x.item()')
    if isinstance(x, str) or getattr(x, 'ndim', 0) > 0 or not any(hasattr(x, f) for f in ('__complex__', '__float__', '__index__')):
        raise TypeError(f'{name} is a {_type(x)}; needs a number')
    return complex(x)


_SUMS = {'float16': 'float32', 'bfloat16': 'float32', 'complex32': 'complex64'}  # the types in which products of 16-bit types are summed


def _factor(name, x, library, a):
    """x, a number, or an array without axes in the memory of the GPU of matrices a, which reads it when it multiplies."""
    if getattr(x, 'ndim', None) == 0 and hasattr(x, '__dlpack_device__') and not getattr(x, 'requires_grad', False) and not library.on_cpu(a):
        kind, gpu = x.__dlpack_device__()
        if kind in (2, 13):  # CUDA, managed memory
            given, of_a = (str(y.dtype).removeprefix('torch.') for y in (x, a))
            wanted = _SUMS.get(of_a, of_a)
            if given != wanted:
                raise ValueError(f'{name} has an element of type {given}; in GPU memory it needs {wanted}')
            of_matrices = (a.arrays[0] if type(a) is Ragged else a).__dlpack_device__()[1]
            if gpu != of_matrices:
                raise ValueError(f'{name} is on GPU {gpu}; the matrices are on GPU {of_matrices}')
            return x
    return _scalar(name, x)


def _k(m, n):
    return min(m, n)


def _n(m, n):
    return n


def _less_one(m, n):
    return max(n - 1, 0)


# ---- LU -----------------------------------------------------------------------------------------


@_routine
def getrf(a, *, out=None, ipiv=None, info=None) -> Getrf:
    """P A = L U with partial pivoting. a: (..., m, n); lu: (..., m, n), L unit lower triangular; ipiv: (..., min(m, n)), int32, from 1.

    info i > 0: U(i, i) is zero. Cost: 2/3 n^3 flops.
    """
    library, batch, a = _take('getrf', a=a)
    ipiv = _vectors(library, 'getrf: ipiv', ipiv, a, batch, _k, library.int32)
    info = _info(library, 'getrf', info, a, batch)
    lu, = _overwritten(library, batch, ('getrf: out', a, out))
    _myriad.getrf(library.queue(lu), lu, ipiv, info)
    return Getrf(lu, ipiv, info)


@_routine
def getrs(lu, ipiv, b, *, trans='N', out=None) -> Array:
    """X with op(A) X = B from the factors of getrf. b: (..., n, k). trans: 'N', 'T' or 'C'. Cost: 2 n^2 k flops."""
    library, batch, lu, b = _take('getrs', lu=lu, b=b)
    trans = _letter('getrs: trans', trans, 'NTC')
    ipiv = _pivots(library, 'getrs: ipiv', ipiv, lu)
    x, = _overwritten(library, batch, ('getrs: out', b, out))
    _myriad.getrs(library.queue(x), trans, lu, ipiv, x)
    return x


@_routine
def getri(lu, ipiv, *, out=None, info=None) -> Inverse:
    """The inverse from the factors of getrf. info i > 0: U(i, i) is zero. Cost: 4/3 n^3 flops."""
    library, batch, lu = _take('getri', lu=lu)
    ipiv = _pivots(library, 'getri: ipiv', ipiv, lu)
    info = _info(library, 'getri', info, lu, batch)
    inverse, = _overwritten(library, batch, ('getri: out', lu, out))
    _myriad.getri(library.queue(inverse), inverse, ipiv, info)
    return Inverse(inverse, info)


@_routine
def gesv(a, b, *, out=None, lu=None, ipiv=None, info=None) -> Gesv:
    """Solves A X = B. a: (..., n, n), b: (..., n, k). out: for X; lu: for the factors. info i > 0: U(i, i) is zero and X is B.

    Cost: 2/3 n^3 + 2 n^2 k flops.
    """
    library, batch, a, b = _take('gesv', a=a, b=b)
    ipiv = _vectors(library, 'gesv: ipiv', ipiv, a, batch, _k, library.int32)
    info = _info(library, 'gesv', info, a, batch)
    lu, x = _overwritten(library, batch, ('gesv: lu', a, lu), ('gesv: out', b, out))
    _myriad.gesv(library.queue(x), lu, ipiv, x, info)
    return Gesv(lu, ipiv, x, info)


# ---- Cholesky and triangles ---------------------------------------------------------------------


@_routine
def potrf(a, *, uplo='L', out=None, info=None) -> Factor:
    """A = L L^H (uplo 'L') or U^H U ('U'). The other triangle of the result is that of a.

    info i > 0: the leading minor of order i is not positive definite. Cost: n^3 / 3 flops.
    """
    library, batch, a = _take('potrf', a=a)
    uplo = _letter('potrf: uplo', uplo, 'LU')
    info = _info(library, 'potrf', info, a, batch)
    factor, = _overwritten(library, batch, ('potrf: out', a, out))
    _myriad.potrf(library.queue(factor), uplo, factor, info)
    return Factor(factor, info)


@_routine
def potrs(factor, b, *, uplo='L', out=None) -> Array:
    """X with A X = B from the factor of potrf. b: (..., n, k). Cost: 2 n^2 k flops."""
    library, batch, factor, b = _take('potrs', factor=factor, b=b)
    uplo = _letter('potrs: uplo', uplo, 'LU')
    x, = _overwritten(library, batch, ('potrs: out', b, out))
    _myriad.potrs(library.queue(x), uplo, factor, x)
    return x


@_routine
def posv(a, b, *, uplo='L', out=None, factor=None, info=None) -> Posv:
    """Solves A X = B with a positive definite A. out: for X; factor: for the factor. Where info > 0, X is B.

    Cost: n^3 / 3 + 2 n^2 k flops.
    """
    library, batch, a, b = _take('posv', a=a, b=b)
    uplo = _letter('posv: uplo', uplo, 'LU')
    info = _info(library, 'posv', info, a, batch)
    factor, x = _overwritten(library, batch, ('posv: factor', a, factor), ('posv: out', b, out))
    _myriad.posv(library.queue(x), uplo, factor, x, info)
    return Posv(factor, x, info)


@_routine
def potri(factor, *, uplo='L', out=None, info=None) -> Inverse:
    """The triangle `uplo` of the inverse from the factor of potrf. Cost: 2/3 n^3 flops."""
    library, batch, factor = _take('potri', factor=factor)
    uplo = _letter('potri: uplo', uplo, 'LU')
    info = _info(library, 'potri', info, factor, batch)
    inverse, = _overwritten(library, batch, ('potri: out', factor, out))
    _myriad.potri(library.queue(inverse), uplo, inverse, info)
    return Inverse(inverse, info)


@_routine
def trtri(a, *, uplo='L', diag='N', out=None, info=None) -> Inverse:
    """The inverse of a triangular matrix. info i > 0: element (i, i) is zero and the matrix is kept. Cost: n^3 / 3 flops."""
    library, batch, a = _take('trtri', a=a)
    uplo, diag = _letter('trtri: uplo', uplo, 'LU'), _letter('trtri: diag', diag, 'NU')
    info = _info(library, 'trtri', info, a, batch)
    inverse, = _overwritten(library, batch, ('trtri: out', a, out))
    _myriad.trtri(library.queue(inverse), uplo, diag, inverse, info)
    return Inverse(inverse, info)


@_routine
def trsm(a, b, *, side='L', uplo='L', diag='N', alpha=1.0, out=None) -> Array:
    """X with A X = alpha B (side 'L') or X A = alpha B ('R') and a triangular A. a: (..., n, n); transposes are views (a.mT).

    alpha: a number, or an array without axes. One in GPU memory, of the type of the elements, is not fetched: the GPU reads it when it
    solves, and each launch of a CUDA graph reads it again. Cost: n^2 k flops.
    """
    library, batch, a, b = _take('trsm', a=a, b=b)
    side, uplo, diag = _letter('trsm: side', side, 'LR'), _letter('trsm: uplo', uplo, 'LU'), _letter('trsm: diag', diag, 'NU')
    alpha = _factor('trsm: alpha', alpha, library, a)
    x, = _overwritten(library, batch, ('trsm: out', b, out))
    _myriad.trsm(library.queue(x), side, uplo, diag, alpha, a, x)
    return x


@_routine
def trmm(a, b, *, side='L', uplo='L', diag='N', alpha=1.0, out=None) -> Array:
    """alpha A B (side 'L') or alpha B A ('R') with a triangular A. a: (..., n, n). alpha is as in trsm. Cost: n^2 k flops."""
    library, batch, a, b = _take('trmm', a=a, b=b)
    side, uplo, diag = _letter('trmm: side', side, 'LR'), _letter('trmm: uplo', uplo, 'LU'), _letter('trmm: diag', diag, 'NU')
    alpha = _factor('trmm: alpha', alpha, library, a)
    product, = _overwritten(library, batch, ('trmm: out', b, out))
    _myriad.trmm(library.queue(product), side, uplo, diag, alpha, a, product)
    return product


@_routine
def gemm(a, b, c=None, *, alpha=1.0, beta=0.0, out=None) -> Array:
    """alpha A B + beta C. a: (..., m, k), b: (..., k, n), c: (..., m, n). Without c beta is not used. Also of 16-bit types.

    out: the result; out=c works in place. alpha and beta: numbers, or arrays without axes. Those in GPU memory, of the type of the elements
    (16-bit types: float32), are not fetched: the GPU reads them when it multiplies, and each launch of a CUDA graph reads them again.
    Workspace is then needed: at most 256 MiB or one matrix of the result. Cost: 2 m n k flops.
    """
    library, batch, a, b, *added = _take('gemm', 0, True, a=a, b=b, **({} if c is None else {'c': c}))
    alpha, beta = _factor('gemm: alpha', alpha, library, a), _factor('gemm: beta', beta, library, a)
    if c is not None:
        c, = added
        result, = _overwritten(library, batch, ('gemm: out', c, out))
    else:
        beta = 0.0
        if type(library) is RaggedOf:
            if out is None:
                raise NotImplementedError('gemm of ragged batches without c or out')
            _given_ragged(library, 'gemm: out', out, [(x.shape[0], y.shape[1]) for x, y in zip(a.arrays, b.arrays)], a.dtype)
            result = out
        else:
            shape = (*batch, a.shape[-2], b.shape[-1])
            if out is not None:
                _given(library, 'gemm: out', out, a, shape, a.dtype)
            result = library.empty(a, shape) if out is None else out
    _myriad.gemm(library.queue(result), alpha, a, b, beta, result)
    return result


# ---- QR and least squares -----------------------------------------------------------------------


@_routine
def geqrf(a, *, out=None, tau=None) -> Geqrf:
    """A = Q R: R above, Householder vectors below the diagonal. a: (..., m, n); tau: (..., min(m, n)). Cost: 2 n^2 (m - n / 3) flops."""
    library, batch, a = _take('geqrf', a=a)
    tau = _vectors(library, 'geqrf: tau', tau, a, batch, _k)
    qr, = _overwritten(library, batch, ('geqrf: out', a, out))
    _myriad.geqrf(library.queue(qr), qr, tau)
    return Geqrf(qr, tau)


@_routine
def orgqr(qr, tau, *, out=None) -> Array:
    """The first n columns of Q. qr: (..., m, n) with m >= n and the reflectors of geqrf in its first columns, one for each entry of tau.

    Cost: 4 m n k - 2 (m + n) k^2 + 4/3 k^3 flops.
    """
    library, batch, qr, tau = _take('orgqr', 1, qr=qr, tau=tau)
    q, = _overwritten(library, batch, ('orgqr: out', qr, out))
    _myriad.orgqr(library.queue(q), q, tau)
    return q


@_routine
def ormqr(qr, tau, c, *, side='L', trans='N', out=None) -> Array:
    """op(Q) C (side 'L') or C op(Q) ('R') with the Q of geqrf. qr: (..., r, k), k the length of tau. trans: 'N', 'C', for real types 'T'.

    Cost: 4 m n k - 2 n k^2 flops.
    """
    library, batch, qr, c, tau = _take('ormqr', 1, qr=qr, c=c, tau=tau)
    side, trans = _letter('ormqr: side', side, 'LR'), _letter('ormqr: trans', trans, 'NTC')
    result, = _overwritten(library, batch, ('ormqr: out', c, out))
    _myriad.ormqr(library.queue(result), side, trans, qr, tau, result)
    return result


ungqr, unmqr = orgqr, ormqr


@_routine
def gels(a, b, *, out=None, qr=None, info=None) -> Gels:
    """Least squares (m >= n) or minimum norm (m < n) for A of full rank. a: (..., m, n), b: (..., m, k); x: (..., n, k).

    out: for B and X, (..., max(m, n), k), whose first n rows are x. info i > 0: element (i, i) of the triangular factor is zero.
    Cost: 2 n^2 (m - n / 3) + 4 m n k flops.
    """
    library, batch, a, b = _take('gels', a=a, b=b)
    if type(library) is RaggedOf:
        raise NotImplementedError('gels of ragged batches')
    m, n = a.shape[-2:]
    if b.shape[-2] != m:
        raise ValueError(f'gels: b has {b.shape[-2]} rows; a needs {m}')
    info = _info(library, 'gels', info, a, batch)
    shape = (*batch, max(m, n), b.shape[-1])
    if out is not None:
        _given(library, 'gels: out', out, a, shape, a.dtype)
    qr, = _overwritten(library, batch, ('gels: qr', a, qr))
    if out is None:
        out = library.empty(a, shape)
        out[..., m:, :] = 0
    library.assign(out[..., :m, :], b)
    _myriad.gels(library.queue(qr), qr, out, info)
    return Gels(qr, out[..., :n, :], info)


# ---- Eigenvalues and singular values ------------------------------------------------------------


@_routine
def syevd(a, *, jobz='V', uplo='L', out=None, w=None, info=None) -> Syevd:
    """Eigenvalues w (..., n), ascending, and with jobz 'V' eigenvectors v, of symmetric or Hermitian matrices. Only the triangle is read.

    With jobz 'N' v is not defined. info n: NaN or infinity; 0 < i: not converged. Cost: 4/3 n^3, with vectors about 9 n^3 flops.
    """
    library, batch, a = _take('syevd', a=a)
    jobz, uplo = _letter('syevd: jobz', jobz, 'NV'), _letter('syevd: uplo', uplo, 'LU')
    w = _vectors(library, 'syevd: w', w, a, batch, _n, library.real(a.dtype))
    info = _info(library, 'syevd', info, a, batch)
    v, = _overwritten(library, batch, ('syevd: out', a, out))
    _myriad.syevd(library.queue(v), jobz, uplo, v, w, info)
    return Syevd(w, v, info)


@_routine
def sytrd(a, *, uplo='L', out=None, d=None, e=None, tau=None) -> Sytrd:
    """A = Q T Q^H with a real tridiagonal T: diagonal d (..., n), off-diagonal e (..., n - 1); tau: (..., n - 1). Cost: 4/3 n^3 flops."""
    library, batch, a = _take('sytrd', a=a)
    uplo = _letter('sytrd: uplo', uplo, 'LU')
    real = library.real(a.dtype)
    d = _vectors(library, 'sytrd: d', d, a, batch, _n, real)
    e = _vectors(library, 'sytrd: e', e, a, batch, _less_one, real)
    tau = _vectors(library, 'sytrd: tau', tau, a, batch, _less_one)
    a, = _overwritten(library, batch, ('sytrd: out', a, out))
    _myriad.sytrd(library.queue(a), uplo, a, d, e, tau)
    return Sytrd(a, d, e, tau)


@_routine
def orgtr(a, tau, *, uplo='L', out=None) -> Array:
    """The Q of sytrd. Cost: 4/3 n^3 flops."""
    library, batch, a, tau = _take('orgtr', 1, a=a, tau=tau)
    uplo = _letter('orgtr: uplo', uplo, 'LU')
    q, = _overwritten(library, batch, ('orgtr: out', a, out))
    _myriad.orgtr(library.queue(q), uplo, q, tau)
    return q


@_routine
def ormtr(a, tau, c, *, side='L', uplo='L', trans='N', out=None) -> Array:
    """op(Q) C (side 'L') or C op(Q) ('R') with the Q of sytrd. trans: 'N', 'C', for real types 'T'. Cost: 2 m^2 n flops."""
    library, batch, a, c, tau = _take('ormtr', 1, a=a, c=c, tau=tau)
    side, uplo, trans = _letter('ormtr: side', side, 'LR'), _letter('ormtr: uplo', uplo, 'LU'), _letter('ormtr: trans', trans, 'NTC')
    result, = _overwritten(library, batch, ('ormtr: out', c, out))
    _myriad.ormtr(library.queue(result), side, uplo, trans, a, tau, result)
    return result


heevd, hetrd, ungtr, unmtr = syevd, sytrd, orgtr, ormtr


@_routine
def gesvd(a, *, jobz='S', out=None, s=None, u=None, vt=None, info=None) -> Gesvd:
    """A = U diag(s) V^H. jobz: 'N' singular values only, 'S' the first k = min(m, n) columns of U and rows of V^H, 'A' all of them, 'U' thin U
    only, 'V' thin V^H only; what is not asked for is None.

    a: (..., m, n), destroyed where out=a; s: (..., k), descending. info k: NaN or infinity; 0 < i: not converged. Cost for m >= n:
    4 n^2 (m - n / 3) flops, and about 4 m n^2 + 8 n^3 with thin vectors.
    """
    return _singular_values('gesvd', a, jobz, out, s, u, vt, info)


@_routine
def gejsv(a, *, jobz='S', out=None, s=None, u=None, vt=None, info=None) -> Gesvd:
    """gesvd with high relative accuracy: where a = B D (m >= n) or a = D B (m <= n) with a diagonal D, values have relative errors of the order
    of max(m, n) u cond(B). Arguments and results: those of gesvd. Cost: on a CPU 1.2 to 1.5 times that of gesvd, on a GPU more.
    """
    return _singular_values('gejsv', a, jobz, out, s, u, vt, info)


def _singular_values(name, a, jobz, out, s, u, vt, info) -> Gesvd:
    library, batch, a = _take(name, a=a)
    jobz = _letter(f'{name}: jobz', jobz, 'NSAUV')
    s = _vectors(library, f'{name}: s', s, a, batch, _k, library.real(a.dtype))
    if jobz in 'SAU' or u is not None:
        u = _matrices(library, f'{name}: u', u, a, batch, (lambda m, n: (m, m)) if jobz == 'A' else lambda m, n: (m, min(m, n)))
    if jobz in 'SAV' or vt is not None:
        vt = _matrices(library, f'{name}: vt', vt, a, batch, (lambda m, n: (n, n)) if jobz == 'A' else lambda m, n: (min(m, n), n))
    info = _info(library, name, info, a, batch)
    a, = _overwritten(library, batch, (f'{name}: out', a, out))
    getattr(_myriad, name)(library.queue(a), jobz, a, s, u, vt, info)
    return Gesvd(s, u, vt, info)


@_routine
def gebrd(a, *, out=None, d=None, e=None, tauq=None, taup=None) -> Gebrd:
    """A = Q B P^H with a real bidiagonal B: diagonal d (..., k), off-diagonal e (..., k - 1), k = min(m, n); tauq, taup: (..., k).

    Cost for m >= n: 4 n^2 (m - n / 3) flops.
    """
    library, batch, a = _take('gebrd', a=a)
    real = library.real(a.dtype)
    d = _vectors(library, 'gebrd: d', d, a, batch, _k, real)
    e = _vectors(library, 'gebrd: e', e, a, batch, lambda m, n: max(min(m, n) - 1, 0), real)
    tauq = _vectors(library, 'gebrd: tauq', tauq, a, batch, _k)
    taup = _vectors(library, 'gebrd: taup', taup, a, batch, _k)
    a, = _overwritten(library, batch, ('gebrd: out', a, out))
    _myriad.gebrd(library.queue(a), a, d, e, tauq, taup)
    return Gebrd(a, d, e, tauq, taup)


@_routine
def orgbr(a, tau, *, vect, k, out=None) -> Array:
    """Q (vect 'Q') or P^H ('P') of gebrd. k: the columns ('Q') or rows ('P') of the matrix that was reduced. Cost: that of orgqr."""
    library, batch, a, tau = _take('orgbr', 1, a=a, tau=tau)
    vect = _letter('orgbr: vect', vect, 'QP')
    q, = _overwritten(library, batch, ('orgbr: out', a, out))
    _myriad.orgbr(library.queue(q), vect, k, None, q, tau)
    return q


@_routine
def ormbr(a, tau, c, *, vect, k, side='L', trans='N', out=None) -> Array:
    """op(Q) C, op(P) C (side 'L') or C op(Q), C op(P) ('R') with the Q or P of gebrd. Cost: that of ormqr."""
    library, batch, a, c, tau = _take('ormbr', 1, a=a, c=c, tau=tau)
    vect, side, trans = _letter('ormbr: vect', vect, 'QP'), _letter('ormbr: side', side, 'LR'), _letter('ormbr: trans', trans, 'NTC')
    result, = _overwritten(library, batch, ('ormbr: out', c, out))
    _myriad.ormbr(library.queue(result), vect, side, trans, k, None, a, tau, result)
    return result


ungbr, unmbr = orgbr, ormbr


# ---- Equilibration and refinement ---------------------------------------------------------------


@_routine
def geequ(a, *, info=None) -> Geequ:
    """Scalings r (..., m) and c (..., n), powers of two, that bring the largest element of every row and column near 1.

    rowcnd, colcnd: smallest divided by largest scaling; amax: the largest absolute element. Cost: m n elements read.
    """
    library, batch, a = _take('geequ', a=a)
    info = _info(library, 'geequ', info, a, batch)
    real = library.real(a.dtype)
    r, c = library.vectors(a, lambda m, n: m, real), library.vectors(a, _n, real)
    rowcnd, colcnd, amax = (library.numbers(a, real) for _ in range(3))
    _myriad.geequ(library.queue(a), a, r, c, rowcnd, colcnd, amax, info)
    return Geequ(r, c, rowcnd, colcnd, amax, info)


@_routine
def laqge(a, r=None, c=None, *, out=None) -> Array:
    """diag(r) A diag(c); None stands for ones."""
    library, batch, a = _take('laqge', a=a)
    r, c = _reals(library, 'laqge: r', r, a), _reals(library, 'laqge: c', c, a)
    scaled, = _overwritten(library, batch, ('laqge: out', a, out))
    _myriad.laqge(library.queue(scaled), scaled, r, c)
    return scaled


@_routine
def gerfs(a, lu, ipiv, b, x, *, trans='N', out=None) -> Gerfs:
    """Refines x, a solution of op(A) X = B from the factors of getrf. ferr, berr: (..., k), bounds of the forward and backward error.

    Cost: 6 n^2 k flops a sweep, usually one or two.
    """
    library, batch, a, lu, b, x = _take('gerfs', a=a, lu=lu, b=b, x=x)
    trans = _letter('gerfs: trans', trans, 'NTC')
    ipiv = _pivots(library, 'gerfs: ipiv', ipiv, lu)
    x, = _overwritten(library, batch, ('gerfs: out', x, out))
    real = library.real(x.dtype)
    ferr, berr = library.vectors(x, _n, real), library.vectors(x, _n, real)
    _myriad.gerfs(library.queue(x), trans, a, lu, ipiv, b, x, ferr, berr)
    return Gerfs(x, ferr, berr)


@_routine
def backward_error(a, x, b) -> Array:
    """The componentwise backward errors (..., k) of x as a solution of A X = B, with residuals in twice the precision.

    a: (..., m, n), x: (..., n, k), b: (..., m, k). Cost: 4 m n k flops.
    """
    library, batch, a, x, b = _take('backward_error', a=a, x=x, b=b)
    error = _vectors(library, 'backward_error', None, x, batch, _n, library.real(x.dtype))
    _myriad.backward_error(library.queue(error), a, x, b, error)
    return error
