"""A stand-in for CuPy on the fake GPUs, as strict as CuPy: arrays belong to a GPU, functions want them on the current one, and see only
work that was given to the current stream."""
import ctypes
import sys
import types

import numpy as np

import fake_gpu

SEEN = {'allocations': 0, 'exports': []}  # of alloc; the streams that __dlpack__ was asked for


class Device:
    current = 0

    def __init__(self, id=None):
        self.id, self.before = Device.current if id is None else id, []

    def __eq__(self, other):
        return self.id == other.id

    def __enter__(self):
        self.before.append(Device.current)
        Device.current = self.id

    def __exit__(self, *_):
        Device.current = self.before.pop()


class Stream:
    current = {}  # GPU -> stream

    def __init__(self, ptr=None):
        self.own, self.device_id, self.before = ptr is None, Device.current, []
        self.ptr = fake_gpu.make_stream(Device.current) if self.own else ptr

    def __del__(self):
        if self.own:
            fake_gpu.destroy_stream(self.ptr)

    @classmethod
    def from_external(cls, stream):
        return cls(stream.__cuda_stream__()[1])

    def __cuda_stream__(self):
        return 0, self.ptr

    def is_capturing(self):
        return self.ptr != 0 and self.ptr == fake_gpu.captured

    def __enter__(self):
        self.before.append(get_current_stream())
        Stream.current[Device.current] = self

    def __exit__(self, *_):
        Stream.current[Device.current] = self.before.pop()


Stream.null = Stream(0)


def get_current_stream(device=-1):
    return Stream.current.get(Device.current if device == -1 else device, Stream.null)


def alloc(size):
    SEEN['allocations'] += 1
    return fake_gpu.Memory(size, Device.current, get_current_stream().ptr)


class ndarray(ctypes.Structure):  # has the buffer protocol, as CuPy's arrays, but not for the elements
    __module__ = 'cupy'
    _fields_ = []

    def __init__(self, memory, view):
        self.memory, self.view, self.device = memory, view, Device(memory.device)

    @property
    def host(self):
        """The elements, after the work on the current stream."""
        assert self.device.id == Device.current, 'an array on another GPU than the current one'
        fake_gpu.run(get_current_stream().ptr)
        return self.view

    def __getattr__(self, name):
        if name in ('shape', 'strides', 'dtype', 'ndim', 'itemsize', 'size', 'flags'):
            return getattr(self.view, name)
        if name in ('reshape', 'swapaxes', 'transpose', 'conj', 'astype', 'sum', 'view_as') or name == 'mT':
            found = getattr(self.host, name)
            return (lambda *a, **k: self.wrap(found(*a, **k))) if callable(found) else self.wrap(found)
        raise AttributeError(name)

    @property
    def __cuda_array_interface__(self):
        return {**self.view.__array_interface__, 'stream': get_current_stream().ptr, 'version': 3}

    def wrap(self, x):
        """x as a view where it lies in this memory, or as a new array."""
        at = x.__array_interface__['data'][0]
        inside = self.memory.ptr <= at < self.memory.ptr + max(self.memory.size, 1)
        return ndarray(self.memory, x) if inside else asarray(x)

    def __getitem__(self, at):
        return self.wrap(self.host[at.host if isinstance(at, ndarray) else at])

    def __setitem__(self, at, x):
        self.host[at.host if isinstance(at, ndarray) else at] = x.host if isinstance(x, ndarray) else x

    def __int__(self):
        return int(self.host)

    def __mul__(self, other):
        return asarray(self.host * other.host)

    def __ne__(self, other):
        return asarray(self.host != (other.host if isinstance(other, ndarray) else other))

    __hash__ = None

    def get(self):
        return self.host.copy()

    def __dlpack_device__(self):
        return 2, self.device.id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        assert stream is None or stream == -1 or stream >= 1, 'stream 0 is disallowed'
        SEEN['exports'].append(stream)
        if stream not in (-1, get_current_stream().ptr or fake_gpu.LEGACY):
            self.host  # the consumer's stream waits for the current one
        capsule, self.exported = fake_gpu.capsule_of(self.view, self.device.id)
        return capsule


def empty(shape, dtype=float):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    memory = fake_gpu.Memory(int(np.prod(shape)) * np.dtype(dtype).itemsize, Device.current, get_current_stream().ptr)
    return ndarray(memory, memory.array(shape, dtype))


def asarray(x, dtype=None):
    if isinstance(x, ndarray):
        return x if dtype is None or x.dtype == dtype else x.astype(dtype)
    x = np.asarray(x, dtype)
    out = empty(x.shape, x.dtype)
    out.view[...] = x
    return out


def array(x, order='C'):
    return asarray(np.array(x.host, order=order))


def _of_numpy(f):
    def function(*arrays, **options):
        return asarray(f(*(x.host if isinstance(x, ndarray) else x for x in arrays), **options))

    return function


def install():
    """Makes this module cupy."""
    cupy = types.ModuleType('cupy')
    cupy.ndarray, cupy.empty, cupy.asarray, cupy.array = ndarray, empty, asarray, array
    cupy.broadcast_to = lambda x, shape: x.wrap(np.broadcast_to(x.host, shape))
    cupy.ascontiguousarray = lambda x: asarray(np.ascontiguousarray(x.host))
    cupy.result_type = lambda *arrays: np.result_type(*(x.dtype for x in arrays))
    for name in ('triu', 'tril', 'where', 'flatnonzero', 'conj', 'matmul', 'sum', 'trace', 'diagonal', 'cross', 'outer', 'moveaxis', 'tensordot'):
        setattr(cupy, name, _of_numpy(getattr(np, name)))
    cupy.linalg = types.SimpleNamespace(norm=_of_numpy(np.linalg.norm))
    cupy.cuda = types.SimpleNamespace(
        Device=Device, Stream=Stream, get_current_stream=get_current_stream, alloc=alloc,
        runtime=types.SimpleNamespace(getDevice=lambda: Device.current))
    sys.modules['cupy'] = cupy
    return cupy
