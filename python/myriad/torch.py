"""PyTorch: aten's linear algebra on Myriad, and operators of its own.

    import myriad.torch
    myriad.torch.enable()            # unchanged programs: torch.linalg.* of batches run on Myriad
    ...
    print(myriad.torch.report())     # what was taken, and why other calls were not
    myriad.torch.disable()

    with myriad.torch.enabled(ops=['linalg_qr'], max_n=64): ...

    x = myriad.torch.solve(a, b)     # also inv, cholesky, eigh, svd

`enable` overrides the kernels of aten's operators for CPU and CUDA tensors; autograd, vmap and torch.compile reach them as before. A call
that does not fit goes to the kernel that was there. Nothing waits for the GPU beyond what torch itself waits for.

The operators myriad::* have autograd, vmap and fake tensors, so that torch.compile traces them; the functions have forward derivatives and
the transforms of torch.func, too. They never wait for a GPU and raise no error for a singular or indefinite matrix, whose result is NaN.
"""

import collections
import contextlib
import functools
import threading
import warnings

import torch
from torch._C._functorch import TransformType
from torch._functorch.pyfunctorch import retrieve_all_functorch_interpreters
from torch.autograd import forward_ad

from . import _myriad, _queues
from ._arrays import Torch, empty_of_torch, row_major
from ._report import Report

__all__ = ['OPERATORS', 'cholesky', 'disable', 'eigh', 'enable', 'enabled', 'inv', 'report', 'solve', 'svd']

_DTYPES = frozenset((torch.float32, torch.float64, torch.complex64, torch.complex128))
_PRODUCT_DTYPES = _DTYPES | frozenset((torch.float16, torch.bfloat16))


class _Declined(Exception):
    """A call that goes to torch's kernel; the argument says why."""


# ---- Queues -------------------------------------------------------------------------------------

_tensors = Torch(torch)


def _queue(x):
    """This thread's queue for a tensor: on the CPU with torch's number of threads, or on the current stream of its GPU."""
    return _queues.on_cpu(torch.get_num_threads()) if x.is_cpu else _tensors.queue(x)


# ---- Which calls fit ----------------------------------------------------------------------------


class _Limits:
    """The matrices of an operator that enable() takes, with the reasons to decline others. min_elements: the least number of elements of all
    matrices where they have up to _SMALL rows and columns."""

    def __init__(self, max_n=None, min_batch=1, min_elements=0):
        self.max_n = max_n
        self.min_batch = min_batch
        self.min_elements = min_elements
        self.too_large = f'more than {max_n} rows or columns'
        self.too_few = f'fewer than {min_batch} matrices'
        self.too_short = f'fewer than {min_elements} elements in matrices of up to {_SMALL} rows'


def _reason(x, limits):
    """Why these matrices do not go to Myriad, or None; the quick part of the checks, since torch's own calls are quick, too."""
    shape = x.shape
    if len(shape) < 2:
        return 'not matrices'
    m, n, size = shape[-2], shape[-1], x.numel()
    if size == 0:
        return 'empty'
    if size < limits.min_batch * m * n:
        return limits.too_few
    if limits.max_n is not None and (m > limits.max_n or n > limits.max_n):
        return limits.too_large
    if size < limits.min_elements and m <= _SMALL and n <= _SMALL:
        return limits.too_short
    return None


def _check(*tensors, dtypes=_DTYPES):
    """Declines unless Myriad takes these matrices."""
    if _myriad.plain_matrices(tensors, dtypes is _PRODUCT_DTYPES):
        return
    first = tensors[0]
    for x in tensors:
        if x.layout is not torch.strided:
            raise _Declined('not strided')
        if x.dtype not in dtypes:
            raise _Declined(f'dtype {x.dtype}')
        if x.dtype is not first.dtype or x.device != first.device:
            raise _Declined('dtypes or devices differ')
        if x.is_neg():
            raise _Declined('negated view')
        if x.ndim < 2:
            raise _Declined('not matrices')
        if x.numel() == 0:
            raise _Declined('empty')
        if x.device.type == 'cuda' and x.ndim > 3 and not _collapses(x):
            raise _Declined('leading axes without one stride')


def _check_square(*tensors):
    for x in tensors:
        if x.shape[-1] != x.shape[-2]:
            raise _Declined('not square')


def _check_system(A, B, left):
    """Declines unless A is square and B has as many rows, or columns."""
    _check_square(A)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise _Declined('shapes do not match')


def _check_reflectors(A, tau):
    """Declines unless the matrices of A have the factors tau, one for each column or fewer, of the same batch."""
    if tau.dtype is not A.dtype or tau.device != A.device or tau.layout is not torch.strided or tau.is_conj() or tau.is_neg():
        raise _Declined('tau')
    if tau.numel() == 0 or tau.ndim != A.ndim - 1 or tau.shape[:-1] != A.shape[:-2] or tau.shape[-1] > A.shape[-1]:
        raise _Declined('shape of tau')


def _collapses(x):
    """Whether one stride leads from each matrix to the next."""
    expected = None
    for size, stride in zip(reversed(x.shape[:-2]), reversed(x.stride()[:-2])):
        if size == 1:
            continue
        if expected is not None and stride != expected:
            return False
        expected = size * stride
    return True


def _range(x):
    """The addresses of a tensor's elements, from the first to behind the last."""
    first = last = 0
    for size, stride in zip(x.shape, x.stride()):
        if size == 0:
            return (0, 0)
        if stride < 0:
            first += (size - 1) * stride
        else:
            last += (size - 1) * stride
    at, size = x.data_ptr(), x.element_size()
    return (at + first * size, at + (last + 1) * size)


