"""myriad.linalg beside numpy.linalg: values, shapes, types, errors."""
import inspect

import numpy as np
import pytest

import myriad
from common import BATCHES, TYPES, close, hermitian, matrices, positive, random
from myriad import linalg
from myriad.batched import ragged

every = pytest.mark.parametrize('dtype', TYPES)
every_batch = pytest.mark.parametrize('batch', BATCHES)


@every
@every_batch
@pytest.mark.parametrize('n', [0, 1, 4, 33])
def test_square(dtype, batch, n):
    a, p, h = matrices(batch, n, dtype), positive(batch, n, dtype), hermitian(batch, n, dtype)
    b = random((*batch, n, 3), dtype)
    close(linalg.solve(a, b), np.linalg.solve(a, b))
    close(linalg.inv(a), np.linalg.inv(a))
    close(linalg.det(a), np.linalg.det(a))
    for x, y in zip(linalg.slogdet(a), np.linalg.slogdet(a)):
        close(x, y)
    close(linalg.cholesky(p), np.linalg.cholesky(p))
    close(linalg.cholesky(p, upper=True), np.conj(np.swapaxes(np.linalg.cholesky(p), -1, -2)))
    w, v = linalg.eigh(h)
    close(w, np.linalg.eigvalsh(h))
    close(linalg.eigvalsh(h), w)
    close(v * w[..., None, :], h @ v)
    close(np.conj(np.swapaxes(v, -1, -2)) @ v, np.broadcast_to(np.eye(n, dtype=dtype), a.shape))


@every
@every_batch
@pytest.mark.parametrize('m, n', [(0, 3), (3, 0), (1, 1), (5, 3), (3, 5), (40, 34)])
def test_rectangular(dtype, batch, m, n):
    a = random((*batch, m, n), dtype)
    k = min(m, n)
    for mode, columns in (('reduced', k), ('complete', m)):
        q, r = linalg.qr(a, mode=mode)
        assert q.shape == (*batch, m, columns) and r.shape == (*batch, columns, n)
        close(q @ r, a)
        close(np.conj(np.swapaxes(q, -1, -2)) @ q, np.broadcast_to(np.eye(columns, dtype=dtype), (*batch, columns, columns)))
        assert not np.tril(r, -1).any()
    s = np.linalg.svd(a, compute_uv=False)
    close(linalg.svdvals(a), s)
    for full in (True, False):
        u, values, vh = linalg.svd(a, full_matrices=full)
        close(values, s)
        assert u.shape == (*batch, m, m if full else k) and vh.shape == (*batch, n if full else k, n)
        close(u[..., :k] * values[..., None, :].astype(dtype) @ vh[..., :k, :], a)
        close(np.conj(np.swapaxes(u, -1, -2)) @ u, np.broadcast_to(np.eye(u.shape[-1], dtype=dtype), (*batch, u.shape[-1], u.shape[-1])))
    if k and np.prod(batch):
        close(linalg.pinv(a), np.linalg.pinv(a))
        close(linalg.pinv(a, rtol=np.full(batch, 0.5, a.real.dtype)), np.linalg.pinv(a, rtol=np.full(batch, 0.5)).astype(dtype))
        close(linalg.pinv(a, rtol=0.5), np.linalg.pinv(a, rtol=0.5))
    assert linalg.pinv(a).shape == (*batch, n, m)
    assert np.array_equal(linalg.matrix_rank(a), np.full(batch, k))
    for order in ('fro', 'nuc', 2, -2, 1, -1, np.inf, -np.inf):
        for keepdims in (False, True):
            if k:
                close(linalg.matrix_norm(a, ord=order, keepdims=keepdims), np.linalg.matrix_norm(a, ord=order, keepdims=keepdims))


@every
def test_products(dtype):
    for sa, sb in (((4, 3), (3, 5)), ((2, 4, 3), (3, 5)), ((2, 1, 4, 3), (6, 3, 5)), ((3,), (3, 5)), ((4, 3), (3,)), ((3,), (3,)), ((0, 4, 3), (3, 2)),
                   ((4, 0), (0, 3)), ((7, 3), (2, 3, 1))):
        a, b = random(sa, dtype), random(sb, dtype)
        close(linalg.matmul(a, b), np.matmul(a, b))
    a = matrices((3,), 4, dtype)
    for n in (0, 1, 2, 3, 7, -1, -3):
        close(linalg.matrix_power(a, n), np.linalg.matrix_power(a, n))


