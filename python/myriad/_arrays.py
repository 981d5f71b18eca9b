"""Array libraries: promotion of types, new arrays, streams. Results are made by the library of the caller's arrays."""
import contextlib
import functools
import math
import sys
import threading

import numpy

from . import _myriad, _queues

Ragged = _myriad.Ragged


class Library:
    """The functions that every array library provides. `like` is an array of matrices (..., m, n), functions give sizes of results from m and n."""

    lazy = False  # whether arrays are computed later, chunk by chunk: those of dask

    def matrices(self, like, shape, dtype=None):
        return self.empty(like, (*like.shape[:-2], *shape(*like.shape[-2:])), dtype)

    def vectors(self, like, length, dtype=None):
        return self.empty(like, (*like.shape[:-2], length(*like.shape[-2:])), dtype)

    def numbers(self, like, dtype=None):
        return self.empty(like, like.shape[:-2], dtype)

    def info_of(self, like, batch):
        """An array for the info of matrices `like`, for failures(). own_info makes it one of the library."""
        return self.empty(like, batch, self.int32)

    @staticmethod
    def own_info(info):
        return info

    def stretched(self, x, batch):
        """The matrices x for a call on arrays with these leading axes, copied only where the library would refuse them broadcast."""
        if tuple(x.shape[:-2]) == tuple(batch) or self.on_cpu(x):
            return x
        return self.readable(self.broadcast(x, (*batch, *x.shape[-2:])))

    def pieces(self, like, shapes, dtype):
        """New arrays of these shapes, for a ragged batch."""
        return [self.empty(like, shape, dtype) for shape in shapes]

    def assign_all(self, outs, arrays):
        for out, x in zip(outs, arrays, strict=True):
            self.assign(out, x)

    def upload(self, like):
        """A function that copies numbers, given as bytes, to an int32 array beside `like`; None for arrays in host memory."""
        return None

    def allocator(self, device):
        """Functions for Queue.set_allocator that take workspace from this library's memory; None: the queue's pool."""
        return None


class _NumPy(Library):
    """numpy.ndarray, and anything that numpy.asarray takes."""

    name = 'numpy'
    noun = 'a NumPy array'
    types = {numpy.dtype(t): numpy.dtype(r) for t, r in (('f4', 'f4'), ('f8', 'f8'), ('c8', 'f4'), ('c16', 'f8'))}
    half = frozenset([numpy.dtype('f2')])
    int32 = numpy.dtype(numpy.int32)

    def inputs(self, arrays, halves=False):
        """The arrays with one element type, the one that numpy.linalg would return, readable where they are or copied."""
        common = getattr(arrays[0], 'dtype', None)
        if common in self.types:
            for x in arrays:
                if type(x) is not numpy.ndarray or x.dtype != common or not (flags := x.flags).c_contiguous or not flags.aligned:
                    break
            else:
                return arrays
        arrays = [numpy.asarray(x) for x in arrays]
        types = [x.dtype for x in arrays]
        if halves:
            # Products: float32 by int8 is float32, as in numpy.matmul.
            common = numpy.result_type(*types).newbyteorder('=')
            if common.kind in 'biu':
                common = numpy.dtype('f8')
            elif common not in self.types and common not in self.half:
                raise TypeError(f'array type {common.name} is unsupported in products')
        else:
            for k, t in enumerate(types):
                if t.kind in 'biu':
                    types[k] = numpy.dtype('f8')
                elif t.newbyteorder('=') not in self.types:
                    raise TypeError(f'array type {t.name} is unsupported in linalg')
            common = numpy.result_type(*types).newbyteorder('=')
        return [self.readable(x.astype(common, copy=False)) for x in arrays]

    @staticmethod
    def readable(x):
        """x, or a copy where the library would refuse x."""
        return x if NumPy.problem(x) is None else x.copy()

    @staticmethod
    def problem(x):
        """Why the library would refuse x, or None."""
        if not x.flags.aligned:
            return 'is not aligned to its elements'
        if x.flags.c_contiguous or x.ndim > 1 and x.mT.flags.c_contiguous:
            return None
        size, strides = x.itemsize, x.strides
        if any(s % size for s in strides):
            return f'has strides {strides} that are no multiples of the {size} bytes of an element'
        if any(s < 0 and d > 1 for s, d in zip(strides[-2:], x.shape[-2:])):
            return f'has negative strides within a matrix: {strides} bytes'
        if overlapping(x.shape, strides, size):
            return f'has elements that overlap: strides {strides} bytes'
        return None

    @staticmethod
    def owns(x):
        return isinstance(x, numpy.ndarray)

    @staticmethod
    def check_written(name, x, like):
        """Refuses an array that must not be written to, as a result for matrices `like`."""
        if not x.flags.writeable:
            raise ValueError(f'{name} is read-only')
        if (problem := NumPy.problem(x)) is not None:
            raise ValueError(f'{name} {problem}')

    @staticmethod
    def contiguous(x):
        return x.flags.c_contiguous

    @staticmethod
    def on_cpu(x):
        return True

    @staticmethod
    def range_of(x):
        """The least and the largest element."""
        return int(x.min()), int(x.max())

    def real(self, dtype):
        return self.types[dtype]

    @staticmethod
    def empty(like, shape, dtype=None):
        return numpy.empty(shape, like.dtype if dtype is None else dtype)

    @staticmethod
    def copy(x):
        return numpy.array(x, order='C')

    @staticmethod
    def assign(out, x):
        out[...] = x

    @staticmethod
    def result(x):
        """A scalar for an array without axes, as NumPy's functions return it."""
        return x if x.ndim else x[()]

    @staticmethod
    def triangle(x, upper):
        out = numpy.empty(x.shape, x.dtype)
        _myriad.copy_triangle(_queues.on_cpu(), 'U' if upper else 'L', x, out)
        return out

    @staticmethod
    def invalidate(x, failed):
        x[failed] = numpy.nan

    @staticmethod
    def failures(info):
        """The number of failed matrices and the index of the first, with the work of the queue done."""
        return _myriad.failures(info)

    @staticmethod
    def broadcast(x, shape):
        return x if x.shape == shape else numpy.broadcast_to(x, shape)

    @staticmethod
    def queue(x):
        return _queues.on_cpu()

    @staticmethod
    def using(x, stream):
        raise ValueError('stream is for arrays in GPU memory; this one is in host memory')


