"""myriad.batched, beside what it stands for."""
import numpy as np
import pytest

import myriad
from common import TYPES, close, matrices, positive, random
from myriad import batched, linalg


@pytest.mark.parametrize('dtype', ['f8', 'c16'])
def test_solve_refined(dtype):
    a, b = matrices((6,), 8, dtype), random((6, 8, 2), dtype)
    a[2, 0, 0] = 1e200  # too large for single precision
    x, iterations = batched.solve_refined(a, b)
    close(x, np.linalg.solve(a, b))
    assert iterations[2] == -2 and (np.delete(iterations, 2) > 0).all()
    close(batched.solve_refined(a[0], b[0, :, 0]).x, np.linalg.solve(a[0], b[0, :, 0]))
    a[4] = 0
    with pytest.raises(myriad.LinAlgError, match=r'Singular matrix \(matrix 4 of 6\)'):
        batched.solve_refined(a, b)
    assert np.isnan(batched.solve_refined(a, b, check=False).x[4]).all()


@pytest.mark.parametrize('dtype', TYPES)
@pytest.mark.parametrize('upper', [False, True])
def test_cholesky_jitter(dtype, upper):
    a = positive((4,), 5, dtype)
    eye = np.eye(5, dtype=dtype)
    jitter = np.array([0, 1, 2, 0.5], a.real.dtype)
    factor, replaced = batched.cholesky_jitter(a, jitter=jitter, upper=upper)
    close(factor, linalg.cholesky(a + jitter[:, None, None].astype(dtype) * eye, upper=upper))
    assert not replaced.any()
    factor, replaced = batched.cholesky_jitter(-a, floor=4.0, upper=upper)
    assert (replaced == 5).all() and np.allclose(np.diagonal(factor, axis1=-2, axis2=-1), 2)
    with pytest.raises(myriad.LinAlgError, match='4 of 4 matrices'):
        batched.cholesky_jitter(-a, upper=upper)
    assert np.isnan(batched.cholesky_jitter(-a, upper=upper, check=False).factor).all()


@pytest.mark.parametrize('dtype', TYPES)
def test_gemm_grouped(dtype):
    shapes = [(3, 2, 4, 5), (1, 7, 7, 1), (10, 1, 0, 2)]
    groups = [(random((c, m, k), dtype), random((c, k, n), dtype)) for c, m, k, n in shapes]
    for (a, b), c in zip(groups, batched.gemm_grouped(groups)):
        close(c, a @ b)
    c = random((3, 2, 5), dtype)
    before = c.copy()
    result = batched.gemm_grouped([(*groups[0], c, 2.0, -1.0), groups[1]])
    assert result[0] is c
    close(c, 2 * (groups[0][0] @ groups[0][1]) - before)
    assert batched.gemm_grouped([]) == []
    with pytest.raises(ValueError, match='group 0 has beta 1.0 and no c'):
        batched.gemm_grouped([(*groups[0], None, 1.0, 1.0)])
    with pytest.raises(ValueError, match='gemm_grouped: group 1: b has 1 axes; needs at least 2'):
        batched.gemm_grouped([groups[0], (groups[0][0], np.ones(5, dtype))])
    with pytest.raises(ValueError, match=r'gemm_grouped: group 0: b has leading axes \(4,\), which do not fit \(3,\)'):
        batched.gemm_grouped([(groups[0][0], random((4, 4, 5), dtype))])
    with pytest.raises(TypeError, match='gemm_grouped: group 0: c has elements of type float16'):
        batched.gemm_grouped([(*groups[0], c.real.astype('f2'))])
    with pytest.raises(TypeError, match='gemm_grouped: group 0: alpha is a ndarray; needs a number'):
        batched.gemm_grouped([(*groups[0], c, np.ones(3), 0.0)])
    with pytest.raises(TypeError, match='only the functions of myriad.lapack take ragged batches'):
        batched.solve_refined(a, batched.ragged([a[0]]))
    with pytest.raises(ValueError, match='gemm_grouped: .*k'):
        batched.gemm_grouped([(groups[0][0], groups[1][1])])
