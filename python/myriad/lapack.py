"""LAPACK's routines, for stacks of matrices: names and options of LAPACK without the type letter, one call for all matrices.

Arrays have the shape (..., m, n), vectors (..., length); leading axes are the batch and are broadcast. Arguments that a routine overwrites
are copied first: with out=a (or another array of the result's shape) it works in place, without a copy. Results that are asked for by name
(info=, ipiv=, tau=, ...) are written to arrays of the caller, and made otherwise.

Nothing is checked after the call, and nothing waits for a GPU: look at `info`, LAPACK's error code of every matrix, an int32 array.
stream= is the CUDA stream for arrays in GPU memory: an int or an object with __cuda_stream__; by default the current stream of the arrays'
library. A ragged batch (myriad.batched.ragged) may stand for any array of matrices on the CPU.
"""
import functools
import inspect
from typing import Any, NamedTuple

import numpy

from . import _myriad
from ._arrays import RaggedNumPy, library_of

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
        with library_of(*arrays).using(arrays[0], stream):
            return f(*arrays, **options)

    routine.__signature__ = signature.replace(parameters=[*signature.parameters.values(), stream_parameter])
    __all__.append(f.__name__)
    return routine


def _shape(library, *arrays):
    """The common leading axes of arrays of matrices; None for ragged batches."""
    if library is RaggedNumPy:
        return None
    for x in arrays:
        if x.ndim < 2:
            raise ValueError(f'an array with {x.ndim} axes was given; matrices need at least 2, vectors of right-hand sides a last axis of size 1')
    shapes = [tuple(x.shape[:-2]) for x in arrays]
    return shapes[0] if all(s == shapes[0] for s in shapes) else numpy.broadcast_shapes(*shapes)


def _overwritten(library, x, out, batch):
    """The array that the routine overwrites: `out` with the content of x, or a copy."""
    if library is not RaggedNumPy:
        x = library.broadcast(x, (*batch, *x.shape[-2:]))
    if out is None:
        return library.copy(x)
    if out is not x:
        library.assign(out, x)
    return out



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
    library = library_of(a)
    a, = library.inputs([a])
    lu = _overwritten(library, a, out, _shape(library, a))
    ipiv = library.vectors(lu, _k, library.int32) if ipiv is None else ipiv
    info = library.numbers(lu, library.int32) if info is None else info
    _myriad.getrf(library.queue(lu), lu, ipiv, info)
    return Getrf(lu, ipiv, info)


@_routine
def getrs(lu, ipiv, b, *, trans='N', out=None) -> Array:
    """X with op(A) X = B from the factors of getrf. b: (..., n, k). trans: 'N', 'T' or 'C'. Cost: 2 n^2 k flops."""
    library = library_of(lu, b)
    x = _overwritten(library, b, out, _shape(library, lu, b))
    _myriad.getrs(library.queue(x), trans, lu, ipiv, x)
    return x


@_routine
def getri(lu, ipiv, *, out=None, info=None) -> Inverse:
    """The inverse from the factors of getrf. info i > 0: U(i, i) is zero. Cost: 4/3 n^3 flops."""
    library = library_of(lu)
    inverse = _overwritten(library, lu, out, _shape(library, lu))
    info = library.numbers(inverse, library.int32) if info is None else info
    _myriad.getri(library.queue(inverse), inverse, ipiv, info)
    return Inverse(inverse, info)


@_routine
def gesv(a, b, *, out=None, lu=None, ipiv=None, info=None) -> Gesv:
    """Solves A X = B. a: (..., n, n), b: (..., n, k). out: for X; lu: for the factors. info i > 0: U(i, i) is zero and X is B.

    Cost: 2/3 n^3 + 2 n^2 k flops.
    """
    library = library_of(a, b)
    a, b = library.inputs([a, b])
    batch = _shape(library, a, b)
    lu = _overwritten(library, a, lu, batch)
    x = _overwritten(library, b, out, batch)
    ipiv = library.vectors(lu, _k, library.int32) if ipiv is None else ipiv
    info = library.numbers(lu, library.int32) if info is None else info
    _myriad.gesv(library.queue(x), lu, ipiv, x, info)
    return Gesv(lu, ipiv, x, info)


# ---- Cholesky and triangles ---------------------------------------------------------------------


@_routine
def potrf(a, *, uplo='L', out=None, info=None) -> Factor:
    """A = L L^H (uplo 'L') or U^H U ('U'). The other triangle of the result is that of a.

    info i > 0: the leading minor of order i is not positive definite. Cost: n^3 / 3 flops.
    """
    library = library_of(a)
    a, = library.inputs([a])
    factor = _overwritten(library, a, out, _shape(library, a))
    info = library.numbers(factor, library.int32) if info is None else info
    _myriad.potrf(library.queue(factor), uplo, factor, info)
    return Factor(factor, info)