NumPy = _NumPy()


def empty_of_torch(torch, like, size, stride, dtype=None):
    """A tensor on the device of `like`. Its new_empty_strided takes half of the time of torch.empty_strided, but copies conjugated and negated
    views first."""
    if like.is_conj() or like.is_neg():
        return torch.empty_strided(size, stride, dtype=dtype or like.dtype, device=like.device)
    return like.new_empty_strided(size, stride, dtype=dtype)


@functools.lru_cache(1024)
def row_major(shape):
    """The shape as a tuple, and the strides of elements that lie one behind the other. For torch, which takes longer for a torch.Size."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(shape), tuple(strides[::-1])


class Torch(Library):
    """torch.Tensor, on the CPU and on CUDA devices."""

    name = 'torch'
    noun = 'a tensor of torch'

    def __init__(self, torch):
        self.torch = torch
        self.types = {torch.float32: torch.float32, torch.float64: torch.float64, torch.complex64: torch.float32, torch.complex128: torch.float64}
        self.half = frozenset([torch.float16, torch.bfloat16, torch.complex32])
        self.int32 = torch.int32

    def inputs(self, arrays, halves=False):
        if _myriad.ready_tensors(arrays, self.torch.Tensor):
            return arrays
        first = next(x for x in arrays if isinstance(x, self.torch.Tensor))
        for x in arrays:
            if not isinstance(x, self.torch.Tensor) and hasattr(x, '__dlpack_device__') and not (first.is_cpu and x.__dlpack_device__()[0] == 1):
                raise TypeError(f'a tensor on {first.device} and a {type(x).__module__}.{type(x).__name__} were given; convert one of them')
        arrays = [x if isinstance(x, self.torch.Tensor) else self.torch.as_tensor(x, device=first.device) for x in arrays]
        common = arrays[0].dtype
        for x in arrays:
            if x.requires_grad and self.torch.is_grad_enabled():
                raise RuntimeError('a tensor requires grad, and these functions have no derivatives; pass x.detach(), or use torch.no_grad()')
            if x.device != first.device:
                raise ValueError(f'tensors are on different devices: {first.device} and {x.device}')
            common = self.torch.promote_types(common, x.dtype)
        if common not in self.types and not (halves and common in self.half):
            raise TypeError(f'tensor type {common} is unsupported in linalg')
        return [self.readable(x.to(common)) for x in arrays]

    def readable(self, x):
        x = x.resolve_neg()
        if x.is_contiguous() or x.device.type == 'cpu' and x.ndim > 1 and x.mT.is_contiguous():
            return x
        shape, strides = tuple(x.shape), x.stride()
        if (x.device.type == 'cpu' or collapses(shape[:-2], strides[:-2])) and not overlapping(shape, strides, 1):
            return x
        return x.contiguous()

    def owns(self, x):
        return isinstance(x, self.torch.Tensor)

    def check_written(self, name, x, like):
        if x.requires_grad and self.torch.is_grad_enabled():
            raise RuntimeError(f'{name} requires grad, and these functions have no derivatives; pass x.detach(), or use torch.no_grad()')
        if x.device != like.device:
            raise ValueError(f'{name} is on device {x.device}; needs {like.device}')

    @staticmethod
    def contiguous(x):
        return x.is_contiguous()

    @staticmethod
    def on_cpu(x):
        return x.is_cpu

    @staticmethod
    def range_of(x):
        return int(x.min()), int(x.max())

    def real(self, dtype):
        return self.types[dtype]

    def empty(self, like, shape, dtype=None):
        return empty_of_torch(self.torch, like, *row_major(shape), dtype)

    def copy(self, x):
        return self.empty(x, x.shape).copy_(x)

    @staticmethod
    def assign(out, x):
        out.copy_(x)

    @staticmethod
    def result(x):
        return x

    def info_of(self, like, batch):
        """An array for the info of matrices `like`: of NumPy for tensors on the CPU, which makes one in a quarter of torch's time."""
        return numpy.empty(batch, NumPy.int32) if like.is_cpu else self.empty(like, batch, self.int32)

    @staticmethod
    def triangle(x, upper):
        return (x.triu() if upper else x.tril()).contiguous()

    def own_info(self, info):
        return self.torch.from_numpy(info) if isinstance(info, numpy.ndarray) else info

    @staticmethod
    def invalidate(x, failed):
        x.masked_fill_(failed.reshape(failed.shape + (1,) * (x.ndim - failed.ndim)), float('nan'))

    def failures(self, info):
        if isinstance(info, numpy.ndarray) or info.is_cpu:
            return _myriad.failures(info)
        if info.numel() <= 4096:  # one copy takes less time than three kernels
            return _myriad.failures(info.cpu())
        count = int(self.torch.count_nonzero(info))  # waits for the stream
        return count, int(self.torch.nonzero(info.reshape(-1))[0]) if count else 0

    @staticmethod
    def broadcast(x, shape):
        return x.expand(shape)

    def queue(self, x):
        if x.is_cpu:
            return _queues.on_cpu()
        if not x.is_cuda:
            raise ValueError(f'tensors on device {x.device.type} are not supported; cpu and cuda are')
        device = x.get_device()
        return _queues.on_gpu(self, device, self.torch._C._cuda_getCurrentRawStream(device))  # torch.cuda.current_stream takes microseconds

    def using(self, x, stream):
        """A context in which `stream` is the current one."""
        if x.device.type == 'cpu':
            return NumPy.using(x, stream)
        cuda, handle = self.torch.cuda, _queues.handle_of(stream)
        # torch keeps the memory of the legacy stream under the handle 0.
        return cuda.stream(cuda.default_stream(x.device) if handle == _queues.LEGACY_STREAM else cuda.ExternalStream(handle, x.device))

    def pieces(self, like, shapes, dtype):
        """New arrays of these shapes, in one piece of memory."""
        sizes = [math.prod(shape) for shape in shapes]
        memory = self.empty(like, (sum(sizes),), dtype)
        return [x.view(shape) for x, shape in zip(memory.split(sizes), shapes)]

    def assign_all(self, outs, arrays):
        self.torch._foreach_copy_(outs, arrays)  # few launches

    def upload(self, like):
        if like.is_cpu:
            return None

        def upload(numbers):
            if self.torch.cuda.is_current_stream_capturing():
                raise RuntimeError(_queues.UPLOAD_IN_CAPTURE)
            return self.torch.frombuffer(bytearray(numbers), dtype=self.torch.int32).pin_memory().to(like.device, non_blocking=True)

        return upload

    def allocator(self, device):
        """Workspace from torch's caching allocator."""
        cuda = self.torch.cuda

        def allocate(size, stream):
            return cuda.caching_allocator_alloc(size, device, 0 if stream == _queues.LEGACY_STREAM else stream)

        def release(address, size, stream):
            cuda.caching_allocator_delete(address)

        return allocate, release


