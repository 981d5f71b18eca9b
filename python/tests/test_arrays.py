"""Arrays go in and out in place, whatever their strides, or are refused with the reason."""
import inspect
import threading

import numpy as np
import pytest

import myriad
from common import TYPES, close, matrices, random
from myriad import _arrays, _myriad, _queues, batched, lapack, linalg


def layouts(a):
    """Views with the values of a (p, q, n, n): packed, transposed, strided, interleaved, with permuted and reversed leading axes."""
    p, q, n, _ = a.shape

    def filled(view):
        view[...] = a
        return view

    dtype = a.dtype
    yield 'rows', filled(np.empty((p, q, n, n), dtype))
    yield 'columns', filled(np.empty((p, q, n, n), dtype).swapaxes(-1, -2))
    yield 'block', filled(np.empty((p, q, n + 3, n + 2), dtype)[..., 1:-2, 2:])
    yield 'steps', filled(np.empty((p, q, 3 * n, 2 * n), dtype)[..., ::3, ::2])
    yield 'interleaved', filled(np.moveaxis(np.empty((n, n, p, q), dtype), (0, 1), (2, 3)))
    yield 'permuted', filled(np.empty((q, p, n, n), dtype).swapaxes(0, 1))
    yield 'padded', filled(np.empty((p, q + 2, n, n), dtype)[:, 1:-1])
    yield 'reversed', filled(np.empty((p, q, n, n), dtype)[::-1, ::-1])
    yield 'between', filled(np.moveaxis(np.empty((p, n, q, n), dtype), 2, 1))


@pytest.mark.parametrize('dtype', TYPES)
def test_layouts(dtype):
    a = matrices((3, 4), 5, dtype)
    b = random((3, 4, 5, 2), dtype)
    want, inverse = linalg.solve(a, b), linalg.inv(a)
    for name, x in layouts(a):
        before = x.copy()
        assert np.array_equal(linalg.solve(x, b), want), name  # the same bits
        assert np.array_equal(linalg.inv(x), inverse), name
        assert np.array_equal(x, before), name
        if name == 'between':  # the library takes rows of another matrix between two of its own for an overlap behind pointers
            with pytest.raises(ValueError, match='overlap'):
                lapack.getrf(x, out=x)
            continue
        lu, ipiv, info = lapack.getrf(x, out=x)  # in place
        assert lu is x and not info.any()
        assert np.array_equal(x, lapack.getrf(a).lu), name


def test_in_place_touches_only_the_matrices():
    whole = random((4, 9, 9))
    before = whole.copy()
    part = whole[::2, 2:7, 1:6]
    lapack.getrf(part, out=part)
    mask = np.ones(whole.shape, bool)
    mask[::2, 2:7, 1:6] = False
    assert np.array_equal(whole[mask], before[mask]) and not np.array_equal(part, before[::2, 2:7, 1:6])


def test_copied_where_needed():
    a = matrices((3,), 4, 'f8')
    for x in (a[:, ::-1, ::-1][:, ::-1, ::-1], a[:, ::-1][:, :, ::-1][:, ::-1, ::-1], a.astype('>f8'), unaligned(a)):
        close(linalg.inv(x), linalg.inv(a))
    flipped = a[:, ::-1]
    close(linalg.inv(flipped), linalg.inv(flipped.copy()))
    lu = lapack.getrf(flipped).lu
    close(lu, lapack.getrf(flipped.copy()).lu)


def test_overlapping_inputs():
    signal, windows = random(40), np.lib.stride_tricks.sliding_window_view
    hankel = windows(signal, 6)[:6]
    images = windows(random((9, 9)), (4, 4))
    assert not hankel.flags.owndata
    for x in (hankel, images, images[0], windows(random((5, 12)), 6, axis=1)[:, :6], np.broadcast_to(hankel, (3, 6, 6))):
        b = random((*x.shape[:-1], 2))
        close(linalg.inv(x), linalg.inv(x.copy()))
        close(linalg.solve(x, b), linalg.solve(x.copy(), b))
        close(linalg.det(x), linalg.det(x.copy()))
        close(linalg.pinv(x), linalg.pinv(x.copy()))
        close(linalg.matmul(x, x), linalg.matmul(x.copy(), x.copy()))
        close(lapack.getrf(x).lu, lapack.getrf(x.copy()).lu)
    with pytest.raises(ValueError, match='getrf: out has elements that overlap'):
        lapack.getrf(hankel.copy(), out=windows(signal, 6, writeable=True)[:6])