@_routine
def potrs(factor, b, *, uplo='L', out=None) -> Array:
    """X with A X = B from the factor of potrf. b: (..., n, k). Cost: 2 n^2 k flops."""
    library = library_of(factor, b)
    x = _overwritten(library, b, out, _shape(library, factor, b))
    _myriad.potrs(library.queue(x), uplo, factor, x)
    return x


@_routine
def posv(a, b, *, uplo='L', out=None, factor=None, info=None) -> Posv:
    """Solves A X = B with a positive definite A. out: for X; factor: for the factor. Where info > 0, X is B.

    Cost: n^3 / 3 + 2 n^2 k flops.
    """
    library = library_of(a, b)
    a, b = library.inputs([a, b])
    batch = _shape(library, a, b)
    factor = _overwritten(library, a, factor, batch)
    x = _overwritten(library, b, out, batch)
    info = library.numbers(factor, library.int32) if info is None else info
    _myriad.posv(library.queue(x), uplo, factor, x, info)
    return Posv(factor, x, info)


@_routine
def potri(factor, *, uplo='L', out=None, info=None) -> Inverse:
    """The triangle `uplo` of the inverse from the factor of potrf. Cost: 2/3 n^3 flops."""
    library = library_of(factor)
    inverse = _overwritten(library, factor, out, _shape(library, factor))
    info = library.numbers(inverse, library.int32) if info is None else info
    _myriad.potri(library.queue(inverse), uplo, inverse, info)
    return Inverse(inverse, info)


@_routine
def trtri(a, *, uplo='L', diag='N', out=None, info=None) -> Inverse:
    """The inverse of a triangular matrix. info i > 0: element (i, i) is zero and the matrix is kept. Cost: n^3 / 3 flops."""
    library = library_of(a)
    a, = library.inputs([a])
    inverse = _overwritten(library, a, out, _shape(library, a))
    info = library.numbers(inverse, library.int32) if info is None else info
    _myriad.trtri(library.queue(inverse), uplo, diag, inverse, info)
    return Inverse(inverse, info)


@_routine
def trsm(a, b, *, side='L', uplo='L', diag='N', alpha=1.0, out=None) -> Array:
    """X with A X = alpha B (side 'L') or X A = alpha B ('R') and a triangular A. a: (..., n, n); transposes are views (a.mT).

    Cost: n^2 k flops.
    """
    library = library_of(a, b)
    a, b = library.inputs([a, b])
    x = _overwritten(library, b, out, _shape(library, a, b))
    _myriad.trsm(library.queue(x), side, uplo, diag, alpha, a, x)
    return x


@_routine
def trmm(a, b, *, side='L', uplo='L', diag='N', alpha=1.0, out=None) -> Array:
    """alpha A B (side 'L') or alpha B A ('R') with a triangular A. a: (..., n, n). Cost: n^2 k flops."""
    library = library_of(a, b)
    a, b = library.inputs([a, b])
    product = _overwritten(library, b, out, _shape(library, a, b))
    _myriad.trmm(library.queue(product), side, uplo, diag, alpha, a, product)
    return product


@_routine
def gemm(a, b, c=None, *, alpha=1.0, beta=0.0, out=None) -> Array:
    """alpha A B + beta C. a: (..., m, k), b: (..., k, n), c: (..., m, n). Without c beta is not used. Also of 16-bit types.

    out: the result; out=c works in place. Cost: 2 m n k flops.
    """
    library = library_of(a, b)
    if library is RaggedNumPy and out is None and c is None:
        raise NotImplementedError('gemm of ragged batches without c or out')
    a, b = library.inputs([a, b], halves=True)
    batch = _shape(library, a, b)
    if c is not None:
        result = _overwritten(library, c, out, batch)
    else:
        beta, result = 0.0, library.empty(a, (*batch, a.shape[-2], b.shape[-1])) if out is None else out
    _myriad.gemm(library.queue(result), alpha, a, b, beta, result)
    return result


# ---- QR and least squares -----------------------------------------------------------------------


@_routine
def geqrf(a, *, out=None, tau=None) -> Geqrf:
    """A = Q R: R above, Householder vectors below the diagonal. a: (..., m, n); tau: (..., min(m, n)). Cost: 2 n^2 (m - n / 3) flops."""
    library = library_of(a)
    a, = library.inputs([a])
    qr = _overwritten(library, a, out, _shape(library, a))
    tau = library.vectors(qr, _k) if tau is None else tau
    _myriad.geqrf(library.queue(qr), qr, tau)
    return Geqrf(qr, tau)


@_routine
def orgqr(qr, tau, *, out=None) -> Array:
    """The first n columns of Q. qr: (..., m, n) with m >= n and the reflectors of geqrf in its first columns, one for each entry of tau.

    Cost: 4 m n k - 2 (m + n) k^2 + 4/3 k^3 flops.
    """
    library = library_of(qr)
    q = _overwritten(library, qr, out, _shape(library, qr))
    _myriad.orgqr(library.queue(q), q, tau)
    return q


