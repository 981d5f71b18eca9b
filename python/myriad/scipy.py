"""Lets scipy.linalg compute by Myriad: install() and uninstall().

    import myriad.scipy
    myriad.scipy.install()
    scipy.linalg.solve(a, b)     # now by Myriad
    myriad.scipy.report()        # {'_solve': 1}

scipy.linalg keeps its own checks, types, warnings and errors. Only the functions for stacks of matrices are replaced, in the module
scipy.linalg._batched_linalg: they are private to SciPy, and install() raises RuntimeError for a SciPy without them, older than 1.18. Calls
that Myriad has no routine for are computed by SciPy; report() counts them with the reason.
"""
import collections
import contextlib

import numpy
import scipy
import scipy.linalg

from . import _host, _myriad, _queues

__all__ = ['install', 'report', 'uninstall', 'using']

_calls = collections.Counter()

# SciPy's numbers of structures and of modes of QR.
_NOT_GIVEN, _GENERAL, _UPPER, _LOWER, _POSITIVE = -1, 0, 21, 22, 101
_OTHERS = {11: 'diagonal', 31: 'tridiagonal', 41: 'banded', 201: 'symmetric', 211: 'Hermitian'}
_FULL, _R, _RAW, _ECONOMIC = 1, 11, 21, 31
# Larger matrices with a zero in a corner are left to SciPy if their structure is not given: it finds banded and triangular ones, whose systems
# cost far less than those of full matrices.
_SMALL = 64


class _Left(Exception):
    """The call is left to SciPy, for the reason in the text."""


def _error(number, structure, info, singular=False, poor=False, rcond=0.0):
    """An entry of SciPy's list of matrices with errors or warnings."""
    return {
        'num': int(number), 'structure': structure, 'is_singular': int(singular), 'is_ill_conditioned': int(poor), 'rcond': float(rcond),
        'lapack_info': int(info),
    }


def _failures(info):
    """The list for a decomposition: every matrix that failed."""
    info = numpy.ravel(info)
    return [_error(i, -1, info[i]) for i in numpy.flatnonzero(info)]


def _norm(a):
    """The 1-norm of every matrix."""
    with numpy.errstate(all='ignore'):
        return abs(a).sum(-2).max(-1)


def _conditions(structure, info, norm, inverse):
    """The list for solve and inv: singular matrices, and those whose reciprocal condition number in the 1-norm is below eps.

    norm: of the matrices. SciPy estimates the norm of the inverse; here it is computed from the inverse.
    """
    with numpy.errstate(all='ignore'):
        rcond = numpy.ravel(1 / (norm * _norm(inverse)))
    info = numpy.ravel(info)
    singular = info != 0
    poor = ~singular & ~(rcond >= numpy.finfo(rcond.dtype).eps)  # NaN, too
    return [_error(i, structure, info[i], singular[i], poor[i], 0 if singular[i] else rcond[i]) for i in numpy.flatnonzero(singular | poor)]


def _whole(uplo, a):
    """Hermitian matrices of which one triangle is given; the other one is not read."""
    lower = numpy.tril(a, -1) if uplo == 'L' else numpy.triu(a, 1).conj().swapaxes(-1, -2)
    whole = lower + lower.conj().swapaxes(-1, -2)
    k = numpy.arange(a.shape[-1])
    whole[..., k, k] = a[..., k, k]
    return whole


def _check_structure(a, structure):
    if structure in _OTHERS:
        raise _Left(f'{_OTHERS[structure]} matrices')
    if structure not in (_NOT_GIVEN, _GENERAL, _UPPER, _LOWER, _POSITIVE):
        raise _Left(f'structure {structure}')
    if structure == _NOT_GIVEN and a.shape[-1] > _SMALL and not (a[..., 0, -1].all() and a[..., -1, 0].all()):
        raise _Left('large matrices with zeros')


def _check_overwriting(a, overwrite):
    """For functions that do not overwrite: SciPy's tests want a single matrix to be overwritten where the caller allows it."""
    if a.ndim == 2 and overwrite:
        raise _Left('overwrite_a')


# Each function takes the arguments of SciPy's function after the queue, and returns what it returns. SciPy asks to overwrite single matrices
# in column-major order only, and its tests want the results where its own functions leave them.