class _NewResults:
    """Tensors for the results of a call. Sizes are positive: _check declines other inputs."""

    @staticmethod
    def matrix(i, like, batch, m, n, dtype=None, by_rows=False):
        """Result i, an m-by-n matrix of each batch, column-major as torch's are, unless by_rows."""
        return empty_of_torch(torch, like, *row_major((*batch, m, n)) if by_rows else _by_columns(batch, m, n), dtype)

    @staticmethod
    def array(i, like, shape, dtype):
        """Result i, contiguous."""
        return empty_of_torch(torch, like, *row_major(shape), dtype)


class _Results:
    """The tensors of an out= call for its results."""

    def __init__(self, given, inputs):
        self._given = given
        self._copies = []
        if _myriad.apart(given, inputs):
            return
        ranges = [_range(x) for x in inputs]
        for out in given:
            if out.is_conj() or out.is_neg() or out.layout is not torch.strided:
                raise _Declined('out= is a view that cannot be written')
            if any(stride == 0 and size > 1 for size, stride in zip(out.shape, out.stride())):
                raise _Declined('elements of out= overlap')
            begin, end = _range(out)
            if any(begin < other_end and other_begin < end for other_begin, other_end in ranges):
                raise _Declined('out= overlaps an input')
            ranges.append((begin, end))

    def _take(self, i, like, shape, dtype, by_columns=False):
        out = self._given[i]
        if out.dtype is not dtype or out.device != like.device:
            raise _Declined('out= has another dtype or device')
        if out.shape != shape:
            if out.numel() > 0:
                raise _Declined('out= has another shape')
            if by_columns:
                out.resize_((*shape[:-2], shape[-1], shape[-2])).transpose_(-2, -1)
            else:
                out.resize_(shape)
        return out

    def matrix(self, i, like, batch, m, n, dtype=None, by_rows=False):
        """Result i, an m-by-n matrix of each batch."""
        out = self._take(i, like, (*batch, m, n), dtype or like.dtype, not by_rows)
        if out.is_contiguous() or out.mT.is_contiguous():
            return out
        return self._copied(out)

    def array(self, i, like, shape, dtype):
        """Result i."""
        out = self._take(i, like, shape, dtype)
        return out if out.is_contiguous() else self._copied(out)

    def _copied(self, out):
        copy = torch.empty_like(out, memory_format=torch.contiguous_format)
        self._copies.append((out, copy))
        return copy

    def finish(self):
        """Copies results to tensors of an out= call in whose memory order Myriad did not compute."""
        for out, copy in self._copies:
            out.copy_(copy)


def _declines_infinity(x):
    """torch's kernels raise an error for matrices with such values on the CPU, and do so again."""
    if x.is_cpu and not (_myriad.all_finite(x) if x.is_contiguous() else bool(x.isfinite().all())):
        raise _Declined('not finite')


def _raises(info, check_errors):
    if check_errors and bool(info.any()):
        raise _Declined('error to raise')


def _letter(upper):
    return 'U' if upper else 'L'


def _broadcast(a, b):
    """The leading axes of both. torch.broadcast_shapes takes 20 us."""
    shape, other = a.shape[:-2], b.shape[:-2]
    return shape if shape == other else torch.broadcast_shapes(shape, other)


def _batch(a, b):
    """The leading axes of tensors that are broadcast; declines where they do not match."""
    try:
        return _broadcast(a, b)
    except RuntimeError:
        raise _Declined('leading axes do not match') from None


@functools.lru_cache(1024)
def _by_columns(batch, m, n):
    """Shape and strides of column-major matrices."""
    shape, strides = row_major.__wrapped__((*batch, n, m))
    return (*shape[:-2], m, n), (*strides[:-2], 1, max(m, 1))


def _work(like, batch, m, n):
    """A column-major matrix for each batch. No view, since forward derivatives of views have rules of their own."""
    layout = _by_columns if all([type(size) is int for size in (*batch, m, n)]) else _by_columns.__wrapped__  # symbols have no hash
    return torch.empty_strided(*layout(batch, m, n), dtype=like.dtype, device=like.device)


# ---- The operators ------------------------------------------------------------------------------
#
# Each takes a _NewResults or _Results and the arguments of aten's operator. It declines before it writes, except for results of a call with errors, which
# torch's kernel then writes again.


def _cholesky_ex(results, A, *, upper=False, check_errors=False):
    _check(A)
    _check_square(A)
    n = A.shape[-1]
    L = results.matrix(0, A, A.shape[:-2], n, n)
    info = results.array(1, A, A.shape[:-2], torch.int32)
    L.copy_(A)
    _myriad.potrf(_queue(A), _letter(upper), L, info)
    _raises(info, check_errors)
    if upper:
        L.triu_()
    else:
        L.tril_()
    return L, info


def _lu_factor_ex(results, A, *, pivot=True, check_errors=False):
    _check(A)
    if not pivot and A.device.type == 'cpu':
        raise _Declined('pivot=False on the CPU')
    m, n = A.shape[-2:]
    batch = A.shape[:-2]
    LU = results.matrix(0, A, batch, m, n)
    pivots = results.array(1, A, (*batch, min(m, n)), torch.int32)
    info = results.array(2, A, batch, torch.int32)
    LU.copy_(A)
    if pivot:
        _myriad.getrf(_queue(A), LU, pivots, info)
    else:
        _myriad.getrf_nopiv(_queue(A), LU, info)
        pivots.copy_(torch.arange(1, min(m, n) + 1, dtype=torch.int32, device=A.device))
    _raises(info, check_errors)
    return LU, pivots, info


