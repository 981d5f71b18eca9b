"""myriad.lapack: the relations that the results of LAPACK satisfy, in new arrays, in place and in arrays of the caller."""
import numpy as np
import pytest

from common import TYPES, close, hermitian, matrices, positive, random
from myriad import lapack
from myriad.batched import ragged

every = pytest.mark.parametrize('dtype', TYPES)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def identity(x, n):
    return np.broadcast_to(np.eye(n, dtype=x.dtype), (*x.shape[:-2], n, n))


def permuted(a, ipiv):
    a = a.copy()
    for index in np.ndindex(ipiv.shape[:-1]):
        for i, p in enumerate(ipiv[index]):
            a[index][[i, p - 1]] = a[index][[p - 1, i]]
    return a


@every
def test_lu(dtype):
    for shape in ((3, 6, 4), (2, 2, 4, 6), (5, 5)):
        a = random(shape, dtype)
        k = min(shape[-2:])
        lu, ipiv, info = lapack.getrf(a)
        lower, upper = np.tril(lu, -1)[..., :k] + np.eye(shape[-2], k, dtype=dtype), np.triu(lu)[..., :k, :]
        close(lower @ upper, permuted(a, ipiv))
        assert ipiv.dtype == np.int32 and not info.any() and info.shape == shape[:-2]
    a, b = matrices((4,), 5, dtype), random((4, 5, 2), dtype)
    lu, ipiv, x, info = lapack.gesv(a, b)
    close(a @ x, b)
    close(lapack.getrs(lu, ipiv, b), x)
    close(a.swapaxes(-1, -2) @ lapack.getrs(lu, ipiv, b, trans='T'), b)
    close(adjoint(a) @ lapack.getrs(lu, ipiv, b, trans='C'), b)
    close(lapack.getri(lu, ipiv).inverse @ a, identity(a, 5))
    refined, ferr, berr = lapack.gerfs(a, lu, ipiv, b, x)
    close(refined, x)
    assert (berr < 1e-5).all() and (ferr < 1e-3).all() and berr.shape == (4, 2)
    scale = lapack.geequ(a)
    close(lapack.laqge(a, scale.r, scale.c), scale.r[..., None].astype(dtype) * a * scale.c[..., None, :].astype(dtype))
    a[2] = 0
    assert lapack.getrf(a).info.tolist() == [0, 0, 1, 0]


@every
@pytest.mark.parametrize('uplo', ['L', 'U'])
def test_cholesky(dtype, uplo):
    a, b = positive((4,), 5, dtype), random((4, 5, 2), dtype)
    factor, info = lapack.potrf(a, uplo=uplo)
    half = np.tril(factor) if uplo == 'L' else adjoint(np.triu(factor))
    close(half @ adjoint(half), a)
    close(np.triu(factor, 1) if uplo == 'L' else np.tril(factor, -1), np.triu(a, 1) if uplo == 'L' else np.tril(a, -1))
    close(a @ lapack.potrs(factor, b, uplo=uplo), b)
    close(a @ lapack.posv(a, b, uplo=uplo).x, b)
    inverse = lapack.potri(factor, uplo=uplo).inverse
    triangle = np.tril if uplo == 'L' else np.triu
    close(triangle(inverse), triangle(np.linalg.inv(a)))
    t = triangle(factor)
    close(t @ triangle(lapack.trtri(factor, uplo=uplo).inverse), identity(a, 5))
    close(t @ lapack.trsm(factor, b, uplo=uplo), b)
    close(lapack.trmm(factor, b, uplo=uplo, alpha=3), 3 * (t @ b))
    if np.dtype(dtype).kind == 'c':
        close(t @ lapack.trsm(factor, b, uplo=uplo, alpha=np.complex64(2 - 1j)), b * np.asarray(2 - 1j, dtype))
    else:
        with pytest.raises(TypeError, match='alpha is complex; the matrices are real'):
            lapack.trsm(factor, b, uplo=uplo, alpha=1j)
    close(adjoint(b) * 2, lapack.trsm(factor, adjoint(b), side='R', uplo=uplo, alpha=2) @ t)


@every
def test_orthogonal(dtype):
    a = random((3, 6, 4), dtype)
    qr, tau = lapack.geqrf(a)
    q = lapack.orgqr(qr, tau)
    close(q @ np.triu(qr[:, :4]), a)
    close(adjoint(q) @ q, identity(q, 4))
    c = random((3, 6, 2), dtype)
    close(lapack.ormqr(qr, tau, c, trans='C')[:, :4], adjoint(q) @ c)
    factors, x, info = lapack.gels(a, c)
    close(adjoint(a) @ (a @ x), adjoint(a) @ c)
    wide = adjoint(a).copy()
    b = random((3, 4, 2), dtype)
    close(wide @ lapack.gels(wide, b).x, b)


@every
@pytest.mark.parametrize('uplo', ['L', 'U'])
def test_eigen(dtype, uplo):
    a = hermitian((3,), 6, dtype)
    w, v, info = lapack.syevd(a, uplo=uplo)
    close(a @ v, v * w[:, None])
    close(lapack.syevd(a, jobz='N', uplo=uplo).w, w)
    t, d, e, tau = lapack.sytrd(a, uplo=uplo)
    q = lapack.orgtr(t, tau, uplo=uplo)
    tri = np.zeros_like(a)
    i = np.arange(6)
    tri[:, i, i] = d
    tri[:, i[1:], i[:-1]] = tri[:, i[:-1], i[1:]] = e
    close(q @ tri @ adjoint(q), a)
    c = random((3, 6, 2), dtype)
    close(lapack.ormtr(t, tau, c, uplo=uplo), q @ c)