def _solve(queue, a, b, structure, lower, transposed, overwrite_a, overwrite_b):
    _check_structure(a, structure)
    x, info = _host.taken(b, overwrite_b), numpy.empty(a.shape[:-2], _host.INT)
    if structure in (_UPPER, _LOWER):
        uplo = 'U' if structure == _UPPER else 'L'
        a = _host.triangle(queue, uplo, a)
        if transposed:
            a, uplo = a.swapaxes(-1, -2), 'L' if uplo == 'U' else 'U'
        norm = _norm(a)
        _myriad.trsm(queue, 'L', uplo, 'N', 1.0, a, x)
        inverse = a
        _myriad.trtri(queue, uplo, 'N', inverse, info)
    elif structure == _POSITIVE:
        uplo = 'L' if lower else 'U'
        norm = _norm(_whole(uplo, a))
        factor, info = _host.cholesky(queue, uplo, a)
        _myriad.potrs(queue, uplo, factor, x)
        _myriad.potri(queue, uplo, factor, numpy.empty_like(info))
        inverse = _whole(uplo, factor)
    else:
        structure, norm = _GENERAL, _norm(a)
        inverse, ipiv = _host.taken(a, overwrite_a), numpy.empty(a.shape[:-1], _host.INT)
        _myriad.getrf(queue, inverse, ipiv, info)
        _myriad.getrs(queue, 'T' if transposed else 'N', inverse, ipiv, x)
        _myriad.getri(queue, inverse, ipiv, numpy.empty_like(info))
    return x, _conditions(structure, info, norm, inverse)


def _inv(queue, a, structure, overwrite_a, lower):
    _check_structure(a, structure)
    info = numpy.empty(a.shape[:-2], _host.INT)
    result = _host.writable(a, overwrite_a)
    if result is None:
        result = numpy.empty(a.shape, a.dtype)
    if structure in (_UPPER, _LOWER):
        uplo = 'U' if structure == _UPPER else 'L'
        result[...] = _host.triangle(queue, uplo, a)
        norm = _norm(result)
        _myriad.trtri(queue, uplo, 'N', result, info)
    elif structure == _POSITIVE:
        uplo = 'L' if lower else 'U'
        norm = _norm(_whole(uplo, a))
        factor, info = _host.cholesky(queue, uplo, a)
        _myriad.potri(queue, uplo, factor, numpy.empty_like(info))
        result[...] = _whole(uplo, factor)
    else:
        structure, norm = _GENERAL, _norm(a)
        _myriad.inverse(queue, a, result, info)
    return result, _conditions(structure, info, norm, result)


def _det(queue, a, overwrite_a):
    _check_overwriting(a, overwrite_a)
    det = numpy.empty(a.shape[:-2], a.dtype)
    _myriad.det(queue, a, det)
    return det


def _lu(queue, a, permute_l, overwrite_a):
    *batch, m, n = a.shape
    k = min(m, n)
    lu, ipiv = numpy.array(a, order='C'), numpy.empty((*batch, k), _host.INT)
    _myriad.getrf(queue, lu, ipiv, None)
    l, u = numpy.tril(lu[..., :k], -1), numpy.triu(lu[..., :k, :])
    diagonal = numpy.arange(k)
    l[..., diagonal, diagonal] = 1
    pivots = ipiv.reshape(-1, k).T - 1
    matrix, row = numpy.arange(pivots.shape[1]), numpy.arange(m, dtype=numpy.intc)[:, None]
    order = numpy.repeat(row, pivots.shape[1], 1)  # rows of A as the interchanges leave them; a column for each matrix
    for i, other in enumerate(pivots):
        moved = order[other, matrix]
        order[other, matrix] = order[i]
        order[i] = moved
    p = numpy.empty((*batch, m), numpy.intc)
    p.reshape(-1, m)[matrix, order] = row  # the inverse: row i of A is row p[i] of L U
    if permute_l:
        return numpy.empty(0, numpy.intc), numpy.take_along_axis(l, p[..., None], -2), u
    return p, l, u


def _cholesky(queue, a, lower, overwrite_a, clean):
    factor, info = _host.cholesky(queue, 'L' if lower else 'U', a)
    own = _host.writable(a, overwrite_a)
    if own is not None:
        own[...] = factor
        factor = own
    return factor, _failures(info)


def _qr(queue, a, overwrite_a, mode, pivoting):
    if pivoting:
        raise _Left('pivoting')
    m, n = a.shape[-2:]
    k = min(m, n)
    qr = _host.taken(a, overwrite_a)
    in_place = numpy.may_share_memory(qr, a)
    if mode == _RAW and not in_place:
        qr = numpy.array(qr.swapaxes(-1, -2), order='C').swapaxes(-1, -2)  # SciPy's callers pass it to LAPACK
    tau = numpy.empty((*a.shape[:-2], k), a.dtype)
    _myriad.geqrf(queue, qr, tau)
    r = numpy.triu(qr if mode in (_FULL, _R) else qr[..., :k, :])
    if mode == _ECONOMIC and (in_place or m >= n):
        q = qr[..., :k]
        _myriad.orgqr(queue, q, tau)
    else:
        q = qr if mode == _RAW else None if mode == _R else _host.form_q(queue, qr, tau, m if mode == _FULL else k)
    if in_place and mode in (_FULL, _R):
        qr[...] = r
        r = qr
    return q, r, tau if mode == _RAW else None, None, []


