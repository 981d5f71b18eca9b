"""Linear algebra of the Python array API standard, version 2025.12, for stacks of matrices.

All functions take arrays of shape (..., m, n) of NumPy, torch, CuPy or another library with __dlpack__, and return arrays of the same library on the
same device. Types are float32, float64, complex64 and complex128; integers are converted to float64, except for torch, whose functions
refuse them. Arrays of dask have whole matrices in their chunks; functions are mapped over the chunks, and results are lazy.

Functions that can fail raise LinAlgError with the number of the first matrix that failed; its attribute `info` has the code of every matrix.
check=False skips this check, and on a GPU the wait for the results: results of failed matrices are NaN.
"""
from typing import Any, NamedTuple

import numpy

from . import _myriad
from ._arrays import NumPy
from ._arrays import library_of_stacks as library_of
from ._errors import LinAlgError

__all__ = [
    'cholesky', 'cross', 'det', 'diagonal', 'eig', 'eigh', 'eigvals', 'eigvalsh', 'inv', 'matmul', 'matrix_norm', 'matrix_power',
    'matrix_rank', 'matrix_transpose', 'outer', 'pinv', 'qr', 'slogdet', 'solve', 'svd', 'svdvals', 'tensordot', 'trace', 'vecdot',
    'vector_norm', 'LinAlgError',
]

Array = Any


class EighResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    U: Array
    S: Array
    Vh: Array


# ---- Checks -------------------------------------------------------------------------------------


def _stacked(*arrays):
    for x in arrays:
        if x.ndim < 2:
            raise LinAlgError(f'{x.ndim}-dimensional array given. Array must be at least two-dimensional')


def _square(x):
    shape = x.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        _stacked(x)
        raise LinAlgError(f'Last 2 dimensions of the array must be square, are {shape[-2]} and {shape[-1]}')


def _check(library, info, problem):
    count, first = library.failures(info)
    if count:
        total = 1
        for d in info.shape:
            total *= d
        where = '' if total == 1 else f' (matrix {first} of {total})' if count == 1 else f' ({count} of {total} matrices, the first is {first})'
        raise LinAlgError(problem + where, library.own_info(info))


def _finish(library, info, check, problem, *results):
    """Raises where matrices failed, or makes their results NaN."""
    if check:
        _check(library, info, problem)
    else:
        for x in results:
            library.invalidate(x, library.own_info(info) != 0)


# ---- Linear systems, inverses, determinants -----------------------------------------------------


def solve(x1: Array, x2: Array, /, *, check: bool = True) -> Array:
    """The solution X of x1 X = x2. x1: (..., n, n); x2: (..., n, k), or (n,), a vector for every matrix. Leading axes are broadcast.

    Raises LinAlgError for a singular matrix. Cost: 2/3 n^3 + 2 n^2 k flops.
    """
    library = library_of(x1, x2)
    if library.lazy:
        return library.by_chunks(solve, [x1, x2], check=check)
    a, b = library.inputs([x1, x2])
    _square(a)
    shape, right = a.shape, b.shape
    if not right:
        raise LinAlgError('0-dimensional array given. x2 must be at least one-dimensional')
    vector = len(right) == 1
    if vector:
        b = b[:, None]
        right = b.shape
    if right[-2] != shape[-1]:
        raise ValueError(f'solve: x2 has {right[-2]} rows; x1 needs {shape[-1]}')
    if vector:
        right = (*shape[:-1], 1)
    elif right[:-1] != shape[:-1]:
        batch = numpy.broadcast_shapes(tuple(shape[:-2]), tuple(right[:-2]))
        a, b = library.stretched(a, batch), library.stretched(b, batch)
        right = (*batch, *right[-2:])
    x = library.empty(a, right)
    info = library.info_of(a, right[:-2]) if check else None
    _myriad.solve(library.queue(a), a, b, x, info)
    if check:
        _check(library, info, 'Singular matrix')
    return x[..., 0] if vector else x


