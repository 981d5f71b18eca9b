"""Arrays of CuPy on the fake GPUs: results, streams, waits, memory, ragged batches, errors."""
import threading

import numpy as np
import pytest

import fake_cupy
import fake_gpu
import myriad
from common import close, matrices, positive, random
from myriad import batched, lapack, linalg

cupy = fake_cupy.install()
gpu = cupy.asarray


@pytest.fixture(autouse=True)
def lazy():
    """Work on streams runs as late as it may, and nothing is misused."""
    fake_gpu.driver.fake_cuda_be_lazy(1)
    yield
    fake_gpu.driver.fake_cuda_be_lazy(0)
    assert fake_gpu.count('misuses') == 0 and fake_gpu.count('uses_of_destroyed') == 0


class Counted:
    """Counts of the driver since the start of a block."""

    def __enter__(self):
        self.before = {name: fake_gpu.count(name) for name in ('launches', 'waits')}
        return self

    def __exit__(self, *_):
        for name, number in self.before.items():
            setattr(self, name, fake_gpu.count(name) - number)


def of_cupy(*arrays, device=0):
    for x in arrays:
        assert isinstance(x, cupy.ndarray) and x.device.id == device
    return [x.get() for x in arrays]


def test_results():
    a, s, b = matrices((5,), 3, 'f8'), positive((2, 5), 3, 'f8'), random((5, 3, 2))
    close(*of_cupy(linalg.solve(gpu(a), gpu(b))), np.linalg.solve(a, b))
    close(*of_cupy(linalg.cholesky(gpu(s))), np.linalg.cholesky(s))
    close(*of_cupy(linalg.matmul(gpu(a), gpu(b))), a @ b)
    factor, info = of_cupy(*lapack.potrf(gpu(s)))
    close(np.tril(factor), np.linalg.cholesky(s))
    assert info.dtype == np.int32 and not info.any()
    out = gpu(s[0])
    assert lapack.potrf(out, out=out).factor is out
    close(np.tril(out.get()), np.linalg.cholesky(s[0]))


def test_inputs_that_are_copied():
    s, a, b = positive((2, 3, 5), 3, 'f8'), matrices((2, 1), 3, 'f8'), random((5, 3, 2))
    close(*of_cupy(linalg.cholesky(gpu(s).transpose(1, 0, 2, 3, 4))), np.linalg.cholesky(s.transpose(1, 0, 2, 3, 4)))
    close(*of_cupy(linalg.cholesky(gpu(s)[..., ::-1, ::-1])), np.linalg.cholesky(s[..., ::-1, ::-1]))
    close(*of_cupy(linalg.cholesky(gpu(9 * np.eye(3, dtype='i8')))), 3 * np.eye(3))
    # Leading axes of a that would not be one stride after broadcasting
    close(*of_cupy(linalg.solve(gpu(a), gpu(b))), np.linalg.solve(a, b))
    close(*of_cupy(lapack.gemm(gpu(a), gpu(b))), a @ b)
    for out in (gpu(s)[:, ::-1], gpu(s)[..., ::-1]):
        with pytest.raises(ValueError, match='potrf: out has'):
            lapack.potrf(gpu(s), out=out)


def test_failures():
    s = positive((4,), 3, 'f8')
    s[2] = -s[2]
    with pytest.raises(myriad.LinAlgError, match=r'not positive definite \(matrix 2 of 4\)') as error:
        linalg.cholesky(gpu(s))
    assert error.value.info.get().tolist() == [0, 0, 1, 0]
    factor, = of_cupy(linalg.cholesky(gpu(s), check=False))
    assert np.isnan(factor[2]).all() and np.isfinite(factor[[0, 1, 3]]).all()


