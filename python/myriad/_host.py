"""Tasks on NumPy arrays that myriad.numpy and myriad.scipy share. Arrays have two axes or more; results are new arrays.

info is LAPACK's, one for every matrix: failed matrices have an entry other than 0, and their results are not defined.
"""
import numpy

from . import _myriad

INT = numpy.dtype(numpy.int32)


def readable(x):
    """x as an array whose elements can be used in place."""
    if x.flags.aligned and all(s >= 0 or d <= 1 for s, d in zip(x.strides[-2:], x.shape[-2:])) and all(s % x.itemsize == 0 for s in x.strides):
        return x
    return x.copy()


def writable(x, overwrite):
    """x as an array to write to, None if it must not be overwritten. numpy.broadcast_to, which SciPy calls, makes views read-only."""
    if not overwrite or x.flags.writeable:
        return x if overwrite else None
    view = x.view()
    try:
        view.flags.writeable = True
    except ValueError:  # the memory is read-only
        return None
    return view


def taken(x, overwrite):
    """x if it may be overwritten, else a copy in row-major order."""
    own = writable(x, overwrite)
    return numpy.array(x, order='C') if own is None else own


def triangle(queue, uplo, a):
    """A triangle of every matrix, with zeros outside it."""
    result = numpy.empty(a.shape, a.dtype)
    _myriad.copy_triangle(queue, uplo, a, result)
    return result


def cholesky(queue, uplo, a):
    """factor, info."""
    factor, info = triangle(queue, uplo, a), numpy.empty(a.shape[:-2], INT)
    _myriad.potrf(queue, uplo, factor, info)
    return factor, info


def form_q(queue, qr, tau, columns):
    """The first columns of Q, from the factors of geqrf."""
    k = tau.shape[-1]
    q = numpy.empty((*qr.shape[:-1], columns), qr.dtype)
    q[..., :k] = qr[..., :k]
    _myriad.orgqr(queue, q, tau)
    return q


def svd(queue, job, a):
    """u, s, vt, info. job: 'A' for all singular vectors, 'S' for the first min(m, n), 'N' for none: u and vt are None."""
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    k = min(m, n)
    s, info = numpy.empty((*batch, k), a.real.dtype), numpy.empty(batch, INT)
    u = vt = None
    if job != 'N':
        u = numpy.empty((*batch, m, m if job == 'A' else k), a.dtype)
        vt = numpy.empty((*batch, n if job == 'A' else k, n), a.dtype)
    _myriad.gesvd(queue, job, numpy.array(a, order='C'), s, u, vt, info)
    return u, s, vt, info


def lstsq(queue, a, b, rcond):
    """Least squares of smallest norm by singular values, those up to rcond times the largest taken as zero.

    x, the squares of the norms of the residuals' columns, rank, s, info. a and b have the same leading axes, and a has elements. rcond < 0
    stands for LAPACK's eps: None if the rank is then not full, since LAPACK's own rounding decides about it.
    """
    batch, n, k = a.shape[:-2], a.shape[-1], min(a.shape[-2:])
    u, s, vt, info = svd(queue, 'S', a)
    used = s > (rcond if rcond >= 0 else numpy.finfo(s.dtype).epsneg) * s[..., :1]  # LAPACK's eps is half of NumPy's
    if rcond < 0 and not used.all():
        return None
    inverse = numpy.divide(1, s, out=numpy.zeros_like(s), where=used)
    rank = numpy.count_nonzero(used, axis=-1)
    y = numpy.empty((*batch, k, b.shape[-1]), a.dtype)
    _myriad.gemm(queue, 1.0, u.conj().swapaxes(-1, -2), b, 0.0, y)
    y *= used[..., None]
    residual = numpy.array(b, order='C')
    _myriad.gemm(queue, -1.0, u, y, 1.0, residual)
    y *= inverse[..., None]
    x = numpy.empty((*batch, n, b.shape[-1]), a.dtype)
    _myriad.gemm(queue, 1.0, vt.conj().swapaxes(-1, -2), y, 0.0, x)
    return x, (residual.real**2 + residual.imag**2).sum(-2), rank, s, info