def test_low_rank():
    a = random((6, 9, 4)) @ random((6, 4, 7))
    assert np.array_equal(linalg.matrix_rank(a), np.full(6, 4))
    assert linalg.matrix_rank(a[0]) == 4
    close(linalg.pinv(a), np.linalg.pinv(a))
    assert np.array_equal(linalg.matrix_rank(a, rtol=np.full(6, 2.0)), np.zeros(6))
    steps = np.broadcast_to(np.diag([1, 1e-3]), (2, 2, 2))
    for rtol in ([1e-2, 1e-6], (1e-2, 1e-6), np.array([1e-2, 1e-6])):
        assert linalg.matrix_rank(steps, rtol=rtol).tolist() == [1, 2]
        close(linalg.pinv(steps, rtol=rtol), np.linalg.pinv(steps, rtol=np.array([1e-2, 1e-6])))


def test_passed_on():
    x, y = random((4, 3)), random((4, 3))
    close(linalg.cross(x, y), np.linalg.cross(x, y))
    close(linalg.diagonal(x, offset=1), np.linalg.diagonal(x, offset=1))
    close(linalg.matrix_transpose(x), x.T)
    close(linalg.outer(x[0], y[0]), np.outer(x[0], y[0]))
    close(linalg.tensordot(x, y, axes=2), np.tensordot(x, y, axes=2))
    close(linalg.trace(x), np.trace(x))
    close(linalg.vecdot(x, y), np.vecdot(x, y))
    close(linalg.vector_norm(x, axis=0), np.linalg.vector_norm(x, axis=0))


def test_half_products():
    a, b = random((5, 3, 4)).astype('f2'), random((5, 4, 2)).astype('f2')
    c = linalg.matmul(a, b)
    assert c.dtype == np.float16 and np.allclose(c, a.astype('f4') @ b.astype('f4'), atol=2e-2)


def test_promotion():
    a = np.array([[4, 1], [2, 3]])
    assert linalg.inv(a).dtype == np.float64
    assert linalg.inv(a.astype('f4')).dtype == np.float32
    assert linalg.solve(a.astype('f4'), a).dtype == np.float64
    assert linalg.solve(a.astype('f4'), a.astype('c8')).dtype == np.complex64
    assert linalg.matmul(a, a).dtype == a.dtype
    types = ['?', 'i1', 'i2', 'i4', 'u8', 'f2', 'f4', 'f8', 'c8', 'c16', '>f4', '>i4']
    for s in types:
        for t in types:
            x, y = a.astype(s), a.astype(t)
            want = np.matmul(x, y)
            got = linalg.matmul(x, y)
            assert got.dtype == want.dtype and np.array_equal(got, want), (s, t)
    with pytest.raises(TypeError, match='unsupported in products'):
        linalg.matmul(a, a.astype('g'))
    with pytest.raises(TypeError, match='only the functions of myriad.lapack take ragged batches'):
        linalg.inv(ragged([a * 1.0]))
    assert linalg.matrix_power(a, 3).dtype == a.dtype
    close(linalg.solve([[4.0, 1], [2, 3]], [1.0, 2]), np.linalg.solve(a, [1.0, 2]))
    for bad in ('f2', 'O', 'g', 'M8[s]'):
        with pytest.raises(TypeError, match='unsupported in linalg'):
            linalg.inv(np.ones((2, 2), bad) if bad != 'M8[s]' else np.zeros((2, 2), bad))


def test_solve_vector():
    a, b = matrices((5,), 3, 'f8'), random(3)
    close(linalg.solve(a, b), np.linalg.solve(a, np.broadcast_to(b[:, None], (5, 3, 1)))[..., 0])
    close(linalg.solve(a[0], b), np.linalg.solve(a[0], b))
    b = random((4, 3, 2))
    close(linalg.solve(a[:, None], b), np.linalg.solve(a[:, None], b))
    with pytest.raises(ValueError, match='x2 has 2 rows; x1 needs 3'):
        linalg.solve(a, random((2, 1)))
    with pytest.raises(ValueError):
        linalg.solve(a, random((4, 3, 1)))