def _lstsq(queue, a, b, cond, driver, overwrite_a, overwrite_b):
    if driver == 'gelsy':
        raise _Left('driver gelsy')
    _check_overwriting(a, overwrite_a)
    result = _host.lstsq(queue, a, b, cond)
    if result is None:
        raise _Left('negative cond')
    solution, squares, rank, s, info = result
    m, n = a.shape[-2:]
    x = _host.writable(b, overwrite_b and m >= n)
    if x is None:
        x = numpy.empty((*a.shape[:-2], max(m, n), b.shape[-1]), a.dtype)
    x[..., :n, :] = solution
    x[..., n:, :] = 0
    if m > n:
        x[..., n, :] = numpy.sqrt(squares)  # SciPy adds the squares of these rows
    return x, rank, s, _failures(info)


def _svd(queue, a, driver, compute_uv, full_matrices, overwrite_a):
    _check_overwriting(a, overwrite_a)
    u, s, vt, info = _host.svd(queue, ('A' if full_matrices else 'S') if compute_uv else 'N', a)
    if driver == 'gesdd' and _myriad.failures(info)[0]:
        info[(info != 0) & numpy.isnan(a).any((-2, -1))] = -4  # as LAPACK's gesdd reports NaN
    failed = _failures(info)
    return (u, s, vt, failed) if compute_uv else (s, failed)


_FUNCTIONS = {
    '_solve': _solve,
    '_inv': _inv,
    '_det': _det,
    '_lu': _lu,
    '_cholesky': _cholesky,
    '_qr': _qr,
    '_lstsq': _lstsq,
    '_svd': _svd,
}
# The modules and names from which scipy.linalg takes the functions.
_PLACES = {name: [('_batched_linalg', name)] for name in _FUNCTIONS}
_PLACES['_det'].append(('_basic', '_linalg_det'))
_PLACES['_lu'].append(('_decomp_lu', '_linalg_lu'))


class _Function:
    """Stands for a function of SciPy."""

    def __init__(self, name, base, function, max_n):
        self.base = base
        self._name = name
        self._function = function
        self._max_n = max_n
        self.__doc__ = base.__doc__

    def __call__(self, *arguments):
        try:
            result = self._compute(*arguments)
        except _Left as left:
            _calls[f'{self._name} by SciPy: {left}'] += 1
            return self.base(*arguments)
        _calls[self._name] += 1
        return result

    def _compute(self, *arguments):
        arrays = 2 if self._name in ('_solve', '_lstsq') else 1
        for x in arguments[:arrays]:
            if x.dtype.char not in 'fdFD' or not x.dtype.isnative or x.dtype != arguments[0].dtype:
                raise _Left('types')
            if not x.size or x.ndim < 2:
                raise _Left('shapes')
        if self._max_n is not None and max(arguments[0].shape[-2:]) > self._max_n:
            raise _Left('max_n')
        return self._function(_queues.on_cpu(), *map(_host.readable, arguments[:arrays]), *arguments[arrays:])

    def __repr__(self):
        return f'<function {self._name!r} of myriad.scipy>'


def _originals():
    """SciPy's own functions by place."""
    originals, missing = {}, []
    for name, places in _PLACES.items():
        for place in places:
            function = getattr(getattr(scipy.linalg, place[0], None), place[1], None)
            if function is None:
                missing.append('.'.join(('scipy.linalg', *place)))
            originals[name, *place] = function.base if isinstance(function, _Function) else function
    if missing:
        raise RuntimeError(f'myriad.scipy needs SciPy 1.18 or newer; this is {scipy.__version__}, and it has no {", ".join(missing)}')
    return originals


def install(*, max_n=None):
    """scipy.linalg computes by Myriad from now on, in all threads. max_n: larger matrices are left to SciPy."""
    for (name, module, attribute), base in _originals().items():
        setattr(getattr(scipy.linalg, module), attribute, _Function(name, base, _FUNCTIONS[name], max_n))


def uninstall():
    """scipy.linalg computes by itself again."""
    for (_, module, attribute), base in _originals().items():
        setattr(getattr(scipy.linalg, module), attribute, base)


@contextlib.contextmanager
def using(*, max_n=None):
    """install() for the body of a with statement."""
    before = {place: getattr(getattr(scipy.linalg, place[1]), place[2]) for place in _originals()}
    install(max_n=max_n)
    try:
        yield
    finally:
        for (_, module, attribute), function in before.items():
            setattr(getattr(scipy.linalg, module), attribute, function)


def report() -> dict:
    """The number of calls that Myriad has computed, by the name of SciPy's internal function, and of those left to SciPy, by the reason."""
    return dict(_calls)