@_routine
def ormqr(qr, tau, c, *, side='L', trans='N', out=None) -> Array:
    """op(Q) C (side 'L') or C op(Q) ('R') with the Q of geqrf. qr: (..., r, k), k the length of tau. trans: 'N', 'C', for real types 'T'.

    Cost: 4 m n k - 2 n k^2 flops.
    """
    library = library_of(qr, c)
    result = _overwritten(library, c, out, _shape(library, qr, c))
    _myriad.ormqr(library.queue(result), side, trans, qr, tau, result)
    return result


ungqr, unmqr = orgqr, ormqr


@_routine
def gels(a, b, *, out=None, qr=None, info=None) -> Gels:
    """Least squares (m >= n) or minimum norm (m < n) for A of full rank. a: (..., m, n), b: (..., m, k); x: (..., n, k).

    out: for B and X, (..., max(m, n), k), whose first n rows are x. info i > 0: element (i, i) of the triangular factor is zero.
    Cost: 2 n^2 (m - n / 3) + 4 m n k flops.
    """
    library = library_of(a, b)
    if library is RaggedNumPy:
        raise NotImplementedError('gels of ragged batches')
    a, b = library.inputs([a, b])
    batch = _shape(library, a, b)
    m, n = a.shape[-2:]
    if b.shape[-2] != m:
        raise ValueError(f'gels: b has {b.shape[-2]} rows; a needs {m}')
    if out is None:
        out = library.empty(a, (*batch, max(m, n), b.shape[-1]))
        out[..., m:, :] = 0
    library.assign(out[..., :m, :], b)
    qr = _overwritten(library, a, qr, batch)
    info = library.numbers(qr, library.int32) if info is None else info
    _myriad.gels(library.queue(qr), qr, out, info)
    return Gels(qr, out[..., :n, :], info)


# ---- Eigenvalues and singular values ------------------------------------------------------------


@_routine
def syevd(a, *, jobz='V', uplo='L', out=None, w=None, info=None) -> Syevd:
    """Eigenvalues w (..., n), ascending, and with jobz 'V' eigenvectors v, of symmetric or Hermitian matrices. Only the triangle is read.

    With jobz 'N' v is not defined. info n: NaN or infinity; 0 < i: not converged. Cost: 4/3 n^3, with vectors about 9 n^3 flops.
    """
    library = library_of(a)
    a, = library.inputs([a])
    v = _overwritten(library, a, out, _shape(library, a))
    w = library.vectors(v, _n, library.real(v.dtype)) if w is None else w
    info = library.numbers(v, library.int32) if info is None else info
    _myriad.syevd(library.queue(v), jobz, uplo, v, w, info)
    return Syevd(w, v, info)


@_routine
def sytrd(a, *, uplo='L', out=None, d=None, e=None, tau=None) -> Sytrd:
    """A = Q T Q^H with a real tridiagonal T: diagonal d (..., n), off-diagonal e (..., n - 1); tau: (..., n - 1). Cost: 4/3 n^3 flops."""
    library = library_of(a)
    a, = library.inputs([a])
    a = _overwritten(library, a, out, _shape(library, a))
    real = library.real(a.dtype)
    d = library.vectors(a, _n, real) if d is None else d
    e = library.vectors(a, _less_one, real) if e is None else e
    tau = library.vectors(a, _less_one) if tau is None else tau
    _myriad.sytrd(library.queue(a), uplo, a, d, e, tau)
    return Sytrd(a, d, e, tau)


@_routine
def orgtr(a, tau, *, uplo='L', out=None) -> Array:
    """The Q of sytrd. Cost: 4/3 n^3 flops."""
    library = library_of(a)
    q = _overwritten(library, a, out, _shape(library, a))
    _myriad.orgtr(library.queue(q), uplo, q, tau)
    return q


@_routine
def ormtr(a, tau, c, *, side='L', uplo='L', trans='N', out=None) -> Array:
    """op(Q) C (side 'L') or C op(Q) ('R') with the Q of sytrd. trans: 'N', 'C', for real types 'T'. Cost: 2 m^2 n flops."""
    library = library_of(a, c)
    result = _overwritten(library, c, out, _shape(library, a, c))
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
    library = library_of(a)
    a, = library.inputs([a])
    a = _overwritten(library, a, out, _shape(library, a))
    s = library.vectors(a, _k, library.real(a.dtype)) if s is None else s
    if jobz in 'SAU' and u is None:
        u = library.matrices(a, (lambda m, n: (m, m)) if jobz == 'A' else lambda m, n: (m, min(m, n)))
    if jobz in 'SAV' and vt is None:
        vt = library.matrices(a, (lambda m, n: (n, n)) if jobz == 'A' else lambda m, n: (min(m, n), n))
    info = library.numbers(a, library.int32) if info is None else info
    _myriad.gesvd(library.queue(a), jobz, a, s, u, vt, info)
    return Gesvd(s, u, vt, info)


