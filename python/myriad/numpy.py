"""Lets numpy.linalg compute by Myriad: install() and uninstall().

    import myriad.numpy
    myriad.numpy.install()
    numpy.linalg.solve(a, b)     # now by Myriad
    myriad.numpy.report()        # {'solve': 1}

numpy.linalg keeps its own checks, types, errors and results. Only the functions that compute are replaced, in the module
numpy.linalg._linalg: they are private to NumPy, and install() raises RuntimeError for a NumPy that has others. eig and eigvals stay NumPy's.
"""
import collections
import contextlib
import functools
import warnings

import numpy
import numpy.linalg

from . import _host, _myriad, _queues

__all__ = ['install', 'report', 'uninstall', 'using']

_calls = collections.Counter()


def _report_invalid():
    """Does for failed matrices what a ufunc does for the floating-point error 'invalid value', as numpy.errstate says."""
    mode = numpy.geterr()['invalid']
    if mode == 'call':
        numpy.geterrcall()('invalid value', 8)
    elif mode == 'raise':
        raise FloatingPointError('invalid value encountered')
    elif mode == 'warn':
        warnings.warn('invalid value encountered', RuntimeWarning, stacklevel=4)
    elif mode == 'print':
        print('Warning: invalid value encountered')
    elif mode == 'log':
        numpy.geterrcall().write('Warning: invalid value encountered\n')


def _finish(info, *results):
    """Results of failed matrices become NaN, as NumPy's functions leave them."""
    if _myriad.failures(info)[0]:
        failed = info != 0
        for x in results:
            x[failed] = numpy.nan
        _report_invalid()


def _again(name, failed, a, *results):
    """Lets NumPy compute failed matrices, if there are any: with its results for NaN and infinity, and its errors."""
    if failed.any():
        theirs = getattr(numpy.linalg._umath_linalg, name)(a[failed])
        for x, theirs in zip(results, theirs if isinstance(theirs, tuple) else (theirs,)):
            x[failed] = theirs


def _broadcast(a, b):
    return a.shape[:-2] if a.shape[:-2] == b.shape[:-2] else numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])


# Each function takes arrays of the types that the signature names, and returns arrays or a tuple, as the gufunc does. It returns
# NotImplemented for shapes that it leaves to NumPy: those that NumPy refuses, and those that it treats in a way of its own.


def _solve(queue, a, b):
    n, m = a.shape[-2:]
    if n != m or b.shape[-2] != n:
        return NotImplemented
    batch = _broadcast(a, b)
    x, info = numpy.empty((*batch, n, b.shape[-1]), a.dtype), numpy.empty(batch, _host.INT)
    _myriad.solve(queue, a, b, x, info)
    _finish(info, x)
    return x


def _solve1(queue, a, b):
    x = _solve(queue, a, b[..., None])
    return x if x is NotImplemented else x[..., 0]


def _inv(queue, a):
    if a.shape[-1] != a.shape[-2]:
        return NotImplemented
    x, info = numpy.empty(a.shape, a.dtype), numpy.empty(a.shape[:-2], _host.INT)
    _myriad.inverse(queue, a, x, info)
    _finish(info, x)
    return x


def _det(queue, a):
    if a.shape[-1] != a.shape[-2]:
        return NotImplemented
    det = numpy.empty(a.shape[:-2], a.dtype)
    _myriad.det(queue, a, det)
    if not _myriad.all_finite(det):
        _again('det', ~numpy.isfinite(det), a, det)
    return det[()]


def _slogdet(queue, a):
    if a.shape[-1] != a.shape[-2]:
        return NotImplemented
    sign, logabs = numpy.empty(a.shape[:-2], a.dtype), numpy.empty(a.shape[:-2], a.real.dtype)
    _myriad.logdet(queue, a, sign, logabs)
    if not _myriad.all_finite(sign):
        _again('slogdet', numpy.isnan(sign), a, sign, logabs)
    return sign[()], logabs[()]


def _cholesky(uplo):
    def cholesky(queue, a):
        if a.shape[-1] != a.shape[-2]:
            return NotImplemented
        factor, info = _host.cholesky(queue, uplo, a)
        if _myriad.failures(info)[0]:
            _again('cholesky_lo' if uplo == 'L' else 'cholesky_up', info != 0, a, factor)
        return factor

    return cholesky


def _eigh(job, uplo):
    def eigh(queue, a):
        if a.shape[-1] != a.shape[-2]:
            return NotImplemented
        v, info = numpy.array(a, order='C'), numpy.empty(a.shape[:-2], _host.INT)
        w = numpy.empty(a.shape[:-1], a.real.dtype)
        _myriad.syevd(queue, job, uplo, v, w, info)
        if _myriad.failures(info)[0]:
            _again(('eigh' if job == 'V' else 'eigvalsh') + ('_lo' if uplo == 'L' else '_up'), info != 0, a, w, v)
        return (w, v) if job == 'V' else w

    return eigh