def inv(x: Array, /, *, check: bool = True) -> Array:
    """The inverses. x: (..., n, n). Raises LinAlgError for a singular matrix. Cost: 2 n^3 flops."""
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(inv, [x], check=check)
    a, = library.inputs([x])
    _square(a)
    out = library.empty(a, a.shape)
    info = library.info_of(a, a.shape[:-2]) if check else None
    _myriad.inverse(library.queue(a), a, out, info)
    if check:
        _check(library, info, 'Singular matrix')
    return out


def det(x: Array, /) -> Array:
    """The determinants, of shape (...). x: (..., n, n). Cost: 2/3 n^3 flops."""
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(det, [x])
    a, = library.inputs([x])
    _square(a)
    out = library.empty(a, a.shape[:-2])
    _myriad.det(library.queue(a), a, out)
    return library.result(out)


def slogdet(x: Array, /) -> SlogdetResult:
    """Signs (complex: numbers of modulus 1) and logarithms of the absolute determinants: 0 and -inf for a singular matrix.

    x: (..., n, n); both results: (...). Cost: 2/3 n^3 flops.
    """
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(slogdet, [x])
    a, = library.inputs([x])
    _square(a)
    sign = library.empty(a, a.shape[:-2])
    logabs = library.empty(a, a.shape[:-2], library.real(a.dtype))
    _myriad.logdet(library.queue(a), a, sign, logabs)
    return SlogdetResult(library.result(sign), library.result(logabs))


def cholesky(x: Array, /, *, upper: bool = False, check: bool = True) -> Array:
    """The factor L with x = L L^H, or with upper=True U with x = U^H U. x: (..., n, n); only that triangle is read.

    Raises LinAlgError for a matrix that is not positive definite. Cost: n^3 / 3 flops.
    """
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(cholesky, [x], upper=upper, check=check)
    a, = library.inputs([x])
    _square(a)
    out = library.triangle(a, upper)
    info = library.info_of(a, a.shape[:-2])
    _myriad.potrf(library.queue(a), 'U' if upper else 'L', out, info)
    _finish(library, info, check, 'Matrix is not positive definite', out)
    return out


def matrix_power(x: Array, n: int, /) -> Array:
    """The n-th powers, n an integer of any sign. x: (..., m, m). Raises LinAlgError for n < 0 and a singular matrix.

    Cost: 2 m^3 flops for each binary digit of n, twice for digits that are 1; an inverse for n < 0.
    """
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(matrix_power, [x], n)
    a, = library.inputs([x])
    _square(a)
    if not isinstance(n, int) and not hasattr(n, '__index__'):
        raise TypeError('exponent must be an integer')
    n = n.__index__()
    if library is NumPy and n >= 0 and numpy.asarray(x).dtype.kind in 'biu':
        return numpy.linalg.matrix_power(x, n)  # integers stay integers
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        out = library.copy(a)
        out[...] = 0
        for i in range(out.shape[-1]):
            out[..., i, i] = 1
        return out
    power, result = a, None
    while True:
        if n & 1:
            result = power if result is None else _product(library, result, power)
        n >>= 1
        if not n:
            break
        power = _product(library, power, power)
    return library.copy(result) if result is a else result


# ---- Orthogonal factorizations, eigenvalues, singular values ------------------------------------