def test_scalars_in_gpu_memory():
    a, b, c = matrices((5,), 3, 'f8'), random((5, 3, 2)), random((5, 3, 2))
    alpha, beta = gpu(np.array(0.0)), gpu(np.array(0.0))
    on_gpu = gpu(a), gpu(b), gpu(c)
    # The numbers are those in memory when the work runs, and none is fetched.
    with cupy.cuda.Stream():
        for numbers in ((2.0, -0.5), (0.0, 1.0), (-3.0, 0.0)):
            with Counted() as counted:
                result = lapack.gemm(*on_gpu, alpha=alpha, beta=beta)
            assert counted.waits == 0
            alpha.view[...], beta.view[...] = numbers
            close(*of_cupy(result), numbers[0] * (a @ b) + numbers[1] * c)
    close(*of_cupy(lapack.gemm(*on_gpu, alpha=alpha, beta=2)), -3 * (a @ b) + 2 * c)
    close(*of_cupy(lapack.gemm(*on_gpu[:2], alpha=gpu(np.array(4.0)))), 4 * (a @ b))
    # NaN where nothing is read
    alpha.view[...], beta.view[...] = 0, 0
    close(*of_cupy(lapack.gemm(gpu(np.nan * a), gpu(b), gpu(np.nan * c), alpha=alpha, beta=beta)), 0 * c)
    with pytest.raises(ValueError, match='gemm: alpha has an element of type float32; in GPU memory it needs float64'):
        lapack.gemm(*on_gpu, alpha=gpu(np.array(1, 'f4')))
    # An error leaves out= as it was.
    for call in (lapack.gemm, lapack.trmm, lapack.trsm):
        matrices_of = on_gpu if call is lapack.gemm else (gpu(a), gpu(b))
        out = gpu(np.full_like(c, 7))
        with pytest.raises(ValueError, match='alpha has an element of type float32'):
            call(*matrices_of, alpha=gpu(np.array(1, 'f4')), out=out)
        assert (of_cupy(out)[0] == 7).all()
    with pytest.raises(TypeError, match='gemm: alpha'):
        lapack.gemm(*on_gpu, alpha=gpu(np.ones(1)))


def test_nothing_waits():
    a, b = gpu(matrices((5,), 3, 'f8')), gpu(random((5, 3, 2)))
    stream = cupy.cuda.Stream()
    with Counted() as counted, stream:
        x = linalg.solve(a, b, check=False)
        linalg.cholesky(a, check=False)
        lapack.getrf(a)
        linalg.eigh(a, check=False)
    assert counted.launches >= 4 and counted.waits == 0
    assert fake_gpu.count('pending') > 0
    with stream:
        close(x.get(), np.linalg.solve(a.get(), b.get()))


def test_streams():
    a = gpu(positive((5,), 3, 'f8'))
    seen = []
    fake_cupy.SEEN['exports'].clear()

    def launch(**options):
        lapack.potrf(a, **options)
        seen.append((fake_gpu.stream_of_last_launch(), set(fake_cupy.SEEN['exports'])))
        fake_cupy.SEEN['exports'].clear()

    one, two = cupy.cuda.Stream(), cupy.cuda.Stream()
    launch()
    with one:
        launch()
        launch(stream=two)
        launch(stream=two.ptr)
        launch(stream=0)
        launch(stream=1)
        launch(stream=2)

    class Foreign:
        def __cuda_stream__(self):
            return 0, two.ptr

    launch(stream=Foreign())
    # CuPy's current stream is the queue's, so __dlpack__ is asked for that and nothing waits.
    assert seen == [(s, {s}) for s in (1, one.ptr, two.ptr, two.ptr, 1, 1, 2, two.ptr)]
    for stream, error in ((object(), TypeError), ('1', TypeError)):
        with pytest.raises(error, match='stream must be an int or have __cuda_stream__'):
            lapack.potrf(a, stream=stream)
    Foreign.__cuda_stream__ = lambda self: (1, 5)
    with pytest.raises(ValueError, match='__cuda_stream__ has version 1; supported is 0'):
        lapack.potrf(a, stream=Foreign())


def test_one_queue_for_each_device_stream_and_thread():
    from myriad._queues import _queues
    stream = cupy.cuda.Stream()
    a = gpu(positive((5,), 3, 'f8'))
    _queues.gpu.clear()  # the streams of some are destroyed
    before = fake_gpu.count('live_pools')
    with stream:
        for _ in range(3):
            lapack.potrf(a)
    assert fake_gpu.count('live_pools') == before + 1
    kept = list(_queues.gpu)

    def other():
        assert not _queues.gpu
        with stream:
            lapack.potrf(a)
        assert list(_queues.gpu) == [('cupy', 0, stream.ptr)]

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert list(_queues.gpu) == kept and ('cupy', 0, stream.ptr) in kept
    streams = [cupy.cuda.Stream() for _ in range(20)]
    for stream in streams:
        with stream:
            lapack.potrf(a)
    assert len(_queues.gpu) == 16 and list(_queues.gpu)[-1] == ('cupy', 0, streams[-1].ptr)


def test_second_gpu():
    s = positive((5,), 3, 'f8')
    with cupy.cuda.Device(1):
        factor = linalg.cholesky(gpu(s))
        close(*of_cupy(factor, device=1), np.linalg.cholesky(s))
        there = gpu(s)
    with pytest.raises(ValueError, match='an array is on GPU 1; the current GPU of CuPy is 0'):
        linalg.cholesky(there)
    with pytest.raises(ValueError, match='an array is on GPU 1'):
        linalg.solve(gpu(s), there)
    with pytest.raises(ValueError, match='potrf: out is on GPU 1; needs 0'):
        lapack.potrf(gpu(s), out=there)
    with cupy.cuda.Device(1):
        matrix = there[0]
    with pytest.raises(ValueError, match='ragged: array 1 is on another device than array 0'):
        batched.ragged([gpu(s[0]), matrix])