def _lu_solve(results, LU, pivots, B, *, left=True, adjoint=False):
    _check(LU, B)
    _check_system(LU, B, left)
    if pivots.dtype is not torch.int32 or pivots.device != LU.device or pivots.layout is not torch.strided or pivots.shape != LU.shape[:-1]:
        raise _Declined('pivots')
    # getrf interchanges row i with itself or a later one. On a GPU torch does not look at the values either: it would have to wait for them.
    if pivots.device.type == 'cpu':
        n = LU.shape[-1]
        if int(pivots.max()) > n or bool((pivots < torch.arange(1, n + 1, dtype=torch.int32)).any()):
            raise _Declined('values of pivots')
    X = results.matrix(0, B, _batch(LU, B), *B.shape[-2:], by_rows=not left)
    X.copy_(B)
    if left:
        _myriad.getrs(_queue(B), 'C' if adjoint else 'N', LU, pivots, X)
    elif adjoint:
        # X A^H = B: conj(A) X^T = B^T, and so A conj(X)^T = conj(B)^T
        _myriad.getrs(_queue(B), 'N', LU, pivots, X.mH)
    else:
        _myriad.getrs(_queue(B), 'T', LU, pivots, X.mT)
    return X


def _factors_transpose(result):
    """Whether these LU factors of _ODD are those of its transpose."""
    return float(result[0, 0]) == 2.0


# torch's gradients use the LU factors that these operators return. Depending on its version they are those of A, or of A^T where A is real and
# contiguous.
_ODD = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
_SOLVE_TRANSPOSES = _factors_transpose(torch.ops.aten._linalg_solve_ex(_ODD, _ODD)[1])
_DET_TRANSPOSES = _factors_transpose(torch.ops.aten._linalg_det(_ODD)[1])


def _solve_ex(results, A, B, *, left=True, check_errors=False):
    """The operator behind torch.linalg.solve."""
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vectors and B.ndim == 1:
        raise _Declined('one vector')
    columns = B.unsqueeze(-1) if vectors else B
    _check(A, columns)
    _check_system(A, columns, left)
    n, k = columns.shape[-2:]
    if vectors and not left:
        raise _Declined('vectors from the right')
    batch = _batch(A, columns)
    transposed = _SOLVE_TRANSPOSES and A.is_contiguous() and not A.is_complex()
    if vectors:  # torch stores them as the columns of the last two axes
        X = results.matrix(0, A, batch[:-1], batch[-1], n)
    else:
        X = results.matrix(0, A, batch, n, k, by_rows=not left)
    LU = results.matrix(1, A, A.shape[:-2], A.shape[-1], A.shape[-1])
    pivots = results.array(2, A, A.shape[:-1], torch.int32)
    info = results.array(3, A, A.shape[:-2], torch.int32)
    LU.copy_(A.mT if transposed else A)
    X.copy_(B)
    queue = _queue(A)
    _myriad.getrf(queue, LU, pivots, info)
    _raises(info, check_errors)
    # X A = B is A^T X^T = B^T.
    _myriad.getrs(queue, 'T' if transposed == left else 'N', LU, pivots, (X.unsqueeze(-1) if vectors else X) if left else X.mT)
    return X, LU, pivots, info


def _factors_for_det(results, first, A):
    """LU factors, their pivots, the diagonal of U, and the signs of the permutations."""
    _check(A)
    _check_square(A)
    n = A.shape[-1]
    LU = results.matrix(first, A, A.shape[:-2], n, n)
    pivots = results.array(first + 1, A, A.shape[:-1], torch.int32)
    LU.copy_(A.mT if _DET_TRANSPOSES and A.is_contiguous() and not A.is_complex() else A)
    _myriad.getrf(_queue(A), LU, pivots, None)
    interchanges = (pivots != torch.arange(1, n + 1, dtype=torch.int32, device=A.device)).sum(-1)
    return LU, pivots, LU.diagonal(dim1=-2, dim2=-1), 1 - 2 * (interchanges & 1)


def _det(results, A):
    LU, pivots, diagonal, sign = _factors_for_det(results, 1, A)
    return diagonal.prod(-1).mul_(sign), LU, pivots


def _slogdet(results, A):
    LU, pivots, diagonal, sign = _factors_for_det(results, 2, A)
    return diagonal.sgn().prod(-1).mul_(sign), diagonal.abs().log_().sum(-1), LU, pivots


def _inv_ex(results, A, *, check_errors=False):
    _check(A)
    _check_square(A)
    n = A.shape[-1]
    X = results.matrix(0, A, A.shape[:-2], n, n)
    info = results.array(1, A, A.shape[:-2], torch.int32)
    _myriad.inverse(_queue(A), A, X, info)
    _raises(info, check_errors)
    return X, info