def qr(x: Array, /, *, mode: str = 'reduced') -> QRResult:
    """x = Q R with Q^H Q = I and an upper triangular R. x: (..., m, n).

    mode 'reduced': Q (..., m, k), R (..., k, n), k = min(m, n); 'complete': Q (..., m, m), R (..., m, n). Cost for m >= n: 4 n^2 (m - n / 3)
    flops.
    """
    if mode not in ('reduced', 'complete'):
        raise ValueError(f"qr: mode is {mode!r}; must be 'reduced' or 'complete'")
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(qr, [x], mode=mode)
    a, = library.inputs([x])
    _stacked(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    factors = library.copy(a)
    tau = library.empty(a, (*a.shape[:-2], k))
    queue = library.queue(a)
    _myriad.geqrf(queue, factors, tau)
    columns = m if mode == 'complete' else k
    if columns <= n:
        q = library.copy(factors[..., :columns])
    else:
        q = library.empty(a, (*a.shape[:-1], columns))
        library.assign(q[..., :n], factors)
    _myriad.orgqr(queue, q, tau)
    return QRResult(q, library.triangle(factors[..., :columns, :], True))


def eigh(x: Array, /, *, check: bool = True) -> EighResult:
    """Eigenvalues (..., n), ascending, and eigenvectors (..., n, n), in columns, of symmetric or Hermitian matrices.

    x: (..., n, n); the lower triangle is read. Raises LinAlgError for NaN or infinity. Cost: about 9 n^3 flops.
    """
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(eigh, [x], check=check)
    w, v = _eigen(library, x, 'V', check)
    return EighResult(w, v)


def eigvalsh(x: Array, /, *, check: bool = True) -> Array:
    """The eigenvalues that eigh returns. Cost: 4/3 n^3 flops."""
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(eigvalsh, [x], check=check)
    return _eigen(library, x, 'N', check)[0]


def _eigen(library, x, job, check, uplo='L'):
    a, = library.inputs([x])
    _square(a)
    v = library.copy(a)
    w = library.empty(a, a.shape[:-1], library.real(a.dtype))
    info = library.info_of(a, a.shape[:-2])
    _myriad.syevd(library.queue(a), job, uplo, v, w, info)
    _finish(library, info, check, 'Eigenvalues did not converge', w)
    return w, v


def eig(x: Array, /) -> Any:
    """Not implemented: the library has no eigensolver for general matrices (LAPACK's geev)."""
    raise NotImplementedError('eig: the library has no eigensolver for general matrices (geev); eigh is for symmetric and Hermitian ones')


def eigvals(x: Array, /) -> Array:
    """Not implemented: the library has no eigensolver for general matrices (LAPACK's geev)."""
    raise NotImplementedError('eigvals: the library has no eigensolver for general matrices (geev); eigvalsh is for symmetric and Hermitian ones')


def svd(x: Array, /, *, full_matrices: bool = True, check: bool = True) -> SVDResult:
    """x = U diag(S) Vh with descending S. x: (..., m, n); U: (..., m, m), S: (..., k), Vh: (..., n, n), k = min(m, n).

    With full_matrices=False U is (..., m, k) and Vh (..., k, n). Raises LinAlgError for NaN or infinity. Cost for m >= n:
    4 n^2 (m - n / 3) flops and about 4 m n^2 + 8 n^3 for thin vectors.
    """
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(svd, [x], full_matrices=full_matrices, check=check)
    a, = library.inputs([x])
    _stacked(a)
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    k = min(m, n)
    s = library.empty(a, (*batch, k), library.real(a.dtype))
    u = library.empty(a, (*batch, m, m if full_matrices else k))
    vh = library.empty(a, (*batch, n if full_matrices else k, n))
    info = library.info_of(a, batch)
    _myriad.gesvd(library.queue(a), 'A' if full_matrices else 'S', library.copy(a), s, u, vh, info)
    _finish(library, info, check, 'SVD did not converge', s)
    return SVDResult(u, s, vh)


def svdvals(x: Array, /, *, check: bool = True) -> Array:
    """The singular values (..., min(m, n)), descending. x: (..., m, n). Cost for m >= n: 4 n^2 (m - n / 3) flops."""
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(svdvals, [x], check=check)
    a, = library.inputs([x])
    _stacked(a)
    s = library.empty(a, (*a.shape[:-2], min(a.shape[-2:])), library.real(a.dtype))
    info = library.info_of(a, a.shape[:-2])
    _myriad.gesvd(library.queue(a), 'N', library.copy(a), s, None, None, info)
    _finish(library, info, check, 'SVD did not converge', s)
    return s


def pinv(x: Array, /, *, rtol: Any = None, check: bool = True) -> Array:
    """The pseudoinverses (..., n, m). x: (..., m, n). Singular values up to rtol times the largest count as zero.

    rtol: a number, or an array or list of shape (...); None: max(m, n) eps. Cost: that of svd with thin vectors, and 2 m n min(m, n) flops.
    """
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(pinv, [x], rtol=rtol, check=check)
    a, = library.inputs([x])
    _stacked(a)
    m, n = a.shape[-2:]
    rtol = _tolerances(library, rtol, a)
    if getattr(rtol, 'ndim', 0) > 0:
        u, s, vh = svd(a, full_matrices=False, check=check)
        largest = s[..., :1] if min(m, n) else s
        keep = s > rtol[..., None] * largest
        s[keep] = 1 / s[keep]
        s[~keep] = 0
        return matmul(_adjoint(library, vh) * s[..., None, :], _adjoint(library, u))
    out = library.empty(a, (*a.shape[:-2], n, m))
    info = library.info_of(a, a.shape[:-2])
    _myriad.pinv(library.queue(a), a, -1.0 if rtol is None else max(float(rtol), 0.0), out, None, info)
    _finish(library, info, check, 'SVD did not converge', out)
    return out


def matrix_rank(x: Array, /, *, rtol: Any = None) -> Array:
    """The number of singular values above rtol times the largest, of shape (...). x: (..., m, n).

    rtol: a number, or an array or list of shape (...); None: max(m, n) eps. Cost: that of svdvals.
    """
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(matrix_rank, [x], rtol=rtol)
    a, = library.inputs([x])
    _stacked(a)
    rtol = _tolerances(library, rtol, a)
    s = svdvals(a)
    if rtol is None:
        rtol = max(a.shape[-2:]) * _eps(s)
    rtol = rtol[..., None] if getattr(rtol, 'ndim', 0) > 0 else rtol
    above = s > rtol * (s[..., :1] if s.shape[-1] else s)
    if library is NumPy:
        return numpy.count_nonzero(above, axis=-1)
    return above.sum(-1) if library.name == 'torch' else library.xp.sum(library.xp.astype(above, library.xp.int64), axis=-1)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = 'fro') -> Array:
    """Matrix norms, of shape (...), or (..., 1, 1) with keepdims. x: (..., m, n).

    ord: 2, -2 and 'nuc' are the largest singular value, the smallest, and their sum, with the cost of svdvals; 'fro', 1, -1, inf and -inf are
    computed by the array's own library.
    """
    library = library_of(x)
    if library.lazy:
        return library.by_chunks(matrix_norm, [x], keepdims=keepdims, ord=ord)
    if ord in (2, -2, 'nuc'):
        s = svdvals(x)
        if not s.shape[-1] and ord == -2:
            raise ValueError('matrix_norm: ord=-2 is not defined for a matrix without elements')
        if ord == 'nuc' or not s.shape[-1]:
            norm = s.sum(-1) if library is NumPy or library.name == 'torch' else library.xp.sum(s, axis=-1)
        else:
            norm = s[..., 0] if ord == 2 else s[..., -1]
        return norm[..., None, None] if keepdims else norm
    if library is NumPy:
        return numpy.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)
    if library.name == 'torch':
        return library.torch.linalg.matrix_norm(x, ord=ord, keepdim=keepdims)
    return library.xp.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)