def test_host_and_gpu():
    a, b = matrices((5,), 3, 'f8'), random((5, 3, 2))
    for given in ((gpu(a), b), (a, gpu(b))):
        with pytest.raises(TypeError, match='an array of CuPy and a ndarray were given'):
            linalg.solve(*given)
    with pytest.raises(TypeError, match='potrf: out is a ndarray; needs an array of CuPy'):
        lapack.potrf(gpu(a), out=a)
    with pytest.raises(TypeError, match='getrf: info is a ndarray; needs an array of CuPy'):
        lapack.getrf(gpu(a), info=np.empty(5, 'i4'))
    with pytest.raises(ValueError, match='stream is for arrays in GPU memory'):
        lapack.potrf(a, stream=1)


def test_workspace_is_of_cupy():
    a = gpu(positive((3,), 200, 'f8'))
    before = fake_cupy.SEEN['allocations'], fake_gpu.count('live_allocations')
    stream = cupy.cuda.Stream()
    with stream:
        lapack.getrf(a)
        linalg.eigh(a, check=False)
    assert fake_cupy.SEEN['allocations'] > before[0]
    assert fake_gpu.count('live_allocations') == before[1]  # nothing from the queue's pool


def test_ragged():
    many = [positive((), n, 'f8') for n in (3, 1, 2, 3)]
    batch = batched.ragged([gpu(x) for x in many])
    for out in (None, batched.ragged([gpu(x) for x in many])):
        factor, info = lapack.potrf(batch, out=out)
        for x, f in zip(many, of_cupy(*factor.arrays)):
            close(np.tril(f), np.linalg.cholesky(x))
        assert info.get().tolist() == [0, 0, 0, 0]
    assert factor is out
    stream = cupy.cuda.Stream()
    for _ in range(2):
        factor = lapack.potrf(batch, stream=stream).factor
        assert fake_gpu.stream_of_last_launch() == stream.ptr
    with stream:
        close(np.tril(of_cupy(factor.arrays[3])[0]), np.linalg.cholesky(many[3]))
    vectors = lapack.getrf(batch).ipiv
    assert [x.shape for x in vectors.arrays] == [(3,), (1,), (2,), (3,)] and vectors[0].dtype == np.int32
    with pytest.raises(ValueError, match='ragged: array 0 has negative strides'):
        batched.ragged([gpu(many[0])[::-1]])
    with pytest.raises(NotImplementedError, match='ragged: array 1 is a ndarray'):
        batched.ragged([gpu(many[0]), many[1]])
    with pytest.raises(TypeError, match='potrf: out is a ndarray; needs a ragged batch'):
        lapack.potrf(batch, out=many[0])
    with pytest.raises(TypeError, match='gesv: b is a ragged batch of numpy arrays; the first one is of cupy arrays'):
        lapack.gesv(batch, batched.ragged(many))


def test_capture():
    a, many = gpu(positive((3,), 200, 'f8')), [gpu(positive((), n, 'f8')) for n in (3, 2)]
    before, new = batched.ragged(many), batched.ragged(many)
    info = cupy.empty(2, 'i4')
    stream = cupy.cuda.Stream()
    with stream:
        linalg.eigh(a, check=False)
        lapack.potrf(before, out=before, info=info)
        with Counted() as counted, fake_gpu.capture(stream.ptr):
            linalg.eigh(a, check=False)
            lapack.potrf(before, out=before, info=info)
            with pytest.raises(RuntimeError, match='a ragged batch is used for the first time on a stream that is being captured'):
                lapack.potrf(new, out=new, info=info)
    assert counted.launches > 1 and counted.waits == 0