def unaligned(a):
    x = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    x[...] = a
    return x


def test_refused_in_place():
    a = matrices((3,), 4, 'f8')
    info = np.empty(3, 'i4')
    with pytest.raises(ValueError, match='getrf: out has negative strides'):
        lapack.getrf(a, out=a[:, ::-1])
    with pytest.raises(TypeError, match='getrf: out has elements of type >f8; needs float64'):
        lapack.getrf(a, out=a.astype('>f8'))
    with pytest.raises(ValueError, match='getrf: out is not aligned'):
        lapack.getrf(a, out=unaligned(a))
    frozen = a.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match='potrf: out is read-only'):
        lapack.potrf(frozen, out=frozen)
    shared = np.broadcast_to(a[0].copy(), (3, 4, 4))
    with pytest.raises(ValueError, match='read-only'):
        lapack.potrf(shared, out=shared)
    queue = _queues.on_cpu()
    with pytest.raises(TypeError, match='potrf: a has elements in the other byte order .*newbyteorder'):
        _myriad.potrf(queue, 'L', a.astype('>f8'), info)
    writable = np.lib.stride_tricks.as_strided(a, a.shape, (0, *a.strides[1:]))
    with pytest.raises(ValueError, match='potrf: argument 3 .*overlap'):
        _myriad.potrf(queue, 'L', writable, info)
    with pytest.raises(ValueError, match=r'potrf: info has leading axes \(4,\), which do not fit \(3,\) of a'):
        _myriad.potrf(queue, 'L', a, np.empty(4, 'i4'))
    with pytest.raises(ValueError, match='info must be contiguous'):
        _myriad.potrf(queue, 'L', a, np.empty(6, 'i4')[::2])
    with pytest.raises(ValueError, match='info has elements of type float32; needs int32'):
        _myriad.potrf(queue, 'L', a, np.empty(3, 'f4'))
    with pytest.raises(ValueError, match='potrf: a has 1 axes; needs at least 2'):
        _myriad.potrf(queue, 'L', a[0, 0], None)
    with pytest.raises(TypeError, match='potrf: a has elements of type B; supported are float32'):
        _myriad.potrf(queue, 'L', np.ones((2, 2), 'u1'), None)
    with pytest.raises(TypeError, match='potrf: a is not an array: its type, list'):
        _myriad.potrf(queue, 'L', [[1.0]], None)
    with pytest.raises(ValueError, match='potrf: argument 1 .uplo.'):
        _myriad.potrf(queue, 'X', a, None)
    with pytest.raises(ValueError, match='needs|must'):
        lapack.getrs(lapack.getrf(a).lu, np.zeros((3, 2), 'i4'), a)


def test_broadcast():
    a, b = matrices((3, 1), 4, 'f8'), random((5, 4, 2))
    x = linalg.solve(a, b)
    assert x.shape == (3, 5, 4, 2)
    for i in range(3):
        for j in range(5):
            assert np.array_equal(x[i, j], linalg.solve(a[i, 0], b[j]))
    lu, ipiv, info = lapack.getrf(a)
    assert np.array_equal(lapack.getrs(lu, ipiv, b), x)


class Exporter:
    """An array of a library that has __dlpack__ only."""

    def __init__(self, x, versioned=True):
        self.x, self.versioned = x, versioned

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.versioned and 'max_version' in options:
            raise TypeError('max_version')
        return self.x.__dlpack__(**options)


class Copying(Exporter):
    """One that returns copies, even of those who ask for none."""

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**{**options, 'copy': True})


@pytest.mark.parametrize('versioned', [True, False])
def test_dlpack(versioned):
    a = matrices((3, 2), 4, 'c16')
    inverse = np.empty((3, 2, 8, 4), 'c16')[:, :, ::2]
    _myriad.inverse(_queues.on_cpu(), Exporter(a.swapaxes(-1, -2), versioned), Exporter(inverse, versioned), None)
    assert np.array_equal(inverse, linalg.inv(a.swapaxes(-1, -2)))
    if versioned:
        with pytest.raises(ValueError, match='getrf: a would be written to, and its __dlpack__ returned a copy'):
            _myriad.getrf(_queues.on_cpu(), Copying(a), np.empty((3, 2, 4), 'i4'), None)
        copied = np.empty((3, 2, 4, 4), 'c16')
        _myriad.inverse(_queues.on_cpu(), Copying(a), copied, None)  # as an input a copy is right
        assert np.array_equal(copied, linalg.inv(a))
    a.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match='read-only|readonly'):
        _myriad.getrf(_queues.on_cpu(), Exporter(a, versioned), np.empty((3, 2, 4), 'i4'), None)


