"""JAX: its linear algebra on Myriad, and functions with derivatives, vmap and sharding.

    import myriad.jax
    myriad.jax.enable()            # unchanged programs: jnp.linalg.* and jax.lax.linalg.* run on Myriad
    ...
    print(myriad.jax.report())     # what was taken, and why other calls were not
    myriad.jax.disable()

    with myriad.jax.enabled(ops=['lu', 'eigh'], max_n=64): ...

    x = myriad.jax.solve(a, b)     # also inv, det, slogdet, cholesky, lu, qr, eigh, svd, pinv, lstsq, triangular_solve

`enable` replaces the lowerings of JAX's primitives for CPUs and CUDA GPUs; their derivatives, vmap and sharding rules stay JAX's. A call that
does not fit keeps JAX's lowering.

The functions are calls of XLA's foreign function interface. They run under jit, vmap, jvp, grad and shard_map. A batch that is sharded along
its leading axes is computed where it is. No call waits for a GPU or raises an error for a singular or indefinite matrix, whose result is NaN.
"""

import collections
import contextlib
import functools
import inspect
import itertools
import threading
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax.interpreters import batching, mlir

from . import _myriad
from ._report import Report as _Report
from .linalg import EighResult, QRResult, SlogdetResult, SVDResult

try:
    from jax._src import core as _core
    from jax._src import dispatch as _dispatch
    from jax._src.interpreters import mlir as _mlir
    from jax._src.lax import linalg as _linalg

    _rules_of_platforms, _rules = _mlir._platform_specific_lowerings, _mlir._lowerings
    _reshard = _core.auto_insert_reshard
except (AttributeError, ImportError) as _error:
    raise ImportError(f'myriad.jax needs JAX 0.10.2 or newer; JAX {jax.__version__} has changed: {_error}') from None

__all__ = ['OPERATORS', 'cholesky', 'det', 'disable', 'eigh', 'enable', 'enabled', 'inv', 'lstsq', 'lu', 'pinv', 'qr', 'report', 'slogdet',
           'solve', 'svd', 'triangular_solve']

Array = jax.Array
_DTYPES = frozenset(np.dtype(x) for x in ('f4', 'f8', 'c8', 'c16'))
_product = functools.partial(jnp.matmul, precision='highest')  # no TF32 on GPUs


# ---- Calls of routines --------------------------------------------------------------------------

_ROUTINES = {}  # name: letters of the arguments and of the results (see xla.cpp), and which results overwrite which arguments
for _name, (_arguments, _results, _in_place, _platforms) in _myriad.xla_routines().items():
    _ROUTINES[_name] = (_arguments, _results, {int(k): i for i, k in enumerate(_in_place) if k != '-'})
    for _platform, _handlers in _platforms.items():
        jax.ffi.register_ffi_target(f'myriad_{_name}', _handlers, platform=_platform)
    jax.ffi.register_ffi_target_as_batch_partitionable(f'myriad_{_name}')
_AXES = {'m': 2, 'v': 1, 'p': 1}  # of a matrix or vector, by letter; others are numbers

_call_p = jax.extend.core.Primitive('myriad')
_call_p.multiple_results = True
_dispatch.simple_impl(_call_p)


def _call(routine, *arguments, results, **letters):
    """Calls a routine. results: the shape of one matrix, vector or number, and the dtype, for each. letters: the routine's attributes."""
    results = tuple((tuple(shape), np.dtype(dtype)) for shape, dtype in results)
    return _call_p.bind(*_reshard(*arguments), routine=routine, results=results, letters=tuple(sorted(letters.items())))


def _batch_axes(routine, first):
    return len(first.shape) - _AXES[_ROUTINES[routine][0][0]]


@_call_p.def_abstract_eval
def _call_abstract(*avals, routine, results, letters):
    first = avals[0]
    axes = _batch_axes(routine, first)
    _core.standard_vma_rule(f'myriad_{routine}', *avals)
    for aval, kind in zip(avals, _ROUTINES[routine][0]):
        if tuple(aval.shape[: len(aval.shape) - _AXES[kind]]) != tuple(first.shape[:axes]):
            raise ValueError(f'{routine}: arguments need the same leading axes, have shapes {[x.shape for x in avals]}')
        if any(aval.sharding.spec[axes:]):
            raise ValueError(f'{routine}: the axes of a matrix must not be sharded, have {aval.sharding.spec}')
    spec = tuple(first.sharding.spec[:axes])
    return [
        first.update(
            shape=(*first.shape[:axes], *shape),
            dtype=dtype,
            weak_type=False,
            sharding=first.sharding.update(spec=jax.sharding.PartitionSpec(*spec, *(None,) * len(shape))),
        )
        for shape, dtype in results
    ]