class Standard(Library):
    """A library with an array API namespace (__array_namespace__) and __dlpack__.

    Its current stream on a GPU is unknown, so arrays in GPU memory need the name of a stream (using), for which __dlpack__ is then asked.
    """

    def __init__(self, xp):
        self.name = xp.__name__.split('.')[0]
        self.noun = f'an array of {self.name}'
        self.xp = xp
        self.types = {xp.float32: xp.float32, xp.float64: xp.float64, xp.complex64: xp.float32, xp.complex128: xp.float64}
        self.int32 = xp.int32
        self.named = threading.local()

    def inputs(self, arrays, halves=False):
        first = next(x for x in arrays if hasattr(x, '__array_namespace__'))
        arrays = [x if hasattr(x, '__array_namespace__') else self.xp.asarray(x) for x in arrays]
        common = self.xp.result_type(*arrays)
        if self.xp.isdtype(common, ('bool', 'integral')):
            common = self.xp.float64
        if not any(common == t for t in self.types):
            raise TypeError(f'array type {common} is unsupported in linalg')
        for x in arrays:
            if x.device != first.device:
                raise ValueError(f'arrays are on different devices: {first.device} and {x.device}')
        return [self.xp.astype(x, common, copy=False) for x in arrays]

    @staticmethod
    def readable(x):
        return x  # the standard does not tell strides

    def owns(self, x):
        return hasattr(x, '__array_namespace__') and x.__array_namespace__() is self.xp

    @staticmethod
    def check_written(name, x, like):
        if x.device != like.device:
            raise ValueError(f'{name} is on device {x.device}; needs {like.device}')

    @staticmethod
    def contiguous(x):
        return True  # the standard does not tell; the library looks at it

    @staticmethod
    def on_cpu(x):
        return int(x.__dlpack_device__()[0]) in (1, 3)  # 3: pinned

    def range_of(self, x):
        return int(self.xp.min(x)), int(self.xp.max(x))

    def real(self, dtype):
        return next(r for t, r in self.types.items() if t == dtype)

    def empty(self, like, shape, dtype=None):
        return self.xp.empty(shape, dtype=like.dtype if dtype is None else dtype, device=like.device)

    def copy(self, x):
        out = self.empty(x, x.shape)
        out[...] = x
        return out

    @staticmethod
    def assign(out, x):
        out[...] = x

    @staticmethod
    def result(x):
        return x

    def triangle(self, x, upper):
        return self.copy(self.xp.triu(x) if upper else self.xp.tril(x))

    def invalidate(self, x, failed):
        failed = self.xp.reshape(failed, failed.shape + (1,) * (x.ndim - failed.ndim))
        x[...] = self.xp.where(failed, self.xp.asarray(float('nan'), dtype=x.dtype, device=x.device), x)

    def failures(self, info):
        failed = self.xp.reshape(info, (-1,)) != 0
        count = int(self.xp.count_nonzero(failed))
        return count, int(self.xp.argmax(self.xp.astype(failed, self.xp.int32))) if count else 0

    def broadcast(self, x, shape):
        return self.xp.broadcast_to(x, shape)

    def queue(self, x):
        if self.on_cpu(x):
            return _queues.on_cpu()
        stream = getattr(self.named, 'stream', None)
        if stream is None:
            raise NotImplementedError(f"arrays of {self.name} in GPU memory need stream=, since the library's current stream is unknown")
        return _queues.on_gpu(self, x.__dlpack_device__()[1], stream)

    @contextlib.contextmanager
    def using(self, x, stream):
        """A context in which calls run on `stream`."""
        if self.on_cpu(x):
            NumPy.using(x, stream)
        before, self.named.stream = getattr(self.named, 'stream', None), _queues.handle_of(stream)
        try:
            yield
        finally:
            self.named.stream = before