@every
@pytest.mark.parametrize('m, n', [(6, 4), (4, 6)])
def test_singular_values(dtype, m, n):
    a = random((3, m, n), dtype)
    k = min(m, n)
    for job in 'SANUV':
        s, u, vt, info = lapack.gesvd(a, jobz=job)
        close(s, np.linalg.svd(a, compute_uv=False))
        assert (u is None) == (job in 'NV') and (vt is None) == (job in 'NU')
        if job in 'SA':
            close(u[..., :k] * s[:, None] @ vt[..., :k, :], a)
    b, d, e, tauq, taup = lapack.gebrd(a)
    i = np.arange(k)
    band = np.zeros((3, k, k), dtype)
    band[:, i, i] = d
    if m >= n:
        band[:, i[:-1], i[1:]] = e
    else:
        band[:, i[1:], i[:-1]] = e
    q = lapack.orgbr(b[..., :, :k], tauq, vect='Q', k=n)
    p = lapack.orgbr(b[..., :k, :], taup, vect='P', k=m)
    close(q @ band @ p, a)
    c = random((3, m, 2), dtype)
    if m >= n:
        close(lapack.ormbr(b, tauq, c, vect='Q', k=n, trans='C')[:, :k], adjoint(q) @ c)


@every
def test_products(dtype):
    a, b, c = random((3, 4, 5), dtype), random((2, 3, 5, 6), dtype), random((2, 3, 4, 6), dtype)
    close(lapack.gemm(a, b), a @ b)
    close(lapack.gemm(a, b, c, alpha=2, beta=-1), 2 * (a @ b) - c)
    want = a @ b + c
    assert lapack.gemm(a, b, c, beta=1, out=c) is c
    close(c, want)
    squares, xs = [matrices((), n, dtype) for n in (2, 0, 5)], [random((n, 2), dtype) for n in (2, 0, 5)]
    sides = [a @ x for a, x in zip(squares, xs)]
    xs[2][1, 1] *= 2
    errors = lapack.backward_error(ragged(squares), ragged(xs), ragged(sides)).arrays
    assert (errors[0] < 1e-5).all() and errors[1].shape == (2,) and errors[2][0] < 1e-5 < errors[2][1]
    error = lapack.backward_error(squares[2], xs[2], sides[2])
    assert np.array_equal(error, errors[2]) and error.dtype == xs[2].real.dtype


def test_outputs():
    a, b = matrices((4,), 5, 'f8'), random((4, 5, 2))
    want = lapack.gesv(a, b)
    lu, x, ipiv, info = np.empty((4, 5, 5)), np.empty((4, 2, 5)).swapaxes(-1, -2), np.empty((4, 5), 'i4'), np.full(4, 7, 'i4')
    got = lapack.gesv(a, b, out=x, lu=lu, ipiv=ipiv, info=info)
    assert got.x is x and got.lu is lu and got.ipiv is ipiv and got.info is info
    for g, w in zip(got, want):
        assert np.array_equal(g, w)
    got = lapack.gesv(a, b, out=b, lu=a)
    assert got.x is b and np.array_equal(b, want.x) and np.array_equal(a, want.lu)
    with pytest.raises(ValueError, match='matrices need at least 2'):
        lapack.gesv(a, b[0, :, 0])


@every
def test_ragged(dtype):
    sizes = [3, 0, 7, 1, 40]
    squares = [matrices((), n, dtype) for n in sizes]
    squares[2] = squares[2].T
    sides = [random((n, 2), dtype) for n in sizes]
    lu, ipiv, x, info = lapack.gesv(ragged(squares), ragged(sides))
    assert len(x) == 5 and not info.any() and [p.shape for p in ipiv.arrays] == [(n,) for n in sizes]
    for a, b, y in zip(squares, sides, x.arrays):
        assert np.array_equal(y, lapack.gesv(a, b).x)
        close(a @ y, b)
    tall = [random((m, n), dtype) for m, n in ((5, 3), (2, 2), (4, 6), (0, 3))]
    s, u, vt, info = lapack.gesvd(ragged(tall))
    qr, tau = lapack.geqrf(ragged(tall))
    for a, si, ui, vi, ri in zip(tall, s.arrays, u.arrays, vt.arrays, qr.arrays):
        close(ui * si @ vi, a)
        assert np.array_equal(ri, lapack.geqrf(a).qr)
    before = [a.copy() for a in tall]
    batch = ragged(tall)
    assert lapack.getrf(batch, out=batch).lu is batch
    for a, b in zip(tall, before):
        assert np.array_equal(a, lapack.getrf(b).lu)
    assert isinstance(batch.arrays, tuple)  # with a list a caller could put in arrays that the batch does not point at
    with pytest.raises(ValueError, match='array 1 differs from array 0'):
        ragged([np.eye(2), np.eye(2, dtype='f4')])
    with pytest.raises(ValueError, match='has 3 axes; needs 1 or 2'):
        ragged([np.ones((1, 2, 2))])
    with pytest.raises(NotImplementedError, match='array 0 is a list'):
        ragged([[1.0]])