def test_queue_of_the_caller():
    a = gpu(positive((3,), 200, 'f8'))
    stream, held, log = cupy.cuda.Stream(), {}, []

    def allocate(size, on):
        memory = fake_gpu.Memory(size, 0, on)
        held[memory.ptr] = memory
        log.append(on)
        return memory.ptr

    def release(address, size, on):
        assert held.pop(address).size == size and on == stream.ptr

    queue = myriad.Queue('gpu', device=0, stream=stream)
    assert (queue.device, queue.stream) == (0, stream.ptr)
    queue.set_allocator(allocate, release)
    with stream, myriad.using(queue):
        linalg.eigh(a, check=False)
    assert set(log) == {stream.ptr} and not held
    with myriad.using(queue):
        with pytest.raises(ValueError, match=f'the queue is on stream {stream.ptr}; the current stream of cupy is 1'):
            linalg.eigh(a, check=False)
        queue.set_stream(0)
        queue.set_allocator(None)
        linalg.eigh(a, check=False)
    assert queue.stream == 1 and len(log) == log.count(stream.ptr)
    with pytest.raises(TypeError, match='myriad.using: queue is a Stream'):
        with myriad.using(stream):
            pass

    def refuses(size, on):
        raise KeyError('no memory for you')

    queue.set_allocator(refuses)
    with Counted() as counted, myriad.using(queue), pytest.raises(KeyError, match='no memory for you'):
        linalg.eigh(a, check=False)
    assert counted.launches == 0
    queue.set_allocator(lambda size, on: None)
    with myriad.using(queue), pytest.raises(MemoryError):
        linalg.eigh(a, check=False)
    queue.set_allocator(lambda size, on: 'here')
    with myriad.using(queue), pytest.raises(TypeError):
        linalg.eigh(a, check=False)
    with pytest.raises(ValueError, match='release is given without allocate'):
        queue.set_allocator(None, release)
    with pytest.raises(TypeError, match='set_stream: stream must be an int or have __cuda_stream__'):
        queue.set_stream('1')


def test_functions_of_the_array_library():
    a, b = random((4, 3, 3)), random((4, 3))
    for f, arrays, options in ((linalg.matrix_norm, [a], {}), (linalg.vector_norm, [a], {'axis': (0, 2), 'keepdims': True}), (linalg.trace, [a], {}),
                               (linalg.vector_norm, [b], {}), (linalg.diagonal, [a], {'offset': 1}), (linalg.cross, [b, b[::-1]], {}),
                               (linalg.outer, [b[0], b[1]], {}), (linalg.vecdot, [b, b], {}), (linalg.tensordot, [a, b], {'axes': ((2,), (1,))}),
                               (linalg.matrix_transpose, [a], {})):
        result, = of_cupy(f(*(gpu(x) for x in arrays), **options))
        assert np.allclose(result, f(*arrays, **options)), f
    assert of_cupy(linalg.matmul(gpu(np.arange(9).reshape(3, 3)), gpu(np.eye(3, dtype='i8'))))[0].dtype == np.int64


class OtherLibrary:
    """An array library of which only the standard is known: __array_namespace__ and __dlpack__."""

    float32, float64, complex64, complex128, int32 = np.float32, np.float64, np.complex64, np.complex128, np.int32

    class Array(fake_cupy.ndarray):
        __module__ = 'other'

        def __array_namespace__(self):
            return OtherLibrary

        device = 'cuda:0'
        host = property(lambda self: self.view)

        def __init__(self, x):
            self.memory, self.view = x.memory, x.view

        def __dlpack_device__(self):
            return 2, 0

        def __dlpack__(self, *, stream=None, max_version=None, copy=None):
            fake_cupy.SEEN['exports'].append(stream)
            capsule, self.exported = fake_gpu.capsule_of(self.view, 0)
            return capsule

    result_type = staticmethod(lambda *arrays: np.result_type(*(x.dtype for x in arrays)))
    isdtype = staticmethod(np.isdtype)
    astype = staticmethod(lambda x, dtype, copy: x)
    empty = staticmethod(lambda shape, dtype, device: OtherLibrary.Array(fake_cupy.empty(shape, dtype)))


def test_library_without_a_known_stream():
    s = positive((5,), 3, 'f8')
    a, out = OtherLibrary.Array(gpu(s)), OtherLibrary.Array(gpu(s))
    with pytest.raises(NotImplementedError, match='arrays of OtherLibrary in GPU memory need stream='):
        lapack.getrf(a, out=out)
    stream = fake_gpu.make_stream()
    fake_cupy.SEEN['exports'].clear()
    for given, wanted in ((stream, stream), (0, 1), (1, 1), (2, 2)):
        info = lapack.potrf(out, out=out, stream=given).info
        assert fake_gpu.stream_of_last_launch() == wanted
        assert set(fake_cupy.SEEN['exports']) == {wanted}
        fake_cupy.SEEN['exports'].clear()
        fake_gpu.run(stream)
        if given == stream:
            close(np.tril(out.view), np.linalg.cholesky(s))
            assert isinstance(info, OtherLibrary.Array)
    with pytest.raises(NotImplementedError, match='need stream='):
        lapack.getrf(a, out=out)