def _qr(results, A, mode='reduced'):
    _check(A)
    m, n = A.shape[-2:]
    k = min(m, n)
    batch = A.shape[:-2]
    if mode not in ('reduced', 'complete', 'r'):
        raise _Declined('mode')
    columns = m if mode == 'complete' else k
    if mode == 'r':
        Q = results.array(0, A, (0,), A.dtype)
    else:
        Q = results.matrix(0, A, batch, m, columns)
    R = results.matrix(1, A, batch, columns, n)
    F = _work(A, batch, m, n)
    tau = torch.empty((*batch, k), dtype=A.dtype, device=A.device)
    F.copy_(A)
    queue = _queue(A)
    _myriad.geqrf(queue, F, tau)
    torch.triu(F[..., :columns, :], out=R) if R.is_contiguous() else R.copy_(F[..., :columns, :]).triu_()
    if mode != 'r':
        Q[..., :k].copy_(F[..., :k])
        _myriad.orgqr(queue, Q, tau)
    return Q, R


def _eigh(results, A, UPLO='L', compute_v=True):
    _check(A)
    _check_square(A)
    if UPLO not in ('L', 'U', 'l', 'u'):
        raise _Declined('UPLO')
    n = A.shape[-1]
    batch = A.shape[:-2]
    w = results.array(0, A, (*batch, n), A.dtype.to_real())
    if compute_v:
        V = results.matrix(1, A, batch, n, n)
        work = V
    else:
        V = results.array(1, A, (0,), A.dtype)
        work = _work(A, batch, n, n)
    work.copy_(A)
    _myriad.syevd(_queue(A), 'V' if compute_v else 'N', _letter(UPLO.upper() == 'U'), work, w, None)
    _declines_infinity(w)
    return w, V


def _svd(results, A, full_matrices=False, compute_uv=True, *, driver=None):
    _check(A)
    if driver is not None:
        raise _Declined('driver')
    m, n = A.shape[-2:]
    k = min(m, n)
    batch = A.shape[:-2]
    S = results.array(1, A, (*batch, k), A.dtype.to_real())
    F = _work(A, batch, m, n)
    F.copy_(A)
    if compute_uv:
        U = results.matrix(0, A, batch, m, m if full_matrices else k)
        Vh = results.matrix(2, A, batch, n if full_matrices else k, n, by_rows=A.device.type == 'cuda')
        _myriad.gesvd(_queue(A), 'A' if full_matrices else 'S', F, S, U, Vh, None)
    else:
        U = results.array(0, A, (0,), A.dtype)
        Vh = results.array(2, A, (0,), A.dtype)
        _myriad.gesvd(_queue(A), 'N', F, S, None, None, None)
    _declines_infinity(S)
    return U, S, Vh


def _solve_triangular(results, A, B, *, upper, left=True, unitriangular=False):
    _check(A, B)
    _check_system(A, B, left)
    X = results.matrix(0, B, _batch(A, B), *B.shape[-2:])
    X.copy_(B)
    _myriad.trsm(_queue(B), 'L' if left else 'R', _letter(upper), 'U' if unitriangular else 'N', 1.0, A, X)
    return X


def _cholesky_inverse(results, L, upper=False):
    _check(L)
    _check_square(L)
    n = L.shape[-1]
    X = results.matrix(0, L, L.shape[:-2], n, n)
    X.copy_(L)
    _myriad.potri(_queue(L), _letter(upper), X, None)
    if upper:
        X.triu_().add_(X.triu(1).mH)
    else:
        X.tril_().add_(X.tril(-1).mH)
    return X


def _cholesky_solve_helper(results, B, L, upper):
    _check(L, B)
    _check_system(L, B, True)
    if L.shape[:-2] != B.shape[:-2]:
        raise _Declined('leading axes do not match')
    X = results.matrix(0, B, B.shape[:-2], *B.shape[-2:])
    X.copy_(B)
    _myriad.potrs(_queue(B), _letter(upper), L, X)
    return X


def _geqrf(results, A):
    _check(A)
    m, n = A.shape[-2:]
    F = results.matrix(0, A, A.shape[:-2], m, n)
    tau = results.array(1, A, (*A.shape[:-2], min(m, n)), A.dtype)
    F.copy_(A)
    _myriad.geqrf(_queue(A), F, tau)
    return F, tau


def _householder_product(results, A, tau):
    _check(A)
    _check_reflectors(A, tau)
    if A.shape[-2] < A.shape[-1]:
        raise _Declined('more columns than rows')
    Q = results.matrix(0, A, A.shape[:-2], *A.shape[-2:])
    Q.copy_(A)
    _myriad.orgqr(_queue(A), Q, tau)
    return Q


def _ormqr(results, A, tau, C, left=True, transpose=False):
    _check(A, C)
    _check_reflectors(A, tau)
    if C.shape[:-2] != A.shape[:-2] or C.shape[-2 if left else -1] != A.shape[-2] or tau.shape[-1] > A.shape[-2]:
        raise _Declined('shapes do not match')
    X = results.matrix(0, C, C.shape[:-2], *C.shape[-2:])
    X.copy_(C)
    # The k reflectors are in the first columns.
    _myriad.ormqr(_queue(C), 'L' if left else 'R', ('C' if C.is_complex() else 'T') if transpose else 'N', A[..., : tau.shape[-1]], tau, X)
    return X


def _check_product(A, B):
    if A.ndim != 3 or B.ndim != 3 or A.shape[0] != B.shape[0] or A.shape[2] != B.shape[1]:
        raise _Declined('shapes do not match')


def _bmm(results, A, B):
    _check(A, B, dtypes=_PRODUCT_DTYPES)
    _check_product(A, B)
    if A.dtype is torch.float32 and A.device.type == 'cuda' and torch.get_float32_matmul_precision() != 'highest':
        raise _Declined('TF32 is allowed')
    C = results.matrix(0, A, A.shape[:-2], A.shape[-2], B.shape[-1], by_rows=True)
    _myriad.gemm(_queue(A), 1.0, A, B, 0.0, C)
    return C