def test_failures():
    a = matrices((2, 3), 4, 'f8')
    a[1, 0] = 0
    a[1, 2] = 1
    with pytest.raises(np.linalg.LinAlgError, match=r'Singular matrix \(2 of 6 matrices, the first is 3\)') as error:
        linalg.inv(a)
    assert isinstance(error.value, myriad.LinAlgError) and isinstance(error.value, ValueError)
    assert np.array_equal(error.value.info != 0, [[0, 0, 0], [1, 0, 1]])
    good = np.ones((2, 3), bool)
    good[1, 0] = good[1, 2] = False
    b = random((2, 3, 4, 2))
    for x, y in ((linalg.inv(a, check=False), lambda: np.linalg.inv(a[good])), (linalg.solve(a, b, check=False), lambda: np.linalg.solve(a[good], b[good]))):
        assert np.isnan(x[~good]).all()
        close(x[good], y())
    with pytest.raises(myriad.LinAlgError, match='Singular matrix$'):
        linalg.solve(np.zeros((2, 2)), np.ones(2))

    p = positive((3,), 4, 'c16')
    p[1] = -p[1]
    with pytest.raises(myriad.LinAlgError, match=r'not positive definite \(matrix 1 of 3\)'):
        linalg.cholesky(p)
    x = linalg.cholesky(p, check=False)
    assert np.isnan(x[1]).all()
    close(x[[0, 2]], np.linalg.cholesky(p[[0, 2]]))

    a[0, 0, 0, 0] = np.nan
    for f in (linalg.eigh, linalg.eigvalsh, linalg.svd, linalg.svdvals, linalg.pinv):
        with pytest.raises(myriad.LinAlgError, match=r'did not converge \(matrix 0 of 6\)'):
            f(a)
        result = f(a, check=False)
        result = result[1] if isinstance(result, linalg.SVDResult) else result[0] if isinstance(result, tuple) else result
        assert np.isnan(result[0, 0]).all() and np.isfinite(result[0, 1:]).all() and np.isfinite(result[1]).all()


def test_shapes_refused():
    for f in (linalg.inv, linalg.det, linalg.slogdet, linalg.cholesky, linalg.eigh, linalg.eigvalsh):
        with pytest.raises(np.linalg.LinAlgError, match='must be square, are 3 and 2'):
            f(np.ones((4, 3, 2)))
        with pytest.raises(np.linalg.LinAlgError, match='1-dimensional'):
            f(np.ones(3))
    for f in (linalg.qr, linalg.svd, linalg.svdvals, linalg.pinv, linalg.matrix_rank):
        with pytest.raises(np.linalg.LinAlgError, match='1-dimensional'):
            f(np.ones(3))
    with pytest.raises(ValueError, match='x1 has 3 columns and x2 has 2 rows'):
        linalg.matmul(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="mode is 'r'"):
        linalg.qr(np.ones((2, 2)), mode='r')


def test_missing():
    for f in (linalg.eig, linalg.eigvals):
        with pytest.raises(NotImplementedError, match=f'^{f.__name__}: .*geev'):
            f(np.eye(2))


def test_names_of_the_standard():
    """The functions, parameters and result fields of version 2025.12."""
    wanted = {
        'cholesky': 'x / upper', 'cross': 'x1 x2 / axis', 'det': 'x /', 'diagonal': 'x / offset', 'eig': 'x /', 'eigh': 'x /', 'eigvals': 'x /',
        'eigvalsh': 'x /', 'inv': 'x /', 'matmul': 'x1 x2 /', 'matrix_norm': 'x / keepdims ord', 'matrix_power': 'x n /',
        'matrix_rank': 'x / rtol', 'matrix_transpose': 'x /', 'outer': 'x1 x2 /', 'pinv': 'x / rtol', 'qr': 'x / mode', 'slogdet': 'x /',
        'solve': 'x1 x2 /', 'svd': 'x / full_matrices', 'svdvals': 'x /', 'tensordot': 'x1 x2 / axes', 'trace': 'x / offset dtype',
        'vecdot': 'x1 x2 / axis', 'vector_norm': 'x / axis keepdims ord',
    }
    assert set(wanted) | {'LinAlgError'} == set(linalg.__all__) and len(wanted) == 25
    for name, parameters in wanted.items():
        found, kinds = [], inspect.Parameter
        for p in inspect.signature(getattr(linalg, name)).parameters.values():
            if p.kind == kinds.KEYWORD_ONLY and '/' not in found:
                found.append('/')
            found.append(p.name)
        found = [p for p in found if p != 'check']
        assert (found if '/' in found else found + ['/']) == parameters.split()
    assert linalg.eigh(np.eye(2))._fields == ('eigenvalues', 'eigenvectors')
    assert linalg.qr(np.eye(2))._fields == ('Q', 'R')
    assert linalg.slogdet(np.eye(2))._fields == ('sign', 'logabsdet')
    assert linalg.svd(np.eye(2))._fields == ('U', 'S', 'Vh')