def _adjoint(library, x):
    return (x.conj() if hasattr(x, 'conj') else library.xp.conj(x)).swapaxes(-1, -2) if hasattr(x, 'swapaxes') else library.xp.conj(x).mT


def _tolerances(library, rtol, a):
    """rtol, as an array of the library of a where it is a sequence of numbers."""
    if not isinstance(rtol, (list, tuple)):
        return rtol
    if library is NumPy:
        return numpy.asarray(rtol, library.real(a.dtype))
    if library.name == 'torch':
        return library.torch.as_tensor(rtol, dtype=library.real(a.dtype), device=a.device)
    return library.xp.asarray(rtol, dtype=library.real(a.dtype), device=a.device)


def _eps(x):
    return 2.0 ** -23 if '32' in str(x.dtype) else 2.0 ** -52


# ---- Products -----------------------------------------------------------------------------------


def _product(library, a, b):
    batch = a.shape[:-2]
    if b.shape[:-2] != batch:
        batch = numpy.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
        a, b = library.stretched(a, batch), library.stretched(b, batch)
    out = library.empty(a, (*batch, a.shape[-2], b.shape[-1]))
    _myriad.gemm(library.queue(a), 1.0, a, b, 0.0, out)
    return out


def matmul(x1: Array, x2: Array, /) -> Array:
    """Products. x1: (..., m, k) or (k,), x2: (..., k, n) or (k,); leading axes are broadcast. Also of 16-bit types.

    Types are promoted as in numpy.matmul. Products of integers are computed by the array's own library. Cost: 2 m n k flops.
    """
    library = library_of(x1, x2)
    if library.lazy:
        return library.by_chunks(matmul, [x1, x2])
    if library is NumPy:
        x1, x2 = numpy.asarray(x1), numpy.asarray(x2)
        if x1.dtype.kind in 'biuO' and x2.dtype.kind in 'biuO':
            return numpy.matmul(x1, x2)
    elif library.name == 'torch':
        if not any(x.is_floating_point() or x.is_complex() for x in (x1, x2)):
            return library.torch.matmul(x1, x2)
    elif library.xp.isdtype(library.xp.result_type(x1, x2), ('bool', 'integral')):
        return library.xp.matmul(x1, x2)
    a, b = library.inputs([x1, x2], halves=True)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError('matmul: arrays must have at least one axis')
    left, right = a.ndim == 1, b.ndim == 1
    if left:
        a = a[None, :]
    if right:
        b = b[:, None]
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f'matmul: x1 has {a.shape[-1]} columns and x2 has {b.shape[-2]} rows; they must be equal')
    out = _product(library, a, b)
    if left and right:
        return library.result(out[..., 0, 0])
    return out[..., 0, :] if left else out[..., 0] if right else out


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Sums of conj(x1) x2 along an axis, by the array's own library."""
    library = library_of(x1, x2)
    if library is NumPy:
        return numpy.vecdot(x1, x2, axis=axis)
    if library.name == 'torch':
        return library.torch.linalg.vecdot(x1, x2, dim=axis)
    return library.xp.vecdot(x1, x2, axis=axis)