def _baddbmm(results, C, A, B, *, beta=1, alpha=1):
    _check(A, B, dtypes=_PRODUCT_DTYPES)
    _check_product(A, B)
    try:
        C = C.expand(A.shape[0], A.shape[1], B.shape[2])
    except RuntimeError:
        raise _Declined('shapes do not match') from None
    _check(A, C, dtypes=_PRODUCT_DTYPES)
    if A.dtype is torch.float32 and A.device.type == 'cuda' and torch.get_float32_matmul_precision() != 'highest':
        raise _Declined('TF32 is allowed')
    X = results.matrix(0, A, A.shape[:-2], A.shape[-2], B.shape[-1], by_rows=True)
    if beta != 0:
        X.copy_(C)
    _myriad.gemm(_queue(A), complex(alpha) if A.is_complex() else float(alpha), A, B, complex(beta) if A.is_complex() else float(beta), X)
    return X


#: Operators of aten that enable() knows: the name, our function, the overload with out=, and the names of its results there.
_OPERATORS = {
    'linalg_cholesky_ex': (_cholesky_ex, 'L', ('L', 'info')),
    'linalg_lu_factor_ex': (_lu_factor_ex, 'out', ('LU', 'pivots', 'info')),
    'linalg_lu_solve': (_lu_solve, 'out', ('out',)),
    '_linalg_solve_ex': (_solve_ex, None, ()),
    '_linalg_det': (_det, None, ()),
    '_linalg_slogdet': (_slogdet, None, ()),
    'linalg_inv_ex': (_inv_ex, 'inverse', ('inverse', 'info')),
    'linalg_qr': (_qr, 'out', ('Q', 'R')),
    '_linalg_eigh': (_eigh, 'eigenvalues', ('eigenvalues', 'eigenvectors')),
    '_linalg_svd': (_svd, 'U', ('U', 'S', 'Vh')),
    'linalg_solve_triangular': (_solve_triangular, 'out', ('out',)),
    'cholesky_inverse': (_cholesky_inverse, 'out', ('out',)),
    '_cholesky_solve_helper': (_cholesky_solve_helper, None, ()),
    'geqrf': (_geqrf, 'a', ('a', 'tau')),
    'linalg_householder_product': (_householder_product, 'out', ('out',)),
    'ormqr': (_ormqr, 'out', ('out',)),
    'bmm': (_bmm, 'out', ('out',)),
    'baddbmm': (_baddbmm, 'out', ('out',)),
}
OPERATORS = tuple(_OPERATORS)
#: Operators whose overload with out= stays torch's on the CPU: torch's own solve, inv and det call it, and for few matrices, which are not
#: taken, a detour through Python would take longer than the rest.
_INNER = ('linalg_lu_factor_ex', 'linalg_lu_solve')
#: Operators that enable() takes unless it is told others. Measured on one CPU thread, where the others are slower than torch for some
#: sizes, and on an H200, where products were not measured.
_DEFAULT = {
    'cpu': tuple(name for name in OPERATORS if name not in ('_linalg_eigh', 'linalg_solve_triangular', 'ormqr', 'bmm', 'baddbmm')),
    'cuda': tuple(name for name in OPERATORS if name not in ('bmm', 'baddbmm')),
}
#: Least number of matrices unless enable() is told another. A call through Python costs about as much as 100 small matrices.
_DEFAULT_MIN_BATCH = {'cpu': 100, 'cuda': 2}
#: Operators whose calls take the host longer than torch's. The host decides for small matrices on a GPU unless there are many: at 4 TB/s
#: 2^22 numbers in double precision are read, copied and written in 30 us, about the time that torch's calls take the host.
_LONG_CALLS = ('linalg_cholesky_ex', 'linalg_lu_factor_ex')
_SMALL = 16
_MIN_ELEMENTS = 1 << 22

# ---- Routing ------------------------------------------------------------------------------------

_lock = threading.Lock()
_libraries = []
_taken = collections.Counter()
_declined = collections.Counter()


def _router(name, overload, key, limits):
    ours, _, names = _OPERATORS[name]
    base = torch.library.get_kernel(f'aten::{name}.{overload}' if overload else f'aten::{name}', key)
    matrices = 1 if name == 'baddbmm' else 0  # the first argument of baddbmm may be broadcast

    def into(*args, **kwargs):
        given = tuple([kwargs.pop(word) for word in names])
        results = _Results(given, tuple([x for x in args if isinstance(x, torch.Tensor)]))
        ours(results, *args, **kwargs)
        results.finish()
        return given if len(given) > 1 else given[0]

    compute = into if overload else functools.partial(ours, _NewResults)

    def route(keys, *args, **kwargs):
        reason = _reason(args[matrices], limits)
        if reason is None:
            try:
                out = compute(*args, **kwargs)
                _taken[name] += 1
                return out
            except _Declined as declined:
                reason = str(declined)
            except (TypeError, ValueError) as refused:  # such as windows that overlap
                reason = f'refused: {refused}'
            except _myriad.Unavailable as unavailable:  # such as a GPU without kernels
                reason = f'unavailable: {unavailable}'
        _declined[name, reason] += 1
        return base.call_boxed(keys, *args, **kwargs)

    return route