def _call_batching(arguments, dims, **params):
    (size,) = {x.shape[d] for x, d in zip(arguments, dims) if d is not None}
    arguments = [jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(arguments, dims)]
    return _call_p.bind(*_reshard(*arguments), **params), (0,) * len(params['results'])


batching.primitive_batchers[_call_p] = _call_batching


def _sharding_rule(batch, shapes_in, shapes_out):
    """Shardy's rule: the leading axes are those of all operands, the others are those of one operand each."""
    names = itertools.chain('ijklmnopqrstuvwxyz', (f'z_{i}' for i in itertools.count(1)))
    sizes = {}

    def name(size):
        sizes[key := next(names)] = size
        return key

    common = [name(size) for size in batch]

    def operand(shape):
        return '[' + ', '.join(common + [name(size) for size in shape[len(batch) :]]) + ']'

    sides = ['(' + ', '.join(operand(shape) for shape in shapes) + ')' for shapes in (shapes_in, shapes_out)]
    factors = ', '.join(f'{key}={size}' for key, size in sizes.items())
    return mlir.ir.Attribute.parse(f'#sdy.op_sharding_rule<{sides[0]}->{sides[1]} {{{factors}}}, custom>')


def _call_lowering(ctx, *operands, routine, results, letters):
    shapes_in, shapes_out = [x.shape for x in ctx.avals_in], [x.shape for x in ctx.avals_out]
    axes = _batch_axes(routine, ctx.avals_in[0])
    extra = None
    if all(isinstance(size, int) for shape in (*shapes_in, *shapes_out) for size in shape):
        extra = {'mhlo.frontend_attributes': mlir.ir_attribute({'num_batch_dims': str(axes)})}
        if jax.config.jax_use_shardy_partitioner:
            extra['sdy.sharding_rule'] = _sharding_rule(shapes_in[0][:axes], shapes_in, shapes_out)
    rule = jax.ffi.ffi_lowering(f'myriad_{routine}', operand_output_aliases=_ROUTINES[routine][2], extra_attributes=extra)
    return rule(ctx, *operands, **{word: np.uint8(ord(letter)) for word, letter in letters})


mlir.register_lowering(_call_p, _call_lowering, platform='cpu')
mlir.register_lowering(_call_p, _call_lowering, platform='cuda')


def _real(dtype):
    return np.finfo(dtype).dtype


def _nan_where(bad, x):
    """x, with NaN for the matrices, vectors or numbers that are `bad`."""
    return jnp.where(bad.reshape(*bad.shape, *(1,) * (x.ndim - bad.ndim)), jnp.asarray(jnp.nan, x.dtype), x)


# The routines, with JAX's conventions: failed matrices are NaN, pivots count from zero. Arguments have a common dtype and leading axes.


def _potrf(a, uplo='L'):
    factor, info = _call('potrf', a, results=[(a.shape[-2:], a.dtype), ((), np.int32)], uplo=uplo)
    return _nan_where(info != 0, factor)


def _getrf(a):
    m, n = a.shape[-2:]
    factors, pivots, _ = _call('getrf', a, results=[((m, n), a.dtype), ((min(m, n),), np.int32), ((), np.int32)])
    pivots = pivots - 1
    return factors, pivots, _permutation(pivots, m)


def _permutation(pivots, m):
    def on_cpu(pivots):
        return _call('permutation', pivots, results=[((m,), np.int32)])[0]

    def elsewhere(pivots):
        return jax.lax.linalg.lu_pivots_to_permutation(pivots, m)

    return jax.lax.platform_dependent(pivots, cpu=on_cpu, default=elsewhere)


def _solve(a, b):
    return _call('solve', a, b, results=[(b.shape[-2:], b.dtype)])[0]


def _inverse(a):
    return _call('inverse', a, results=[(a.shape[-2:], a.dtype)])[0]


def _trsm(a, b, side, uplo, trans, conj, diag):
    return _call('trsm', a, b, results=[(b.shape[-2:], b.dtype)], side=side, uplo=uplo, trans=trans, conj=conj, diag=diag)[0]