@_routine
def gebrd(a, *, out=None, d=None, e=None, tauq=None, taup=None) -> Gebrd:
    """A = Q B P^H with a real bidiagonal B: diagonal d (..., k), off-diagonal e (..., k - 1), k = min(m, n); tauq, taup: (..., k).

    Cost for m >= n: 4 n^2 (m - n / 3) flops.
    """
    library = library_of(a)
    a, = library.inputs([a])
    a = _overwritten(library, a, out, _shape(library, a))
    real = library.real(a.dtype)
    d = library.vectors(a, _k, real) if d is None else d
    e = library.vectors(a, lambda m, n: max(min(m, n) - 1, 0), real) if e is None else e
    tauq = library.vectors(a, _k) if tauq is None else tauq
    taup = library.vectors(a, _k) if taup is None else taup
    _myriad.gebrd(library.queue(a), a, d, e, tauq, taup)
    return Gebrd(a, d, e, tauq, taup)


@_routine
def orgbr(a, tau, *, vect, k, out=None) -> Array:
    """Q (vect 'Q') or P^H ('P') of gebrd. k: the columns ('Q') or rows ('P') of the matrix that was reduced. Cost: that of orgqr."""
    library = library_of(a)
    q = _overwritten(library, a, out, _shape(library, a))
    _myriad.orgbr(library.queue(q), vect, k, None, q, tau)
    return q


@_routine
def ormbr(a, tau, c, *, vect, k, side='L', trans='N', out=None) -> Array:
    """op(Q) C, op(P) C (side 'L') or C op(Q), C op(P) ('R') with the Q or P of gebrd. Cost: that of ormqr."""
    library = library_of(a, c)
    result = _overwritten(library, c, out, _shape(library, a, c))
    _myriad.ormbr(library.queue(result), vect, side, trans, k, None, a, tau, result)
    return result


ungbr, unmbr = orgbr, ormbr


# ---- Equilibration and refinement ---------------------------------------------------------------


@_routine
def geequ(a, *, info=None) -> Geequ:
    """Scalings r (..., m) and c (..., n), powers of two, that bring the largest element of every row and column near 1.

    rowcnd, colcnd: smallest divided by largest scaling; amax: the largest absolute element. Cost: m n elements read.
    """
    library = library_of(a)
    a, = library.inputs([a])
    _shape(library, a)
    real = library.real(a.dtype)
    r, c = library.vectors(a, lambda m, n: m, real), library.vectors(a, _n, real)
    rowcnd, colcnd, amax = (library.numbers(a, real) for _ in range(3))
    info = library.numbers(a, library.int32) if info is None else info
    _myriad.geequ(library.queue(a), a, r, c, rowcnd, colcnd, amax, info)
    return Geequ(r, c, rowcnd, colcnd, amax, info)


@_routine
def laqge(a, r=None, c=None, *, out=None) -> Array:
    """diag(r) A diag(c); None stands for ones."""
    library = library_of(a)
    a, = library.inputs([a])
    scaled = _overwritten(library, a, out, _shape(library, a))
    _myriad.laqge(library.queue(scaled), scaled, r, c)
    return scaled


@_routine
def gerfs(a, lu, ipiv, b, x, *, trans='N', out=None) -> Gerfs:
    """Refines x, a solution of op(A) X = B from the factors of getrf. ferr, berr: (..., k), bounds of the forward and backward error.

    Cost: 6 n^2 k flops a sweep, usually one or two.
    """
    library = library_of(a, lu, b, x)
    x = _overwritten(library, x, out, _shape(library, a, b, x))
    real = library.real(x.dtype)
    ferr, berr = library.vectors(x, _n, real), library.vectors(x, _n, real)
    _myriad.gerfs(library.queue(x), trans, a, lu, ipiv, b, x, ferr, berr)
    return Gerfs(x, ferr, berr)


@_routine
def backward_error(a, x, b) -> Array:
    """The componentwise backward errors (..., k) of x as a solution of A X = B, with residuals in twice the precision.

    a: (..., m, n), x: (..., n, k), b: (..., m, k). Cost: 4 m n k flops.
    """
    library = library_of(a, x, b)
    a, x, b = library.inputs([a, x, b])
    batch = _shape(library, a, x, b)
    if library is RaggedNumPy:
        error = library.vectors(x, _n, library.real(x.dtype))
    else:
        error = library.empty(x, (*batch, x.shape[-1]), library.real(x.dtype))
    _myriad.backward_error(library.queue(error), a, x, b, error)
    return error