def enable(ops=None, max_n=None, min_batch=None, devices=('cpu', 'cuda')):
    """Routes operators of aten to Myriad, until disable().

    ops: names out of OPERATORS; None: those that were faster than torch's on a CPU, on GPUs all but products. max_n: the most rows or
    columns; None: any. min_batch: the least number of matrices; None: 100 on the CPU, 2 on a GPU. Without ops and min_batch, cholesky and
    lu_factor of few matrices of up to 16 rows are torch's on a GPU. Calls that do not fit go to torch. An earlier enable() ends.
    """
    for name in () if ops is None else ops:
        if name not in _OPERATORS:
            raise ValueError(f'myriad.torch.enable: {name!r} is not one of {", ".join(OPERATORS)}')
    for device in devices:
        if device not in _DEFAULT:
            raise ValueError(f'myriad.torch.enable: device {device!r} is not cpu or cuda')
    if (max_n is not None and max_n < 1) or (min_batch is not None and min_batch < 1):
        raise ValueError('myriad.torch.enable: max_n and min_batch must be positive')
    disable()
    with _lock:
        try:
            for device in devices:
                if device == 'cuda' and not torch.cuda.is_available():
                    continue
                key = device.upper()
                of_all = _Limits(max_n, _DEFAULT_MIN_BATCH[device] if min_batch is None else min_batch)
                of_long = _Limits(max_n, of_all.min_batch, _MIN_ELEMENTS if device == 'cuda' and ops is None and min_batch is None else 0)
                library = torch.library.Library('aten', 'IMPL', key)
                _libraries.append(library)
                with warnings.catch_warnings():
                    warnings.simplefilter('ignore')  # torch warns of every override
                    for name in _DEFAULT[device] if ops is None else ops:
                        for overload in ('', _OPERATORS[name][1]):
                            if overload is not None and not (overload and device == 'cpu' and name in _INNER):
                                route = _router(name, overload, key, of_long if name in _LONG_CALLS else of_all)
                                library.impl(f'{name}.{overload}' if overload else name, route, key, with_keyset=True, allow_override=True)
        except BaseException:
            _destroy()
            raise


def _destroy():
    while _libraries:
        _libraries.pop()._destroy()


def disable():
    """Takes enable() back."""
    with _lock:
        _destroy()


@contextlib.contextmanager
def enabled(*args, **kwargs):
    """enable() for a block; afterwards everything is torch's."""
    enable(*args, **kwargs)
    try:
        yield
    finally:
        disable()


def report(reset=False):
    """How many calls were taken and declined, and why, since the start of the program or the last reset."""
    return Report.of(_taken, _declined, reset)


# ---- Operators of our own -----------------------------------------------------------------------

_own = torch.library.Library('myriad', 'DEF')
_own.define('solve(Tensor a, Tensor b) -> Tensor', tags=(torch.Tag.pt2_compliant_tag,))
_own.define('inv(Tensor a) -> Tensor', tags=(torch.Tag.pt2_compliant_tag,))
_own.define('cholesky(Tensor a) -> Tensor', tags=(torch.Tag.pt2_compliant_tag,))
_own.define('eigh(Tensor a) -> (Tensor, Tensor)', tags=(torch.Tag.pt2_compliant_tag,))
_own.define('svd(Tensor a) -> (Tensor, Tensor, Tensor)', tags=(torch.Tag.pt2_compliant_tag,))


def solve(a, b):
    """X with A X = B, for a (..., n, n) and b (..., n, k); the leading axes are broadcast. A singular A gives NaN."""
    return _call('solve', a, b)


def inv(a):
    """The inverses of a (..., n, n); NaN for a singular matrix."""
    return _call('inv', a)


def cholesky(a):
    """The lower triangular L with A = L L^H, of the lower triangles of a (..., n, n); NaN for a matrix that is not positive definite."""
    return _call('cholesky', a)


def eigh(a):
    """Eigenvalues, ascending, and eigenvectors of the Hermitian matrices a (..., n, n), of which the lower triangles are read."""
    return _call('eigh', a)


def svd(a):
    """U, S, Vh with A = U diag(S) Vh, for a (..., m, n): the first min(m, n) columns of U and rows of Vh."""
    return _call('svd', a)


def _observed():
    """Whether a mode of torch, its tracer or its profiler sees calls of operators."""
    c = torch._C
    return c._len_torch_dispatch_stack() or c._len_torch_function_stack() or c._is_tracing() or torch.autograd._profiler_enabled()


def _call(name, *tensors):
    # The operators have backward derivatives only, which torch.func does not know. autograd.Function has all, but is slower and not traced as
    # one operator.
    compiling = torch.compiler.is_compiling()
    if not torch._C._are_functorch_transforms_active() and (compiling or forward_ad._current_level < 0):
        # The operator would only call its implementation, in 20 us, if there are neither derivatives nor observers.
        if not (compiling or _observed()) and _myriad.ready_tensors(list(tensors), torch.Tensor):
            return _implementations[name](*tensors)
        return getattr(torch.ops.myriad, name)(*tensors)
    if compiling:
        raise NotImplementedError(f'myriad.torch.{name}: torch.compile of transforms of torch.func is not supported without graph breaks')
    if sum(level.key() == TransformType.Jvp for level in retrieve_all_functorch_interpreters()) > 1:
        raise NotImplementedError(f'myriad.torch.{name}: torch.func takes a forward derivative of a forward one for zero; use hessian or jacrev')
    return _functions[name].apply(*tensors)