def _geqrf(a):
    m, n = a.shape[-2:]
    return _call('geqrf', a, results=[((m, n), a.dtype), ((min(m, n),), a.dtype)])


def _orgqr(a, tau):
    return _call('orgqr', a, tau, results=[(a.shape[-2:], a.dtype)])[0]


def _syevd(a, uplo='L'):
    n = a.shape[-1]
    v, w, info = _call('syevd', a, results=[((n, n), a.dtype), ((n,), _real(a.dtype)), ((), np.int32)], uplo=uplo)
    return _nan_where(info != 0, w), _nan_where(info != 0, v)


def _gesvd(a, full_matrices):
    m, n = a.shape[-2:]
    k = min(m, n)
    u, vh = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
    results = [((m, n), a.dtype), ((k,), _real(a.dtype)), (u, a.dtype), (vh, a.dtype), ((), np.int32)]
    _, s, u, vh, info = _call('gesvd', a, results=results, job='A' if full_matrices else 'S')
    return tuple(_nan_where(info != 0, x) for x in (u, s, vh))


def _gesvd_values(a):
    _, s, info = _call('gesvd_values', a, results=[(a.shape[-2:], a.dtype), ((min(a.shape[-2:]),), _real(a.dtype)), ((), np.int32)])
    return _nan_where(info != 0, s)


# ---- Functions ----------------------------------------------------------------------------------


def _matrices(name, *arrays, square=()):
    """Arrays of a common type of Myriad. square: the names of those, in order, that must be square."""
    arrays = [jnp.asarray(x) for x in arrays]
    dtype = jnp.result_type(*arrays)
    if not jnp.issubdtype(dtype, jnp.inexact):
        dtype = jnp.result_type(float)
    if np.dtype(dtype) not in _DTYPES:
        raise TypeError(f'myriad.jax.{name}: needs float32, float64, complex64 or complex128, got {dtype}')
    for word, x in zip(square, arrays):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f'myriad.jax.{name}: {word} must be square matrices, has shape {x.shape}')
    if arrays[0].ndim < 2:
        raise ValueError(f'myriad.jax.{name}: a must be matrices, has shape {arrays[0].shape}')
    return [x.astype(dtype) for x in arrays]


def _system(name, a, b, inner, square=('a',)):
    """a and b with the same leading axes, and whether b is one vector. `inner`: the axis of b that has the size of a's."""
    vector = jnp.ndim(b) == 1
    a, b = _matrices(name, a, jnp.asarray(b)[:, None] if vector else b, square=square)
    if b.ndim < 2 or b.shape[inner] != a.shape[-2]:
        raise ValueError(f'myriad.jax.{name}: a of shape {a.shape} does not match b of shape {b.shape[:1] if vector else b.shape}')
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = _reshard(*(jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b)))  # of one type under shard_map
    return a, b, vector


