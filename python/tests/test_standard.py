"""Arrays of a library that has the array API standard and __dlpack__, and nothing else."""
import numpy as np
import pytest

import myriad
from common import TYPES, matrices, positive, random, tolerance
from myriad import batched, lapack, linalg

xp = pytest.importorskip('array_api_strict')


def same(x, y):
    """x, an array of the library, has the values and type of y."""
    assert type(x).__module__.startswith('array_api_strict')
    x = np.asarray(x)
    assert x.dtype == np.asarray(y).dtype
    assert np.allclose(x, y, rtol=tolerance(x.dtype), atol=tolerance(x.dtype) * np.abs(y).max())


@pytest.mark.parametrize('dtype', TYPES)
def test_values(dtype):
    a, b, p = matrices((3, 2), 4, dtype), random((3, 2, 4, 2), dtype), positive((3, 2), 4, dtype)
    ax, bx, px = xp.asarray(a), xp.asarray(b), xp.asarray(p)
    same(linalg.solve(ax, bx), np.linalg.solve(a, b))
    same(linalg.inv(ax), np.linalg.inv(a))
    same(linalg.det(ax), np.linalg.det(a))
    same(linalg.slogdet(ax).logabsdet, np.linalg.slogdet(a).logabsdet)
    for upper in (False, True):
        same(linalg.cholesky(px, upper=upper), np.linalg.cholesky(p, upper=upper))
    same(linalg.eigvalsh(px), np.linalg.eigvalsh(p))
    same(linalg.eigh(px).eigenvalues, np.linalg.eigvalsh(p))
    for mode in ('reduced', 'complete'):
        same(linalg.matmul(*linalg.qr(ax, mode=mode)), a)
    s = np.linalg.svd(a, compute_uv=False)
    same(linalg.svdvals(ax), s)
    same(linalg.svd(ax).S, s)
    same(linalg.pinv(ax), np.linalg.pinv(a))
    same(linalg.pinv(ax, rtol=xp.asarray(np.full((3, 2), 0.3, a.real.dtype))), np.linalg.pinv(a, rtol=np.full((3, 2), 0.3)).astype(dtype))
    same(linalg.matrix_rank(ax), np.linalg.matrix_rank(a))
    for order in ('fro', 'nuc', 2, -2, 1, np.inf):
        same(linalg.matrix_norm(ax, ord=order, keepdims=True), np.linalg.matrix_norm(a, ord=order, keepdims=True))
    for n in (3, 0, -2):
        same(linalg.matrix_power(ax, n), np.linalg.matrix_power(a, n))
    same(linalg.trace(ax), np.linalg.trace(a))
    same(linalg.diagonal(ax), np.linalg.diagonal(a))
    same(linalg.vecdot(ax, ax), np.vecdot(a, a))
    same(linalg.vector_norm(ax), np.linalg.vector_norm(a))
    same(linalg.matrix_transpose(ax), a.mT)
    same(linalg.tensordot(ax, ax, axes=4), np.tensordot(a, a, axes=4))
    same(linalg.outer(ax[0, 0, 0, :], ax[0, 0, 1, :]), np.outer(a[0, 0, 0], a[0, 0, 1]))
    lu, ipiv, info = lapack.getrf(ax)
    same(lapack.getrs(lu, ipiv, bx), np.linalg.solve(a, b))
    same(batched.cholesky_jitter(px, jitter=1.0).factor, np.linalg.cholesky(p + np.eye(4, dtype=dtype)))
    same(batched.gemm_grouped([(ax, bx)])[0], a @ b)
    if dtype in ('f8', 'c16'):
        same(batched.solve_refined(ax, bx).x, np.linalg.solve(a, b))


def test_failures():
    a = matrices((3,), 4, 'f8')
    a[1] = 0
    with pytest.raises(myriad.LinAlgError, match=r'Singular matrix \(matrix 1 of 3\)'):
        linalg.inv(xp.asarray(a))
    x = np.asarray(linalg.cholesky(xp.asarray(a - 10 * np.eye(4)), check=False))
    assert np.isnan(x).all()