class RaggedOf:
    """Ragged batches of arrays of a library. `like` is a batch; functions give sizes of results from the rows and columns of a matrix."""

    name = 'ragged'
    noun = 'a ragged batch (myriad.batched.ragged)'

    def __init__(self, of):
        self.of = of
        self.int32 = of.int32

    def inputs(self, arrays, halves=False):
        return list(arrays)

    @staticmethod
    def owns(x):
        return type(x) is Ragged

    def real(self, dtype):
        return None if dtype is None else self.of.real(dtype)  # no matrices have no type

    def batch(self, arrays, rows=0, cols=0):
        return Ragged(arrays, rows, cols, self.of.upload(arrays[0]) if arrays else None)

    # The library wants bounds that are in the same relation as the sizes, such as min(m, n).

    def _new(self, like, shape, bounds, dtype):
        shapes = [shape(*a.shape) for a in like.arrays]
        return self.batch(self.of.pieces(like.arrays[0], shapes, dtype or like.dtype) if shapes else [], *bounds)

    def matrices(self, like, shape, dtype=None):
        return self._new(like, shape, shape(like.rows, like.cols), dtype)

    def vectors(self, like, length, dtype=None):
        return self._new(like, lambda m, n: (length(m, n),), (length(like.rows, like.cols), 1), dtype)

    def copy(self, x):
        out = self._new(x, lambda *shape: shape, (x.rows, x.cols), None)
        self.assign(out, x)
        return out

    def assign(self, out, x):
        self.of.assign_all(out.arrays, x.arrays)

    def numbers(self, like, dtype=None):
        return self.of.empty(like.arrays[0], (len(like),), dtype) if len(like) else numpy.empty(0, dtype)

    def on_cpu(self, x):
        return not len(x) or self.of.on_cpu(x.arrays[0])

    def queue(self, x):
        return self.of.queue(x.arrays[0]) if len(x) else _queues.on_cpu()

    def using(self, x, stream):
        return self.of.using(x.arrays[0], stream) if len(x) else contextlib.nullcontext()