def _require(*tensors, square=True):
    for x in tensors:
        if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
            raise ValueError(f'needs {"square " if square else ""}matrices, got an array of shape {tuple(x.shape)}')
        if x.dtype not in _DTYPES:
            raise TypeError(f'needs float32, float64, complex64 or complex128, got {x.dtype}')
        if x.dtype is not tensors[0].dtype or x.device != tensors[0].device:
            raise TypeError('needs tensors of one dtype and device')


def _readable(x):
    """The tensor as Myriad reads it: without negated views, and on a GPU with one stride between matrices."""
    x = x.resolve_neg()
    return x if x.is_cpu or x.ndim <= 3 or _collapses(x) else x.contiguous()


def _solution_shape(a, b):
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f'myriad.solve: a has {a.shape[-1]} columns, b has {b.shape[-2]} rows')
    return _broadcast(a, b)


def _solve_impl(a, b):
    _require(a)
    _require(a, b, square=False)
    batch = _solution_shape(a, b)
    x = _work(b, batch, *b.shape[-2:])
    if x.numel() > 0:
        a, b = (_readable(y if y.shape[:-2] == batch else y.expand(*batch, *y.shape[-2:])) for y in (a, b))
        _myriad.solve(_queue(a), a, b, x, None)
    return x


def _inv_impl(a):
    _require(a)
    x = _work(a, a.shape[:-2], *a.shape[-2:])
    if x.numel() > 0:
        _myriad.inverse(_queue(a), _readable(a), x, None)
    return x


def _cholesky_impl(a):
    _require(a)
    batch = a.shape[:-2]
    x = _work(a, batch, *a.shape[-2:])
    info = torch.empty(batch, dtype=torch.int32, device=a.device)
    x.copy_(a)
    if x.numel() == 0:
        return x
    _myriad.potrf(_queue(a), 'L', x, info)
    return x.tril_().masked_fill_((info > 0)[..., None, None], float('nan'))


def _eigh_impl(a):
    _require(a)
    v = _work(a, a.shape[:-2], *a.shape[-2:])
    w = torch.empty(a.shape[:-1], dtype=a.dtype.to_real(), device=a.device)
    v.copy_(a)
    if v.numel() > 0:
        _myriad.syevd(_queue(a), 'V', 'L', v, w, None)
    return w, v


def _svd_impl(a):
    _require(a, square=False)
    m, n = a.shape[-2:]
    k, batch = min(m, n), a.shape[:-2]
    u, s, vh = _work(a, batch, m, k), torch.empty((*batch, k), dtype=a.dtype.to_real(), device=a.device), _work(a, batch, k, n)
    if a.numel() > 0:
        f = _work(a, batch, m, n)
        f.copy_(a)
        _myriad.gesvd(_queue(a), 'S', f, s, u, vh, None)
    return u, s, vh


def _solve_fake(a, b):
    return _work(b, _solution_shape(a, b), *b.shape[-2:])


def _square_fake(a):
    return _work(a, a.shape[:-2], *a.shape[-2:])


def _eigh_fake(a):
    return a.new_empty(a.shape[:-1], dtype=a.dtype.to_real()), _square_fake(a)


def _svd_fake(a):
    m, n = a.shape[-2:]
    k, batch = min(m, n), a.shape[:-2]
    return _work(a, batch, m, k), a.new_empty((*batch, k), dtype=a.dtype.to_real()), _work(a, batch, k, n)


# Gradients, in terms of the same operators, so that they have gradients, too.


def _solve_setup(ctx, inputs, output):
    a, b = inputs
    ctx.save_for_backward(a, output)
    ctx.save_for_forward(a, output)
    ctx.b_shape = b.shape


def _solve_backward(ctx, g):
    a, x = ctx.saved_tensors
    gb = solve(a.mH, g)
    ga = -gb @ x.mH if ctx.needs_input_grad[0] else None
    return ga if ga is None else ga.sum_to_size(a.shape), gb.sum_to_size(ctx.b_shape)


def _save_output(ctx, inputs, output):
    output = output if isinstance(output, tuple) else (output,)
    ctx.save_for_backward(*output)
    ctx.save_for_forward(*output)


def _inv_backward(ctx, g):
    (x,) = ctx.saved_tensors
    return -x.mH @ g @ x.mH


def _cholesky_backward(ctx, g):
    (l,) = ctx.saved_tensors
    middle = (l.mH @ g).tril()
    middle = 0.5 * (middle + middle.tril(-1).mH)
    middle = torch.linalg.solve_triangular(l.mH, middle, upper=True)
    return torch.linalg.solve_triangular(l, middle, upper=False, left=False)


def _differences(x):
    """x_j - x_i at (i, j), and 1 on the diagonal."""
    out = x.unsqueeze(-2) - x.unsqueeze(-1)
    return out + torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)


def _eigh_backward(ctx, gw, gv):
    w, v = ctx.saved_tensors
    middle = (v.mH @ gv) / _differences(w)
    return v @ (middle - torch.diag_embed(middle.diagonal(dim1=-2, dim2=-1)) + torch.diag_embed(gw)) @ v.mH