def _h(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _t(x):
    return jnp.swapaxes(x, -1, -2)


def _trace(x):
    return jnp.trace(x, axis1=-2, axis2=-1)


def _diagonal(x):
    return jnp.diagonal(x, axis1=-2, axis2=-1)


@jax.jit
def solve(a: Array, b: Array) -> Array:
    """X with A X = B, for a (..., n, n) and b (..., n, k) or (n,); leading axes are broadcast. NaN for a singular A.

    Derivatives solve with A again. Cost: 2/3 n^3 + 2 n^2 k flops.
    """
    a, b, vector = _system('solve', a, b, -2)
    x = jax.lax.custom_linear_solve(lambda x: _product(a, x), b, lambda _, b: _solve(a, b), transpose_solve=lambda _, b: _solve(_t(a), b))
    return x[..., 0] if vector else x


@functools.partial(jax.jit, static_argnames=('left_side', 'lower', 'transpose_a', 'conjugate_a', 'unit_diagonal'))
def triangular_solve(
    a: Array,
    b: Array,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """X with op(A) X = B (left_side) or X op(A) = B, for triangular a (..., n, n); arguments as of jax.lax.linalg.triangular_solve.

    b: (..., n, k) or (..., k, n); leading axes are broadcast. Cost: n^2 k flops.
    """
    a, b, _ = _system('triangular_solve', a, jnp.atleast_2d(b), -2 if left_side else -1)
    conjugate_a = conjugate_a and jnp.iscomplexobj(a)
    triangle = jnp.tril(a, -1 if unit_diagonal else 0) if lower else jnp.triu(a, 1 if unit_diagonal else 0)
    if unit_diagonal:
        triangle = triangle + jnp.eye(a.shape[-1], dtype=a.dtype)
    operator = _t(triangle) if transpose_a else triangle
    operator = jnp.conj(operator) if conjugate_a else operator

    def run(b, transpose):
        return _trsm(a, b, 'L' if left_side else 'R', 'L' if lower else 'U', 'T' if transpose else 'N', 'Y' if conjugate_a else 'N',
                     'U' if unit_diagonal else 'N')

    return jax.lax.custom_linear_solve(
        lambda x: _product(operator, x) if left_side else _product(x, operator),
        b,
        lambda _, b: run(b, transpose_a),
        transpose_solve=lambda _, b: run(b, not transpose_a),
    )


@jax.custom_jvp
def _inv(a):
    return _inverse(a)


@_inv.defjvp
def _inv_jvp(primals, tangents):
    x = _inv(*primals)
    return x, -_product(_product(x, tangents[0]), x)


@jax.jit
def inv(a: Array) -> Array:
    """The inverses of a (..., n, n); NaN for a singular matrix. Cost: 2 n^3 flops."""
    return _inv(*_matrices('inv', a, square=['a']))


@jax.custom_jvp
def _det(a):
    return _call('det', a, results=[((), a.dtype)])[0]


@_det.defjvp
def _det_jvp(primals, tangents):
    d = _det(*primals)
    return d, d * _trace(_product(_inv(*primals), tangents[0]))


@jax.jit
def det(a: Array) -> Array:
    """The determinants of a (..., n, n). The derivative for a singular matrix is NaN. Cost: 2/3 n^3 flops."""
    return _det(*_matrices('det', a, square=['a']))


@jax.custom_jvp
def _slogdet(a):
    return tuple(_call('logdet', a, results=[((), a.dtype), ((), _real(a.dtype))]))


@_slogdet.defjvp
def _slogdet_jvp(primals, tangents):
    sign, logabs = _slogdet(*primals)
    change = _trace(_product(_inv(*primals), tangents[0]))
    turn = sign * (1j * change.imag) if jnp.iscomplexobj(sign) else jnp.zeros_like(sign)
    return (sign, logabs), (turn.astype(sign.dtype), change.real)


@jax.jit
def slogdet(a: Array) -> SlogdetResult:
    """sign and log(abs(det)) of a (..., n, n): 0 and -infinity for a singular matrix, whose derivative is NaN. Cost: 2/3 n^3 flops."""
    return SlogdetResult(*_slogdet(*_matrices('slogdet', a, square=['a'])))


@jax.custom_jvp
def _cholesky(a):
    return jnp.tril(_potrf(a))


@_cholesky.defjvp
def _cholesky_jvp(primals, tangents):
    factor = _cholesky(*primals)
    middle = triangular_solve(factor, tangents[0], left_side=True, lower=True)
    middle = triangular_solve(factor, middle, lower=True, transpose_a=True, conjugate_a=True)
    middle = jnp.tril(middle) / (1 + jnp.eye(factor.shape[-1], dtype=factor.dtype))
    return factor, _product(factor, middle)


@functools.partial(jax.jit, static_argnames=('upper', 'symmetrize_input'))
def cholesky(a: Array, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The triangular factors of a (..., n, n), as of jnp.linalg.cholesky; NaN for a matrix that is not positive definite.

    symmetrize_input: (A + A^H) / 2 is factored, else the lower triangle is read. Cost: n^3 / 3 flops.
    """
    (a,) = _matrices('cholesky', a, square=['a'])
    factor = _cholesky((a + _h(a)) / 2 if symmetrize_input else a)
    return _h(factor) if upper else factor


@jax.custom_jvp
def _lu(a):
    return _getrf(a)


@_lu.defjvp
def _lu_jvp(primals, tangents):
    factors, pivots, permutation = _lu(*primals)
    m, n = factors.shape[-2:]
    k = min(m, n)
    # L and U, made square by an identity.
    low = jnp.tril(factors[..., :, :k], -1)
    low = jnp.concatenate([low, jnp.zeros((*low.shape[:-1], m - k), low.dtype)], axis=-1) + jnp.eye(m, dtype=low.dtype)
    up = jnp.triu(factors[..., :k, :])
    up = jnp.concatenate([up, jnp.zeros((*up.shape[:-2], n - k, n), up.dtype)], axis=-2)
    up = up + jnp.diag(jnp.where(jnp.arange(n) < k, 0, 1).astype(up.dtype))
    middle = jnp.take_along_axis(tangents[0], permutation[..., None], axis=-2)
    middle = triangular_solve(low, middle, left_side=True, lower=True, unit_diagonal=True)
    middle = triangular_solve(up, middle)
    tangent = _product(low, jnp.tril(middle, -1)) + _product(jnp.triu(middle), up)
    zeros = [np.zeros(x.shape, jax.dtypes.float0) for x in (pivots, permutation)]
    return (factors, pivots, permutation), (tangent, *zeros)


@jax.jit
def lu(a: Array) -> tuple[Array, Array, Array]:
    """L and U in one array, pivots and row permutation of a (..., m, n), counted from zero, as of jax.lax.linalg.lu.

    Cost: 2/3 n^3 flops for m = n.
    """
    return _lu(*_matrices('lu', a))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _qr(a, complete):
    m, n = a.shape[-2:]
    factors, tau = _geqrf(a)
    q = factors[..., :, : min(m, n)]
    if complete and m > n:
        q = jnp.concatenate([q, jnp.zeros((*q.shape[:-1], m - n), q.dtype)], axis=-1)
    return _orgqr(q, tau), jnp.triu(factors if complete else factors[..., : min(m, n), :])


@_qr.defjvp
def _qr_jvp(complete, primals, tangents):
    m, n = primals[0].shape[-2:]
    if complete and m > n:
        raise NotImplementedError("myriad.jax.qr: mode='complete' has no derivative for more rows than columns")
    q, r = _qr(primals[0], complete)
    k = min(m, n)
    da = tangents[0]
    ratio = triangular_solve(r[..., :, :k], da[..., :, :k])
    middle = _product(_h(q), ratio)
    skew = jnp.tril(middle, -1)
    skew = skew - _h(skew)
    if jnp.iscomplexobj(middle):
        skew = skew + 1j * jnp.eye(k, dtype=middle.dtype) * middle.imag
    dq = ratio + _product(q, skew - middle)
    dr = _product(middle - skew, r[..., :, :k])
    if n > k:
        rest = _product(_h(dq), primals[0][..., k:]) + _product(_h(q), da[..., k:])
        dr = jnp.concatenate([dr, rest], axis=-1)
    return (q, r), (dq, dr)


@functools.partial(jax.jit, static_argnames=('mode',))
def qr(a: Array, mode: str = 'reduced') -> Any:
    """Q and R of a (..., m, n), k = min(m, n): (..., m, k) and (..., k, n), 'complete': (..., m, m) and (..., m, n), 'r': R alone.

    Cost: 4 n^2 (m - n / 3) flops for m >= n.
    """
    if mode not in ('reduced', 'complete', 'r'):
        raise ValueError(f"myriad.jax.qr: mode must be 'reduced', 'complete' or 'r', is {mode!r}")
    q, r = _qr(*_matrices('qr', a), mode == 'complete')
    return r if mode == 'r' else QRResult(q, r)


def _reciprocal_differences(x):
    """1 / (x_j - x_i) at (i, j), and 0 on the diagonal."""
    eye = jnp.eye(x.shape[-1], dtype=x.dtype)
    return 1 / (x[..., None, :] - x[..., :, None] + eye) - eye


@jax.custom_jvp
def _eigh(a):
    return _syevd(a)


@_eigh.defjvp
def _eigh_jvp(primals, tangents):
    w, v = _eigh(*primals)
    middle = _product(_product(_h(v), tangents[0]), v)
    return (w, v), (_diagonal(middle).real, _product(v, _reciprocal_differences(w).astype(v.dtype) * middle))


@functools.partial(jax.jit, static_argnames=('symmetrize_input',))
def eigh(a: Array, *, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues (..., n), ascending, and eigenvectors of the Hermitian matrices a (..., n, n); NaN for one with NaN or infinity.

    symmetrize_input: those of (A + A^H) / 2, else the lower triangle is read. Derivatives need distinct eigenvalues. Cost: 9 n^3 flops.
    """
    (a,) = _matrices('eigh', a, square=['a'])
    return EighResult(*_eigh((a + _h(a)) / 2 if symmetrize_input else a))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _svd(a, full_matrices):
    return _gesvd(a, full_matrices)


@_svd.defjvp
def _svd_jvp(full_matrices, primals, tangents):
    m, n = primals[0].shape[-2:]
    if full_matrices and m != n:
        raise NotImplementedError('myriad.jax.svd: full_matrices=True has no derivative for matrices that are not square')
    u, s, vh = _svd(primals[0], full_matrices)
    v, da = _h(vh), tangents[0]
    scale = s[..., None, :].astype(u.dtype)
    middle = _product(_product(_h(u), da), v)
    reciprocals = _reciprocal_differences(s * s).astype(u.dtype)
    of_u, of_v = middle * scale, _t(scale) * middle
    of_u, of_v = reciprocals * (of_u + _h(of_u)), reciprocals * (of_v + _h(of_v))
    if jnp.iscomplexobj(u):
        of_u = of_u + jnp.eye(s.shape[-1], dtype=u.dtype) * (1j * _diagonal(middle).imag / s)[..., None, :]
    du, dv = _product(u, of_u), _product(v, of_v)
    if m > n:
        outside = _product(da, v)
        du = du + (outside - _product(u, _product(_h(u), outside))) / scale
    if n > m:
        outside = _product(_h(da), u)
        dv = dv + (outside - _product(v, _product(vh, outside))) / scale
    return (u, s, vh), (du, _diagonal(middle).real, _h(dv))


@jax.custom_jvp
def _svdvals(a):
    return _gesvd_values(a)


@_svdvals.defjvp
def _svdvals_jvp(primals, tangents):
    u, s, vh = _svd(primals[0], False)
    return s, jnp.sum((_h(u) * _t(_product(tangents[0], _h(vh)))).real, axis=-1)


@functools.partial(jax.jit, static_argnames=('full_matrices', 'compute_uv'))
def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """U, S, Vh with A = U diag(S) Vh, S descending, for a (..., m, n), or S alone; NaN for a matrix with NaN or infinity.

    U (..., m, m), Vh (..., n, n); not full_matrices: the first min(m, n) columns and rows. Derivatives need distinct singular values. Cost:
    8 m n^2 + 7 n^3 flops.
    """
    (a,) = _matrices('svd', a)
    return SVDResult(*_svd(a, full_matrices)) if compute_uv else _svdvals(a)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _pinv(a, rtol):
    u, s, vh = _gesvd(a, False)
    inverse = jnp.where(s > rtol * s[..., :1], 1 / s, jnp.where(jnp.isnan(s), s, 0))
    return _product(_h(vh) * inverse[..., None, :].astype(u.dtype), _h(u))


@_pinv.defjvp
def _pinv_jvp(rtol, primals, tangents):
    (a,), (da,) = primals, tangents
    p = _pinv(a, rtol)
    return p, _pinv_tangent(a, da, p)


def _pinv_tangent(a, da, p):
    """The derivative of the pseudoinverse where the rank does not change. Source: Golub and Pereyra 1973."""
    out = -_product(_product(p, da), p)
    left, right = _product(p, _h(p)), _product(_h(p), p)
    out = out + _product(left, _h(da) - _product(_product(_h(da), a), p))
    return out + _product(_h(da) - _product(p, _product(a, _h(da))), right)


def _cutoff(name, rtol, a):
    if rtol is None:
        return float(max(a.shape[-2:]) * np.finfo(a.dtype).eps)
    if not rtol >= 0:
        raise ValueError(f'myriad.jax.{name}: rtol must be None or not negative, is {rtol}')
    return float(rtol)


@functools.partial(jax.jit, static_argnames=('rtol',))
def pinv(a: Array, rtol: Optional[float] = None) -> Array:
    """The pseudoinverses of a (..., m, n). Singular values up to rtol times the largest count as zero; None: max(m, n) eps.

    Derivatives assume that the rank does not change. Cost: that of svd.
    """
    (a,) = _matrices('pinv', a)
    return _pinv(a, _cutoff('pinv', rtol, a))


@functools.partial(jax.jit, static_argnames=('rtol',))
def lstsq(a: Array, b: Array, rtol: Optional[float] = None) -> Array:
    """The X of least norm that minimizes |B - A X|, for a (..., m, n) of any rank and b (..., m, k) or (m,); rtol as in pinv.

    Leading axes are broadcast. Derivatives assume that the rank does not change. Cost: that of svd.
    """
    a, b, vector = _system('lstsq', a, b, -2, square=())
    x = _product(_pinv(a, _cutoff('lstsq', rtol, a)), b)
    return x[..., 0] if vector else x


# ---- Lowerings of JAX's primitives --------------------------------------------------------------
#
# Each takes the operands and parameters of a primitive and returns its results, or a text: why it is left to JAX.


def _is_default(algorithm):
    return algorithm is None or getattr(algorithm, 'name', None) == 'DEFAULT'


def _all_values(subset, k):
    return subset is None or tuple(subset) == (0, k)


def _lower_cholesky(a):
    return [_potrf(a)]


def _lower_lu(a):
    return list(_getrf(a))


def _lower_permutation(pivots, *, permutation_size):
    return _call('permutation', pivots, results=[((permutation_size,), np.int32)])


def _lower_geqrf(a):
    return list(_geqrf(a))


def _lower_householder_product(a, tau):
    return [_orgqr(a, tau)]


def _lower_ormqr(a, tau, c, *, left, transpose):
    trans = 'N' if not transpose else 'C' if jnp.iscomplexobj(c) else 'T'
    return _call('ormqr', a[..., : tau.shape[-1]], tau, c, results=[(c.shape[-2:], c.dtype)], side='L' if left else 'R', trans=trans)


def _lower_eigh(a, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    if not _is_default(algorithm):
        return 'algorithm'
    if not _all_values(subset_by_index, a.shape[-1]):
        return 'subset_by_index'
    return list(_syevd(a, 'L' if lower else 'U'))[::-1]


def _lower_svd(a, *, full_matrices, compute_uv, subset_by_index, algorithm):
    if not _is_default(algorithm):
        return 'algorithm'
    if not _all_values(subset_by_index, min(a.shape[-2:])):
        return 'subset_by_index'
    if not compute_uv:
        return [_gesvd_values(a)]
    u, s, vh = _gesvd(a, full_matrices)
    return [s, u, vh]


def _lower_triangular_solve(a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    return [_trsm(a, b, 'L' if left_side else 'R', 'L' if lower else 'U', 'T' if transpose_a else 'N', 'Y' if conjugate_a else 'N',
                  'U' if unit_diagonal else 'N')]


def _lower_tridiagonal(a, *, lower):
    n, real = a.shape[-1], _real(a.dtype)
    return _call('sytrd', a, results=[((n, n), a.dtype), ((n,), real), ((n - 1,), real), ((n - 1,), a.dtype)], uplo='L' if lower else 'U')


class _Operator(NamedTuple):
    lowering: Callable[..., Any]
    axes: int  # axes of one matrix of the first operand
    platforms: Sequence[str]


_ALL = ('cpu', 'cuda')
_OPERATORS = {
    'cholesky': _Operator(_lower_cholesky, 2, _ALL),
    'lu': _Operator(_lower_lu, 2, _ALL),
    'lu_pivots_to_permutation': _Operator(_lower_permutation, 1, ('cpu',)),
    'geqrf': _Operator(_lower_geqrf, 2, _ALL),
    'householder_product': _Operator(_lower_householder_product, 2, _ALL),
    'ormqr': _Operator(_lower_ormqr, 2, _ALL),
    'eigh': _Operator(_lower_eigh, 2, _ALL),
    'svd': _Operator(_lower_svd, 2, _ALL),
    'triangular_solve': _Operator(_lower_triangular_solve, 2, _ALL),
    'tridiagonal': _Operator(_lower_tridiagonal, 2, _ALL),
}
#: Primitives of jax.lax.linalg that enable() knows, as far as this JAX has them.
OPERATORS = tuple(name for name in _OPERATORS if hasattr(_linalg, f'{name}_p'))
#: Least number of matrices unless enable() is told another. Myriad computes a matrix in one thread; LAPACK may use more for a large one.
_DEFAULT_MIN_BATCH = {'cpu': 2, 'cuda': 2}

_lock = threading.Lock()
_replaced: list = []  # (rules of a platform, primitive, rule that was there or None, our rule)
_taken: collections.Counter = collections.Counter()
_declined: collections.Counter = collections.Counter()


def _reason(ctx, operator, max_n, min_batch):
    """Why these operands do not go to Myriad, or None."""
    first = ctx.avals_in[0]
    if not all(isinstance(size, int) for aval in (*ctx.avals_in, *ctx.avals_out) for size in aval.shape):
        return 'symbolic shapes'
    if ctx.module_context.lowering_parameters.for_export:
        return 'export'
    if operator.axes == 2 and any(aval.dtype not in _DTYPES for aval in ctx.avals_in):
        return f'dtype {first.dtype}'
    if any(0 in aval.shape for aval in (*ctx.avals_in, *ctx.avals_out)):
        return 'empty'
    if max_n is not None and any(size > max_n for size in first.shape[-operator.axes :]):
        return f'more than {max_n} rows or columns'
    if np.prod(first.shape[: -operator.axes], dtype=int) < min_batch:
        return f'fewer than {min_batch} matrices'
    return None


def _rule(name, before, max_n, min_batch):
    operator = _OPERATORS[name]
    known = {x.name for x in inspect.signature(operator.lowering).parameters.values() if x.kind is x.KEYWORD_ONLY}

    def rule(ctx, *operands, **params):
        reason = _reason(ctx, operator, max_n, min_batch) if params.keys() == known else 'parameters of another JAX'
        if reason is None:
            declined = []

            def lowering(*arrays):
                out = operator.lowering(*arrays, **params)
                if isinstance(out, str):
                    declined.append(out)
                    out = [jnp.zeros(aval.shape, aval.dtype) for aval in ctx.avals_out]
                return out

            out = mlir.lower_fun(lowering, multiple_results=True)(ctx, *operands)
            if not declined:
                _taken[name] += 1
                return out
            reason = declined[0]
        _declined[name, reason] += 1
        return before(ctx, *operands, **params)

    return rule


def enable(
    ops: Optional[Iterable[str]] = None,
    max_n: Optional[int] = None,
    min_batch: Optional[int] = None,
    devices: Iterable[str] = ('cpu', 'cuda'),
) -> None:
    """Lowers primitives of jax.lax.linalg to Myriad, until disable().

    ops: names out of OPERATORS; None: all. max_n: the most rows or columns; None: any. min_batch: the least number of matrices; None: 2.
    Calls that do not fit keep JAX's lowering. An earlier enable() ends. Compiled functions are forgotten, so they are compiled again when they
    are called; not so what `lower(...).compile()` has returned.
    """
    ops, devices = OPERATORS if ops is None else tuple(ops), tuple(devices)
    for name in ops:
        if name not in OPERATORS:
            raise ValueError(f'myriad.jax.enable: {name!r} is not one of {", ".join(OPERATORS)}')
    for device in devices:
        if device not in _DEFAULT_MIN_BATCH:
            raise ValueError(f'myriad.jax.enable: device {device!r} is not cpu or cuda')
    if (max_n is not None and max_n < 1) or (min_batch is not None and min_batch < 1):
        raise ValueError('myriad.jax.enable: max_n and min_batch must be positive')
    with _lock:
        _restore()
        for device in devices:
            rules = _rules_of_platforms[device]
            for name in ops:
                if device not in _OPERATORS[name].platforms:
                    continue
                primitive = getattr(_linalg, f'{name}_p')
                there = rules.get(primitive)
                before = there or _rules[primitive]
                rule = _rule(name, before.rule, max_n, _DEFAULT_MIN_BATCH[device] if min_batch is None else min_batch)
                mlir.register_lowering(primitive, rule, platform=device)
                _replaced.append((rules, primitive, there, rules[primitive]))
    jax.clear_caches()


def _restore():
    while _replaced:
        rules, primitive, there, ours = _replaced.pop()
        if rules.get(primitive) is not ours:
            continue  # replaced again by somebody else
        if there is None:
            del rules[primitive]
        else:
            rules[primitive] = there


def disable() -> None:
    """Takes enable() back."""
    with _lock:
        _restore()
    jax.clear_caches()


@contextlib.contextmanager
def enabled(*args: Any, **kwargs: Any) -> Iterator[None]:
    """enable() for a block; afterwards everything is JAX's."""
    enable(*args, **kwargs)
    try:
        yield
    finally:
        disable()


class Report(_Report):
    """Calls in programs that were compiled since the start or the last reset: {operator: {'taken': number, 'declined': {reason: number}}}.

    `calls`: how often Myriad's routines have run, {routine: number}, also those of the functions of this module.
    """

    calls: dict

    def __str__(self) -> str:
        calls = ', '.join(f'{name} {number}' for name, number in sorted(self.calls.items())) or 'none'
        return f'{super().__str__()}\ncalls: {calls}'


def report(reset: bool = False) -> Report:
    """How many calls were taken and declined when programs were compiled, and why; and how often Myriad's routines have run."""
    out = Report.of(_taken, _declined, reset)
    out.calls = _myriad.xla_calls(reset)
    return out
