"""Matrices for the tests, and a comparison."""
import numpy as np

TYPES = ['f4', 'f8', 'c8', 'c16']
BATCHES = [(), (1,), (7,), (2, 3), (0,)]
rng = np.random.default_rng(20251)


def random(shape, dtype='f8'):
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == 'c':
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def matrices(batch, n, dtype):
    return random((*batch, n, n), dtype) / (1 + n) + (2 * np.eye(n)).astype(dtype)


def hermitian(batch, n, dtype):
    a = random((*batch, n, n), dtype)
    return a + np.conj(np.swapaxes(a, -1, -2))


def positive(batch, n, dtype):
    a = random((*batch, n, n), dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + (n * np.eye(n)).astype(dtype)


def tolerance(dtype):
    return 3e-4 if np.dtype(dtype) in ('f4', 'c8') else 1e-11


def close(x, y):
    x, y = np.asarray(x), np.asarray(y)
    assert x.dtype == y.dtype and x.shape == y.shape
    assert np.allclose(x, y, rtol=tolerance(x.dtype), atol=tolerance(x.dtype) * (np.abs(y).max() if y.size else 0))