def test_threads():
    """Queues are per thread, and one that is shared is used in turns."""
    a = matrices((200,), 6, 'f8')
    want = linalg.inv(a)
    queue, results = myriad.Queue('cpu'), []

    def work():
        for _ in range(20):
            out = np.empty_like(a)
            _myriad.inverse(queue, a, out, None)
            results.append(np.array_equal(out, want) and np.array_equal(linalg.inv(a), want))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 80 and all(results)


def test_queue():
    assert myriad.Queue('cpu', threads=3).threads == 3
    assert myriad.Queue('cpu').backend == 'cpu'
    with pytest.raises(ValueError, match="backend is 'tpu'"):
        myriad.Queue('tpu')
    with pytest.raises(ValueError, match='a device needs a stream'):
        myriad.Queue('gpu', device=0)
    with pytest.raises(ValueError, match="for backend 'gpu'"):
        myriad.Queue('cpu', device=0, stream=1)
    if not myriad.info()['gpu']:
        with pytest.raises(myriad.Unavailable):
            myriad.Queue('gpu')
        with pytest.raises(myriad.Unavailable):
            _queues.on_gpu(_arrays.NumPy, 0, 0)
    with pytest.raises(ValueError, match='stream is for arrays in GPU memory'):
        lapack.getrf(np.eye(2), stream=1)
    queue = myriad.Queue('cpu', threads=3)
    assert queue.device is None and queue.stream is None
    with myriad.using(queue) as used:
        assert used is queue is _queues.on_cpu()
    assert _queues.on_cpu() is not queue