def _svd_backward(ctx, gu, gs, gvh):
    u, s, vh = ctx.saved_tensors
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    of_u, of_v = u.mH @ gu, vh @ gvh.mH
    of_u, of_v = of_u - of_u.mH, of_v - of_v.mH
    middle = (of_u * s.unsqueeze(-2) + s.unsqueeze(-1) * of_v) / _differences(s * s)
    middle = middle - torch.diag_embed(middle.diagonal(dim1=-2, dim2=-1)) + torch.diag_embed(gs)
    if u.is_complex():
        middle = middle + torch.diag_embed(of_u.diagonal(dim1=-2, dim2=-1) / (2 * s))
    out = u @ middle @ vh
    if m > k:
        outside = gu / s.unsqueeze(-2)
        out = out + (outside - u @ (u.mH @ outside)) @ vh
    if n > k:
        outside = gvh / s.unsqueeze(-1)
        out = out + u @ (outside - (outside @ vh.mH) @ vh)
    return out


# Forward derivatives; da and db are tangents.


def _solve_jvp(ctx, da, db):
    a, x = ctx.saved_tensors
    right = 0 if db is None else db
    if da is not None:
        right = right - da @ x
    return solve(a, right)


def _inv_jvp(ctx, da):
    (x,) = ctx.saved_tensors
    return -x @ da @ x


def _cholesky_jvp(ctx, da):
    (l,) = ctx.saved_tensors
    middle = torch.linalg.solve_triangular(l, (da + da.mH) / 2, upper=False)
    middle = torch.linalg.solve_triangular(l.mH, middle, upper=True, left=False)
    middle = middle.tril()
    return l @ (middle - torch.diag_embed(middle.diagonal(dim1=-2, dim2=-1)) / 2)


def _eigh_jvp(ctx, da):
    w, v = ctx.saved_tensors
    middle = v.mH @ da @ v
    diagonal = middle.diagonal(dim1=-2, dim2=-1)
    return diagonal.real if diagonal.is_complex() else diagonal.clone(), v @ ((middle - torch.diag_embed(diagonal)) / _differences(w))


def _svd_jvp(ctx, da):
    u, s, vh = ctx.saved_tensors
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    middle = u.mH @ da @ vh.mH
    diagonal = middle.diagonal(dim1=-2, dim2=-1)
    of_u, of_v = middle * s.unsqueeze(-2), s.unsqueeze(-1) * middle
    differences = _differences(s * s)
    of_u, of_v = (of_u + of_u.mH) / differences, (of_v + of_v.mH) / differences
    of_u = of_u - torch.diag_embed(of_u.diagonal(dim1=-2, dim2=-1))
    of_v = of_v - torch.diag_embed(of_v.diagonal(dim1=-2, dim2=-1))
    if u.is_complex():
        of_u = of_u + torch.diag_embed(1j * diagonal.imag / s)
    du, dvh = u @ of_u, of_v.mH @ vh
    if m > k:
        outside = da @ vh.mH
        du = du + (outside - u @ (u.mH @ outside)) / s.unsqueeze(-2)
    if n > k:
        outside = u.mH @ da
        dvh = dvh + (outside - (outside @ vh.mH) @ vh) / s.unsqueeze(-1)
    return du, diagonal.real if diagonal.is_complex() else diagonal.clone(), dvh


def _vmap_one(operator):
    def of_batch(info, dims, a):
        out = operator(a.movedim(dims[0], 0))
        return out, (0,) * len(out) if isinstance(out, tuple) else 0

    return of_batch


def _vmap_solve(info, dims, a, b):
    # The mapped axis becomes the first of all; the others are broadcast between it and the matrix.
    rank = max(x.ndim - (d is not None) for x, d in zip((a, b), dims))

    def ready(x, d):
        if d is None:
            return x
        x = x.movedim(d, 0)
        return x.reshape(x.shape[0], *(1,) * (rank + 1 - x.ndim), *x.shape[1:])

    return torch.ops.myriad.solve(ready(a, dims[0]), ready(b, dims[1])), 0


def _function(name, setup, backward, jvp):
    """The autograd.Function of an operator, for torch.func and forward derivatives."""
    operator = getattr(torch.ops.myriad, name)
    members = {'forward': operator.default, 'setup_context': setup, 'backward': backward, 'jvp': jvp}
    members = {word: staticmethod(member) for word, member in members.items()}
    return type(f'_{name}', (torch.autograd.Function,), {'generate_vmap_rule': True, '__module__': __name__, **members})


_implementations, _functions = {}, {}
for _name, _impl, _fake, _setup, _backward, _jvp, _vmap in (
    ('solve', _solve_impl, _solve_fake, _solve_setup, _solve_backward, _solve_jvp, _vmap_solve),
    ('inv', _inv_impl, _square_fake, _save_output, _inv_backward, _inv_jvp, _vmap_one(torch.ops.myriad.inv)),
    ('cholesky', _cholesky_impl, _square_fake, _save_output, _cholesky_backward, _cholesky_jvp, _vmap_one(torch.ops.myriad.cholesky)),
    ('eigh', _eigh_impl, _eigh_fake, _save_output, _eigh_backward, _eigh_jvp, _vmap_one(torch.ops.myriad.eigh)),
    ('svd', _svd_impl, _svd_fake, _save_output, _svd_backward, _svd_jvp, _vmap_one(torch.ops.myriad.svd)),
):
    _implementations[_name] = _impl
    for _key in ('CPU', 'CUDA'):
        _own.impl(_name, _impl, _key)
    torch.library.register_fake(f'myriad::{_name}', _fake, lib=_own)
    torch.library.register_autograd(f'myriad::{_name}', _backward, setup_context=_setup, lib=_own)
    torch.library.register_vmap(f'myriad::{_name}', _vmap, lib=_own)
    _functions[_name] = _function(_name, _setup, _backward, _jvp)
