"""myriad.lapack: the relations that the results of LAPACK satisfy, in new arrays, in place and in arrays of the caller."""
import itertools

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
    for routine, job in itertools.product((lapack.gesvd, lapack.gejsv), 'SANUV'):
        s, u, vt, info = routine(a, jobz=job)
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
    with pytest.raises(ValueError, match=r'gesv: b has 1 axes; needs at least 2; .*\(n, 1\)'):
        lapack.gesv(a, b[0, :, 0])


def test_refused():
    a, b = matrices((4,), 5, 'f8'), random((4, 5, 2))
    lu, ipiv, info = lapack.getrf(a)
    qr, tau = lapack.geqrf(a)
    out = np.full(a.shape, 7.0)
    many = ragged([np.eye(2)])
    for error, match, call in [
        # Nothing is cast to the type of an output, which would lose precision or the imaginary part.
        (TypeError, 'getrf: out has elements of type float64; needs complex128', lambda: lapack.getrf(a + 1j, out=out)),
        (TypeError, 'gesv: lu has elements of type float32; needs float64', lambda: lapack.gesv(a, b, lu=a.astype('f4'))),
        (TypeError, 'gemm: out has elements of type float32; needs float64', lambda: lapack.gemm(a, b, out=b.astype('f4'))),
        (ValueError, r'getrf: out has the shape \(5, 5\); needs \(4, 5, 5\)', lambda: lapack.getrf(a, out=out[0])),
        (ValueError, r'getrf: ipiv has the shape \(4, 4\); needs \(4, 5\)', lambda: lapack.getrf(a, out=out, ipiv=ipiv[:, 1:])),
        (TypeError, 'getrf: info is a int; needs a NumPy array', lambda: lapack.getrf(a, out=out, info=3)),
        (ValueError, 'getrf: info must be contiguous', lambda: lapack.getrf(a, out=out, info=np.zeros(8, 'i4')[::2])),
        (ValueError, r'geequ: info has the shape \(3,\); needs \(4,\)', lambda: lapack.geequ(a, info=info[:3])),
        (TypeError, 'geequ: info has elements of type int64', lambda: lapack.geequ(a, info=np.zeros(4, 'i8'))),
        (TypeError, 'syevd: w has elements of type complex128; needs float64', lambda: lapack.syevd(a + 0j, out=out + 0j, w=b[:, :, 0] + 0j)),
        (ValueError, 'getrf: a has 1 axes; needs at least 2$', lambda: lapack.getrf(a[0, 0])),
        (ValueError, r'gesv: b has leading axes \(3,\), which do not fit \(4,\)', lambda: lapack.gesv(a, b[:3])),
        (TypeError, 'gesv: b is a ndarray; where one array is a ragged batch, all are', lambda: lapack.gesv(many, b)),
        (TypeError, 'potrf: out is a ndarray; needs a ragged batch', lambda: lapack.potrf(many, out=out)),
        (TypeError, 'trsm: alpha is a ndarray; needs a number', lambda: lapack.trsm(a, b, alpha=np.ones(4))),
        (TypeError, 'gemm: beta is a str; needs a number', lambda: lapack.gemm(a, b, beta='1')),
        (ValueError, "getrs: trans is 'NN'; must be one of 'N', 'T', 'C'", lambda: lapack.getrs(lu, ipiv, b, trans='NN')),
        (ValueError, 'getrs: trans is None; must be one of', lambda: lapack.getrs(lu, ipiv, b, trans=None)),
        (ValueError, "getrs: trans is 'n'; must be one of", lambda: lapack.getrs(lu, ipiv, b, trans='n')),
        (ValueError, "gesvd: jobz is ''; must be one of", lambda: lapack.gesvd(a, jobz='')),
        (TypeError, 'laqge: r is a list; needs a NumPy array', lambda: lapack.laqge(a, [1.0] * 5)),
        (TypeError, 'laqge: c has elements of type float32; needs float64', lambda: lapack.laqge(a, None, np.ones((4, 5), 'f4'))),
        (ValueError, 'stream is for arrays in GPU memory', lambda: lapack.getrf(a=a, stream=1)),
        (TypeError, "missing a required argument: 'b'", lambda: lapack.gesv(a=a, stream=1)),
    ]:
        with pytest.raises(error, match=match):
            call()
    assert (out == 7).all()  # nothing was written
    close(lapack.getrs(lu.tolist(), ipiv, b.tolist()), lapack.getrs(lu, ipiv, b))
    flipped = a[:, ::-1, ::-1]
    close(lapack.potri(flipped).inverse, lapack.potri(flipped.copy()).inverse)
    close(lapack.getrs(lu, ipiv, b.astype('>f8')), lapack.getrs(lu, ipiv, b))


def test_pivots_outside_the_matrices():
    a, b = matrices((4,), 5, 'f8'), random((4, 5, 2))
    lu, ipiv, info = lapack.getrf(a)
    for bad in (2**31 - 1, 6, 0, -1):
        p = ipiv.copy()
        p[2, 3] = bad
        for call in (lambda: lapack.getrs(lu, p, b), lambda: lapack.getri(lu, p), lambda: lapack.gerfs(a, lu, p, b, b)):
            with pytest.raises(ValueError, match='ge(trs|tri|rfs): ipiv has row numbers from .*; those of 5 rows are from 1'):
                call()
        with pytest.raises(ValueError, match='getrs: ipiv has a row number'):
            lapack.getrs(ragged(lu), ragged(p), ragged(b))
    with pytest.raises(ValueError, match=r'getrs: ipiv has the shape \(4, 4\); needs \(..., 5\)'):
        lapack.getrs(lu, ipiv[:, 1:], b)
    with pytest.raises(ValueError, match=r'getrs: ipiv has the shape \(4,\) in matrix 1; needs \(5,\)'):
        lapack.getrs(ragged(lu), ragged([ipiv[0], ipiv[1, 1:], *ipiv[2:]]), ragged(b))
    with pytest.raises(TypeError, match='getri: ipiv has elements of type int64; needs int32'):
        lapack.getri(lu, ipiv.astype('i8'))
    for x, y in zip(lapack.getrs(ragged(lu), ragged(ipiv), ragged(b)).arrays, lapack.getrs(lu, ipiv, b)):
        assert np.array_equal(x, y)
    assert lapack.getrs(lu[:0], ipiv[:0], b[:0]).shape == (0, 5, 2)


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
    empty = ragged([])
    assert len(lapack.getrf(empty).lu) == len(lapack.gesvd(empty).s) == len(lapack.geequ(empty).r) == 0
    with pytest.raises(ValueError, match='array 1 differs from array 0'):
        ragged([np.eye(2), np.eye(2, dtype='f4')])
    with pytest.raises(ValueError, match='has 3 axes; needs 1 or 2'):
        ragged([np.ones((1, 2, 2))])
    with pytest.raises(NotImplementedError, match='array 0 is a list'):
        ragged([[1.0]])