class TestTorch:
    torch = None

    @pytest.fixture(autouse=True)
    def import_torch(self):
        type(self).torch = pytest.importorskip('torch')

    def test_ragged(self):
        torch = self.torch
        many = [torch.eye(n, dtype=torch.complex64) * 4 for n in (3, 1, 2)]
        factor, info = lapack.potrf(batched.ragged(many))
        for x, f in zip(many, factor.arrays, strict=True):
            torch.testing.assert_close(f, x / 2)
        assert isinstance(info, torch.Tensor) and info.dtype == torch.int32 and not info.any()
        with pytest.raises(TypeError, match='getrs: ipiv is a ragged batch of numpy arrays; needs torch arrays'):
            lapack.getrs(batched.ragged(many), batched.ragged([np.ones(len(x), 'i4') for x in many]), batched.ragged(many))
        with pytest.raises(RuntimeError, match='requires grad'):
            batched.ragged([x.clone().requires_grad_() for x in many])

    def test_values(self):
        torch = self.torch
        for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128):
            a = torch.randn(5, 2, 4, 4, dtype=dtype) + 4 * torch.eye(4, dtype=dtype)
            b = torch.randn(5, 2, 4, 3, dtype=dtype)
            for x in (a, a.mT, a.transpose(0, 1).contiguous().transpose(0, 1), a.conj(), a.mH, a[:, 1:], a.expand(5, 2, 4, 4)):
                rhs = b[:, 1:] if x.shape[1] == 1 else b
                torch.testing.assert_close(linalg.solve(x, rhs), torch.linalg.solve(x, rhs))
                torch.testing.assert_close(linalg.inv(x), torch.linalg.inv(x))
                torch.testing.assert_close(linalg.det(x), torch.linalg.det(x))
                torch.testing.assert_close(linalg.svdvals(x), torch.linalg.svdvals(x))
                torch.testing.assert_close(linalg.matmul(x, rhs), x @ rhs)
                torch.testing.assert_close(linalg.pinv(x), torch.linalg.pinv(x), rtol=1e-3, atol=1e-4)
                p = x @ x.mH + torch.eye(4, dtype=dtype)
                torch.testing.assert_close(linalg.cholesky(p), torch.linalg.cholesky(p))
                torch.testing.assert_close(linalg.eigh(p).eigenvalues, torch.linalg.eigvalsh(p))
                q, r = linalg.qr(x)
                torch.testing.assert_close(q @ r, x.resolve_conj())
                assert linalg.matrix_rank(x).tolist() == [[4] * x.shape[1]] * 5
                torch.testing.assert_close(linalg.matrix_power(x, 3), torch.linalg.matrix_power(x, 3))
                torch.testing.assert_close(linalg.matrix_norm(x, ord='nuc'), torch.linalg.matrix_norm(x, ord='nuc'))
            lu, ipiv, info = lapack.getrf(a)
            assert isinstance(lu, torch.Tensor) and ipiv.dtype == torch.int32 and not info.any()
            torch.testing.assert_close(lapack.getrs(lu, ipiv, b), torch.linalg.solve(a, b))
            assert lapack.potrf(p, out=p).factor is p
            hankel = torch.randn(40, dtype=dtype).unfold(0, 6, 1)[:6]
            torch.testing.assert_close(linalg.matmul(hankel, hankel), hankel @ hankel)
            torch.testing.assert_close(linalg.inv(hankel.expand(2, 6, 6)), torch.linalg.inv(hankel).expand(2, 6, 6), rtol=1e-2, atol=1e-2)

    def test_subclass(self):
        torch = self.torch

        class Mine(torch.Tensor):
            pass

        x = linalg.inv((2 * torch.eye(3)).as_subclass(Mine))
        assert isinstance(x, Mine) and x[1, 1] == 0.5

        class Ours(np.ndarray):
            pass

        assert isinstance(linalg.inv((2 * np.eye(3)).view(Ours)), np.ndarray)

    def test_refused(self):
        torch = self.torch
        with pytest.raises(RuntimeError, match='requires grad'):
            linalg.inv(torch.eye(3, requires_grad=True))
        a, b, grad = torch.eye(3).repeat(2, 1, 1), torch.ones(2, 3, 1), torch.ones(2, 3, 3, requires_grad=True)
        lu, ipiv, info = lapack.getrf(a)
        qr, tau = lapack.geqrf(a)
        for name in lapack.__all__:  # every routine looks at every array
            vectors = {'ipiv': ipiv, 'tau': tau[:, :2] if 'tr' in name else tau, 'r': torch.ones(2, 3), 'c': torch.ones(2, 3)} if name != 'gemm' else {}
            parameters = inspect.signature(getattr(lapack, name)).parameters
            needed = [p for p in parameters if parameters[p].default is inspect.Parameter.empty or name == 'gemm' and p == 'c']
            options = {p: 'Q' if p == 'vect' else 3 for p in needed if p in ('vect', 'k')}
            given = {p: vectors[p] if p in vectors and not (p == 'c' and 'tau' in parameters) else a for p in needed if p not in options}
            getattr(lapack, name)(**given, **options)
            for p in given:
                if given[p].dtype.is_floating_point:
                    with pytest.raises(RuntimeError, match='requires grad'):
                        getattr(lapack, name)(**{**given, p: given[p].clone().requires_grad_()}, **options)
            if 'out' in parameters:
                with pytest.raises(RuntimeError, match=f'{name}: out requires grad'):
                    getattr(lapack, name)(**given, **options, out=grad * 1)
        with pytest.raises(RuntimeError, match='laqge: r requires grad|a tensor requires grad'):
            lapack.laqge(a, torch.ones(2, 3, requires_grad=True))
        with pytest.raises(RuntimeError, match='trsm: alpha requires grad'):
            lapack.trsm(a, b, alpha=torch.tensor(1.0, requires_grad=True))
        with torch.no_grad():
            assert lapack.getrf(grad).lu.shape == (2, 3, 3)
        with pytest.raises(TypeError, match='getrf: out is a ndarray; needs a tensor of torch'):
            lapack.getrf(a, out=np.empty((2, 3, 3), 'f4'))
        with pytest.raises(TypeError, match='getrf: out is a Tensor; needs a NumPy array'):
            lapack.getrf(np.eye(3), out=torch.eye(3, dtype=torch.float64))
        with pytest.raises(ValueError, match='getrs: ipiv has row numbers from 2147483647 to 2147483647'):
            lapack.getrs(lu, torch.full((2, 3), 2**31 - 1, dtype=torch.int32), b)
        with pytest.raises(TypeError, match='tensor type torch.int64'):
            linalg.inv(torch.eye(3, dtype=torch.int64))
        with pytest.raises(ValueError, match='device meta'):
            linalg.inv(torch.eye(3, device='meta'))
        with pytest.raises(myriad.LinAlgError, match='matrix 1 of 2') as error:
            linalg.inv(torch.stack([torch.eye(3), torch.zeros(3, 3)]))
        assert error.value.info.tolist() == [0, 1]
        x = linalg.cholesky(torch.stack([torch.eye(3), -torch.eye(3)]), check=False)
        assert x[1].isnan().all() and x[0].isfinite().all()
