"""Array libraries: promotion of types, new arrays, streams. Results are made by the library of the caller's arrays."""
import math
import sys

import numpy

from . import _myriad, _queues

Ragged = _myriad.Ragged


class _Library:
    """The functions that every array library provides. `like` is an array of matrices (..., m, n), functions give sizes of results from m and n."""

    def matrices(self, like, shape, dtype=None):
        return self.empty(like, (*like.shape[:-2], *shape(*like.shape[-2:])), dtype)

    def vectors(self, like, length, dtype=None):
        return self.empty(like, (*like.shape[:-2], length(*like.shape[-2:])), dtype)

    def numbers(self, like, dtype=None):
        return self.empty(like, like.shape[:-2], dtype)


class _NumPy(_Library):
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


class Torch(_Library):
    """torch.Tensor, on the CPU and on CUDA devices."""

    name = 'torch'
    noun = 'a tensor of torch'

    def __init__(self, torch):
        self.torch = torch
        self.types = {torch.float32: torch.float32, torch.float64: torch.float64, torch.complex64: torch.float32, torch.complex128: torch.float64}
        self.half = frozenset([torch.float16, torch.bfloat16, torch.complex32])
        self.int32 = torch.int32

    def inputs(self, arrays, halves=False):
        common = getattr(arrays[0], 'dtype', None)
        if common in self.types:
            for x in arrays:
                if type(x) is not self.torch.Tensor or x.dtype is not common or not x.is_cpu or x.requires_grad or x.is_neg():
                    break
                if not x.is_contiguous() and (x.ndim < 2 or not x.mT.is_contiguous()):
                    break
            else:
                return arrays
        first = next(x for x in arrays if isinstance(x, self.torch.Tensor))
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
        return like.new_empty(shape, dtype=dtype)

    def copy(self, x):
        return self.torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(x)

    @staticmethod
    def assign(out, x):
        out.copy_(x)

    @staticmethod
    def result(x):
        return x

    @staticmethod
    def triangle(x, upper):
        return (x.triu() if upper else x.tril()).contiguous()

    @staticmethod
    def invalidate(x, failed):
        x.masked_fill_(failed.reshape(failed.shape + (1,) * (x.ndim - failed.ndim)), float('nan'))

    def failures(self, info):
        if info.device.type == 'cpu':
            return _myriad.failures(info)
        count = int(self.torch.count_nonzero(info))  # waits for the stream
        return count, int(self.torch.nonzero(info.reshape(-1))[0]) if count else 0

    @staticmethod
    def broadcast(x, shape):
        return x.expand(shape)

    def queue(self, x):
        if x.device.type == 'cpu':
            return _queues.on_cpu()
        if x.device.type != 'cuda':
            raise ValueError(f'tensors on device {x.device.type} are not supported; cpu and cuda are')
        return _queues.on_gpu(x.device.index, self.torch.cuda.current_stream(x.device).cuda_stream)

    def using(self, x, stream):
        """A context in which `stream` is the current one."""
        if x.device.type == 'cpu':
            return NumPy.using(x, stream)
        return self.torch.cuda.stream(self.torch.cuda.ExternalStream(_queues.handle_of(stream) or _queues.LEGACY_STREAM, x.device))


class Standard(_Library):
    """A library with an array API namespace (__array_namespace__) and __dlpack__, such as CuPy."""

    def __init__(self, xp):
        self.name = xp.__name__.split('.')[0]
        self.noun = f'an array of {self.name}'
        self.xp = xp
        self.types = {xp.float32: xp.float32, xp.float64: xp.float64, xp.complex64: xp.float32, xp.complex128: xp.float64}
        self.int32 = xp.int32

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
        return int(x.__dlpack_device__()[0]) == 1

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
        kind, device = x.__dlpack_device__()
        if int(kind) == 1:
            return _queues.on_cpu()
        if self.name == 'cupy':
            return _queues.on_gpu(device, sys.modules['cupy'].cuda.get_current_stream().ptr)
        raise NotImplementedError(f'arrays of {self.name} in GPU memory are not supported, since its current stream is unknown')

    def using(self, x, stream):
        """A context in which `stream` is the current one."""
        if int(x.__dlpack_device__()[0]) == 1:
            return NumPy.using(x, stream)
        if self.name == 'cupy':
            return sys.modules['cupy'].cuda.ExternalStream(_queues.handle_of(stream))
        raise NotImplementedError(f'arrays of {self.name} in GPU memory are not supported, since its current stream is unknown')


class _RaggedNumPy:
    """Ragged batches of NumPy arrays."""

    name = 'ragged'
    noun = 'a ragged batch (myriad.batched.ragged)'
    int32 = NumPy.int32

    @staticmethod
    def inputs(arrays, halves=False):
        return list(arrays)

    @staticmethod
    def owns(x):
        return type(x) is Ragged

    @staticmethod
    def real(dtype):
        return None if dtype is None else NumPy.real(dtype)  # no matrices have no type

    @staticmethod
    def copy(x):
        return Ragged([numpy.array(a, order='C') for a in x.arrays], x.rows, x.cols)

    @staticmethod
    def assign(out, x):
        for to, a in zip(out.arrays, x.arrays, strict=True):
            to[...] = a

    # The library wants bounds that are in the same relation as the sizes, such as min(m, n).

    @staticmethod
    def matrices(like, shape, dtype=None):
        return Ragged([numpy.empty(shape(*a.shape), dtype or a.dtype) for a in like.arrays], *shape(like.rows, like.cols))

    @staticmethod
    def vectors(like, length, dtype=None):
        return Ragged([numpy.empty(length(*a.shape), dtype or a.dtype) for a in like.arrays], length(like.rows, like.cols), 1)

    @staticmethod
    def numbers(like, dtype=None):
        return numpy.empty(len(like), dtype or like.dtype)

    @staticmethod
    def queue(x):
        return _queues.on_cpu()

    @staticmethod
    def using(x, stream):
        return NumPy.using(x, stream)


RaggedNumPy = _RaggedNumPy()

_torch = None
_standard = {}


def library_of(*arrays):
    """The library that the arrays belong to."""
    for x in arrays:
        if isinstance(x, numpy.ndarray):
            continue
        if type(x) is Ragged:
            return RaggedNumPy
        torch = sys.modules.get('torch')
        if torch is not None and isinstance(x, getattr(torch, 'Tensor', ())):
            global _torch
            _torch = _torch or Torch(torch)
            return _torch
        root = type(x).__module__.partition('.')[0]
        if root in ('jax', 'jaxlib'):
            raise NotImplementedError('arrays of JAX are not supported: they cannot be written to; pass numpy.asarray(x)')
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
    if library is RaggedNumPy:
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