def _qr_r_raw(queue, a):
    tau = numpy.empty((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    if not a.flags.writeable:
        return NotImplemented
    _myriad.geqrf(queue, a, tau)  # numpy.linalg reads the factors from a, its own copy
    return tau


def _form_q(complete):
    def form_q(queue, a, tau):
        m, n = a.shape[-2:]
        k = tau.shape[-1]
        if a.shape[:-2] != tau.shape[:-1] or k > min(m, n):
            return NotImplemented
        return _host.form_q(queue, a, tau, m if complete else k)

    return form_q


def _svd(job):
    def svd(queue, a):
        u, s, vt, info = _host.svd(queue, job, a)
        failed = _myriad.failures(info)[0]
        if job == 'N':
            if failed:
                _again('svd', info != 0, a, s)
            return s
        if failed:
            _again('svd_f' if job == 'A' else 'svd_s', info != 0, a, u, s, vt)
        return u, s, vt

    return svd


def _lstsq(queue, a, b, rcond):
    m, n = a.shape[-2:]
    if not m or not n or b.shape[-2] != m or a.shape[:-2] != b.shape[:-2] or rcond.ndim:
        return NotImplemented
    result = _host.lstsq(queue, a, b, rcond)
    if result is None:
        return NotImplemented
    x, squares, rank, s, info = result
    _finish(info, x, squares, s)
    return x, squares, numpy.asarray(rank, _host.INT)[()], s


_FUNCTIONS = {
    'solve': _solve,
    'solve1': _solve1,
    'inv': _inv,
    'det': _det,
    'slogdet': _slogdet,
    'cholesky_lo': _cholesky('L'),
    'cholesky_up': _cholesky('U'),
    'eigh_lo': _eigh('V', 'L'),
    'eigh_up': _eigh('V', 'U'),
    'eigvalsh_lo': _eigh('N', 'L'),
    'eigvalsh_up': _eigh('N', 'U'),
    'qr_r_raw': _qr_r_raw,
    'qr_reduced': _form_q(False),
    'qr_complete': _form_q(True),
    'svd': _svd('N'),
    'svd_s': _svd('S'),
    'svd_f': _svd('A'),
    'lstsq': _lstsq,
}


@functools.cache
def _types_of(signature):
    """The types of a gufunc's arguments, from its signature such as 'dd->d'."""
    return tuple(numpy.dtype(letter) for letter in signature.partition('->')[0])


def _ready(arrays, types):
    """The arrays with these types, or None where numpy.linalg's own conversion is needed."""
    if len(arrays) != len(types):
        return None
    for x, t in zip(arrays, types):
        if type(x) is not numpy.ndarray or x.dtype is not t or not x.flags.carray:
            break
    else:
        return arrays
    given = [numpy.asarray(x) for x in arrays]
    if all(numpy.can_cast(x.dtype, t, 'same_kind') for x, t in zip(given, types)):
        return [x.astype(t, copy=False) for x, t in zip(given, types)]
    return None


class _Gufunc:
    """Stands for a gufunc of NumPy, whose other attributes it has."""

    def __init__(self, name, base, function, max_n):
        self._name = name
        self._base = base
        self._function = function
        self._max_n = max_n

    def __call__(self, *arrays, signature=None, **options):
        # numpy.linalg names the types of every call; other calls are none of its own.
        if signature is not None and not options:
            given = _ready(arrays, _types_of(signature))
            if given is not None and given[0].ndim >= 2 and (self._max_n is None or max(given[0].shape[-2:]) <= self._max_n):
                if given is not arrays and self._name != 'qr_r_raw':
                    given = [_host.readable(x) for x in given]
                if self._name != 'qr_r_raw' or given[0] is arrays[0]:
                    result = self._function(_queues.on_cpu(), *given)
                    if result is not NotImplemented:
                        _calls[self._name] += 1
                        return result
        return self._base(*arrays, signature=signature, **options)

    def __getattr__(self, name):
        if name == '_base':
            raise AttributeError(name)  # of a copy that is being made
        return getattr(self._base, name)

    def __repr__(self):
        return f'<gufunc {self._name!r} of myriad.numpy>'


class _Module:
    """Stands for numpy.linalg._umath_linalg."""

    def __init__(self, base, max_n):
        self._base = base
        for name, function in _FUNCTIONS.items():
            setattr(self, name, _Gufunc(name, getattr(base, name), function, max_n))

    def __getattr__(self, name):
        if name == '_base':
            raise AttributeError(name)  # of a copy that is being made
        return getattr(self._base, name)


def install(*, max_n=None):
    """numpy.linalg computes by Myriad from now on, in all threads. max_n: larger matrices are left to NumPy."""
    module = getattr(numpy.linalg, '_linalg', None)
    base = getattr(module, '_umath_linalg', None)
    if isinstance(base, _Module):
        base = base._base
    missing = [name for name in _FUNCTIONS if not hasattr(base, name)]
    if missing:
        raise RuntimeError(f'NumPy {numpy.__version__} is not supported: numpy.linalg._linalg._umath_linalg has no {", ".join(missing)}')
    module._umath_linalg = _Module(base, max_n)


def uninstall():
    """numpy.linalg computes by itself again."""
    module = numpy.linalg._linalg
    if isinstance(module._umath_linalg, _Module):
        module._umath_linalg = module._umath_linalg._base


@contextlib.contextmanager
def using(*, max_n=None):
    """install() for the body of a with statement."""
    before = numpy.linalg._linalg._umath_linalg
    install(max_n=max_n)
    try:
        yield
    finally:
        numpy.linalg._linalg._umath_linalg = before


def report() -> dict:
    """The number of calls that Myriad has computed, by the name of NumPy's internal function."""
    return dict(_calls)