_ragged = {}


def ragged_of(library):
    """Ragged batches of this library's arrays."""
    return _ragged.setdefault(library, RaggedOf(library))


_torch = None
_standard = {}


@functools.cache
def _cupy(cupy):
    from ._cupy import CuPy  # it needs this module
    return CuPy(cupy)


@functools.cache
def _dask():
    from ._dask import Dask  # it needs this module, and dask
    return Dask()


def library_of(*arrays):
    """The library that the arrays belong to."""
    global _torch
    if _torch is not None and arrays and type(arrays[0]) is _torch.torch.Tensor:
        return _torch
    for x in arrays:
        if isinstance(x, numpy.ndarray):
            continue
        if type(x) is Ragged:
            return ragged_of(library_of(*x.arrays[:1]))
        torch = sys.modules.get('torch')
        if torch is not None and isinstance(x, getattr(torch, 'Tensor', ())):
            _torch = _torch or Torch(torch)
            return _torch
        root = type(x).__module__.partition('.')[0]
        if root == 'cupy':
            return _cupy(sys.modules['cupy'])
        if root == 'dask':
            return _dask()
        if root in ('jax', 'jaxlib'):
            raise NotImplementedError('arrays of JAX are not supported: they cannot be written to; use myriad.jax, or pass numpy.asarray(x)')
        if root != 'numpy' and hasattr(x, '__array_namespace__'):
            xp = x.__array_namespace__()
            library = _standard.get(xp)
            if library is None:
                library = _standard[xp] = Standard(xp)
            return library
    return NumPy


def library_of_stacks(*arrays):
    """The library that the arrays belong to, for functions that do not take ragged batches."""
    library = library_of(*arrays)
    if type(library) is RaggedOf:
        raise TypeError('a ragged batch was given; only the functions of myriad.lapack take ragged batches')
    return library


def overlapping(shape, strides, size):
    """Whether matrices share elements otherwise than by strides of zero, such as those of sliding windows. `size`: that of an element.

    The library refuses such matrices within each other, and in one batch with one stride between the matrices.
    """
    axes = list(zip(strides[-2:], shape[-2:]))
    leading = [(s, d) for s, d in zip(strides[:-2], shape[:-2]) if d != 1]
    if leading and collapses([d for _, d in leading], [s for s, _ in leading]):
        axes.append((leading[-1][0], math.prod(d for _, d in leading)))
    span = size
    for s, d in sorted(axes):
        if d > 1 and s != 0:
            if s < span:
                return True
            span += s * (d - 1)
    return False


def collapses(shape, strides):
    """Whether the axes are one axis with one stride that is not negative."""
    axes = [(d, s) for d, s in zip(shape, strides) if d != 1]
    return all(s == d2 * s2 for (_, s), (d2, s2) in zip(axes, axes[1:])) and (not axes or axes[-1][1] >= 0)
