"""Arrays of CuPy, which has no array API namespace. They must be on CuPy's current GPU, as for CuPy's own functions."""
import math
import types

import numpy

from . import _queues
from ._arrays import Library, NumPy, collapses, overlapping


class _Handle:
    """A stream that is known by its handle."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


class CuPy(Library):
    """cupy.ndarray."""

    name = 'cupy'
    noun = 'an array of CuPy'
    types = NumPy.types
    half = NumPy.half
    int32 = NumPy.int32

    def __init__(self, cupy):
        self.cupy = cupy
        self.xp = _namespace(cupy)

    def inputs(self, arrays, halves=False):
        for x in arrays:
            if not self.owns(x):
                raise TypeError(f'an array of CuPy and a {type(x).__name__} were given; convert one of them')
        current = self.cupy.cuda.runtime.getDevice()
        for x in arrays:
            if x.device.id != current:
                raise ValueError(f'an array is on GPU {x.device.id}; the current GPU of CuPy is {current}: use "with x.device:"')
        common = self.cupy.result_type(*arrays)
        if common.kind in 'biu':
            common = numpy.dtype('f8')
        if common not in self.types and not (halves and common in self.half):
            raise TypeError(f'array type {common.name} is unsupported in linalg')
        return [self.readable(x.astype(common, copy=False)) for x in arrays]

    def readable(self, x):
        """x, or a copy where the library would refuse x."""
        return x if self.problem(x) is None else self.cupy.ascontiguousarray(x)

    @staticmethod
    def problem(x):
        """Why the library would refuse x, or None."""
        if x.flags.c_contiguous:
            return None
        strides = x.strides
        if any(s < 0 and d > 1 for s, d in zip(strides[-2:], x.shape[-2:])):
            return f'has negative strides within a matrix: {strides} bytes'
        if not collapses(x.shape[:-2], strides[:-2]):
            return f'has leading axes that do not collapse to one stride: {strides} bytes'
        if overlapping(x.shape, strides, x.itemsize):
            return f'has elements that overlap: strides {strides} bytes'
        return None

    def owns(self, x):
        return isinstance(x, self.cupy.ndarray)

    def check_written(self, name, x, like):
        if x.device.id != like.device.id:
            raise ValueError(f'{name} is on GPU {x.device.id}; needs {like.device.id}')
        if (problem := self.problem(x)) is not None:
            raise ValueError(f'{name} {problem}')

    @staticmethod
    def contiguous(x):
        return x.flags.c_contiguous

    @staticmethod
    def on_cpu(x):
        return False

    def real(self, dtype):
        return self.types[dtype]

    def empty(self, like, shape, dtype=None):
        return self.cupy.empty(shape, like.dtype if dtype is None else dtype)

    def copy(self, x):
        return self.cupy.array(x, order='C')

    @staticmethod
    def assign(out, x):
        out[...] = x

    @staticmethod
    def result(x):
        return x

    def triangle(self, x, upper):
        return self.cupy.ascontiguousarray(self.cupy.triu(x) if upper else self.cupy.tril(x))

    def invalidate(self, x, failed):
        x[...] = self.cupy.where(failed.reshape(failed.shape + (1,) * (x.ndim - failed.ndim)), math.nan, x)

    def failures(self, info):
        failed = self.cupy.flatnonzero(info)  # waits for the stream
        return failed.size, int(failed[0]) if failed.size else 0

    def broadcast(self, x, shape):
        return self.cupy.broadcast_to(x, shape)

    def pieces(self, like, shapes, dtype):
        """New arrays of these shapes, in one piece of memory."""
        ends = numpy.cumsum([math.prod(shape) for shape in shapes])
        memory = self.cupy.empty(int(ends[-1]), dtype)
        return [memory[end - math.prod(shape):end].reshape(shape) for end, shape in zip(ends.tolist(), shapes)]

    def upload(self, like):
        def upload(numbers):
            if self.cupy.cuda.get_current_stream().is_capturing():
                raise RuntimeError(_queues.UPLOAD_IN_CAPTURE)
            return self.cupy.asarray(numpy.frombuffer(numbers, numpy.int32))

        return upload

    def queue(self, x):
        device = x.device.id
        return _queues.on_gpu(self, device, self.cupy.cuda.get_current_stream(device).ptr)

    def using(self, x, stream):
        """A context in which `stream` is the current one."""
        if isinstance(stream, self.cupy.cuda.Stream):
            return stream
        streams, handle = self.cupy.cuda, _queues.handle_of(stream)
        if handle == _queues.LEGACY_STREAM:
            return streams.Stream.null
        if hasattr(streams.Stream, 'from_external'):  # since CuPy 14
            return streams.Stream.from_external(_Handle(handle))
        return streams.ExternalStream(handle)

    def allocator(self, device):
        """Functions for Queue.set_allocator: workspace from CuPy's current allocator, for the current stream, which is the queue's."""
        cuda, held = self.cupy.cuda, {}

        def allocate(size, stream):
            with cuda.Device(device):
                memory = cuda.alloc(size)
            held[memory.ptr] = memory
            return memory.ptr

        def release(address, size, stream):
            del held[address]

        return allocate, release


def _namespace(cupy):
    """The functions of the array API standard that myriad.linalg takes from the arrays' own library."""

    def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(a % x.ndim for a in axes)
        rest = tuple(a for a in range(x.ndim) if a not in axes)
        columns = x.transpose(axes + rest).reshape((math.prod(x.shape[a] for a in axes), *(x.shape[a] for a in rest)))
        norms = cupy.linalg.norm(columns, ord=ord, axis=0)
        return norms.reshape([1 if a in axes else d for a, d in enumerate(x.shape)]) if keepdims else norms

    linalg = types.SimpleNamespace(
        cross=lambda x1, x2, axis: cupy.cross(x1, x2, axis=axis),
        diagonal=lambda x, offset: cupy.diagonal(x, offset, -2, -1),
        matrix_norm=lambda x, keepdims, ord: cupy.linalg.norm(x, ord, (-2, -1), keepdims),
        outer=cupy.outer,
        trace=lambda x, offset, dtype: cupy.trace(x, offset, -2, -1, dtype),
        vector_norm=vector_norm)
    return types.SimpleNamespace(
        linalg=linalg,
        asarray=lambda x, dtype, device: cupy.asarray(x, dtype),
        astype=lambda x, dtype: x.astype(dtype),
        conj=cupy.conj,
        int64=numpy.int64,
        isdtype=numpy.isdtype,
        matmul=cupy.matmul,
        result_type=cupy.result_type,
        sum=cupy.sum,
        tensordot=lambda x1, x2, axes: cupy.tensordot(x1, x2, axes),
        vecdot=lambda x1, x2, axis: (cupy.moveaxis(x1, axis, -1).conj() * cupy.moveaxis(x2, axis, -1)).sum(-1))