# ---- Functions of the array's own library -------------------------------------------------------


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Cross products of vectors with three elements, by the array's own library."""
    library = library_of(x1, x2)
    if library is NumPy:
        return numpy.linalg.cross(x1, x2, axis=axis)
    if library.name == 'torch':
        return library.torch.linalg.cross(x1, x2, dim=axis)
    return library.xp.linalg.cross(x1, x2, axis=axis)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """The diagonals (..., min(m, n)), by the array's own library."""
    library = library_of(x)
    if library is NumPy:
        return numpy.linalg.diagonal(x, offset=offset)
    if library.name == 'torch':
        return library.torch.linalg.diagonal(x, offset=offset)
    return library.xp.linalg.diagonal(x, offset=offset)


def matrix_transpose(x: Array, /) -> Array:
    """The transposes, as a view, by the array's own library."""
    if library_of(x) is NumPy:
        return numpy.matrix_transpose(x)
    return x.mT if hasattr(x, 'mT') else x.swapaxes(-1, -2)  # CuPy has mT since 14


def outer(x1: Array, x2: Array, /) -> Array:
    """The product x1 x2^T of two vectors, by the array's own library."""
    library = library_of(x1, x2)
    if library is NumPy:
        return numpy.linalg.outer(x1, x2)
    return library.torch.outer(x1, x2) if library.name == 'torch' else library.xp.linalg.outer(x1, x2)


def tensordot(x1: Array, x2: Array, /, *, axes: Any = 2) -> Array:
    """Tensor contractions, by the array's own library."""
    library = library_of(x1, x2)
    if library is NumPy:
        return numpy.tensordot(x1, x2, axes=axes)
    return library.torch.tensordot(x1, x2, dims=axes) if library.name == 'torch' else library.xp.tensordot(x1, x2, axes=axes)


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sums of the diagonals, of shape (...), by the array's own library."""
    library = library_of(x)
    if library is NumPy:
        return numpy.linalg.trace(x, offset=offset, dtype=dtype)
    if library.name == 'torch':
        return library.torch.linalg.diagonal(x, offset=offset).sum(-1, dtype=dtype)
    return library.xp.linalg.trace(x, offset=offset, dtype=dtype)


def vector_norm(x: Array, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Norms of vectors, by the array's own library."""
    library = library_of(x)
    if library is NumPy:
        return numpy.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    if library.name == 'torch':
        return library.torch.linalg.vector_norm(x, ord=ord, dim=axis, keepdim=keepdims)
    return library.xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
