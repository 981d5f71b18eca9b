"""Tensors of torch on the fake GPUs, with a torch for CPUs: subclasses that torch takes for CUDA tensors. Their operators see only work that
was given to torch's current stream."""
import collections
import contextlib
import ctypes
import warnings

import pytest

torch = pytest.importorskip('torch')

import fake_gpu  # noqa: E402

current = {}  # GPU -> stream
handles = set()  # of all streams
counts = collections.Counter()
kernels = {}  # operator of aten or myriad -> its implementation for CUDA


class Stream:
    def __init__(self, handle=None, device=0):
        self.cuda_stream, self.device = fake_gpu.make_stream(device) if handle is None else handle, device
        handles.add(self.cuda_stream)

    def __cuda_stream__(self):
        return 0, self.cuda_stream


def external_stream(handle, device):
    assert handle % 2 == 0, 'torch takes odd handles for streams of its own'
    return Stream(handle, device)


def index_of(device):
    return device if isinstance(device, int) else torch.device(device).index or 0


def current_stream(device=0):
    return current.get(index_of(device), Stream(0))


@contextlib.contextmanager
def stream(s):
    device = index_of(s.device)
    before = current_stream(device)
    current[device] = s
    try:
        yield
    finally:
        current[device] = before


class Gpu(torch.Tensor):
    """A CUDA tensor; the elements are those of `host`, a tensor on the CPU in memory of the GPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    __dlpack_c_exchange_api__ = None

    @staticmethod
    def __new__(cls, host, device):
        return torch.Tensor._make_wrapper_subclass(cls, host.shape, strides=host.stride(), storage_offset=host.storage_offset(), dtype=host.dtype,
                                                   device=torch.device('cuda', device))

    def __init__(self, host, device):
        self.host = host

    def data_ptr(self):
        return self.host.data_ptr()

    def cpu(self):
        fake_gpu.run(current_stream(self.device.index).cuda_stream)
        return self.host.clone()

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return dispatch(function, args, kwargs or {})


def gpu(x, device=0):
    """A tensor on a GPU with the elements of x."""
    size = x.numel() * x.element_size()
    memory = fake_gpu.Memory(size, device, current_stream(device).cuda_stream)
    buffer = (ctypes.c_char * max(size, 1)).from_address(memory.ptr)
    buffer.memory = memory
    host = torch.frombuffer(buffer, dtype=x.dtype, count=x.numel()).view(x.shape) if size else torch.empty(x.shape, dtype=x.dtype)
    host = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype) if not x.is_contiguous() else host
    host.copy_(x)
    alive.append(host)
    return Gpu(host, device)


alive = []  # what a pending kernel may use; torch frees memory in the order of a stream


def dispatch(function, args, kwargs):
    name = function._schema.name.split('::')[-1]
    if name in kernels:
        with Factories():
            return kernels[name](*args, **kwargs)
    devices = set()

    def host(x):
        if isinstance(x, Gpu):
            devices.add(x.device.index)
            return x.host
        if isinstance(x, (list, tuple)):
            return type(x)(map(host, x))
        if isinstance(x, torch.device) and x.type == 'cuda':
            devices.add(x.index or 0)
            return torch.device('cpu')
        return x

    args, kwargs = host(list(args)), {k: host(v) for k, v in kwargs.items()}
    assert len(devices) == 1, devices
    device, = devices
    fake_gpu.run(current_stream(device).cuda_stream)
    result = function(*args, **kwargs)

    def back(x):
        if isinstance(x, torch.Tensor):
            alive.append(x)
            return Gpu(x, device)
        return type(x)(map(back, x)) if isinstance(x, (list, tuple)) else x

    return back(result)


class Factories(torch.utils._python_dispatch.TorchDispatchMode):
    """Makes tensors for torch.empty(..., device='cuda')."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(isinstance(x, torch.device) and x.type == 'cuda' for x in kwargs.values()):
            return dispatch(function, args, kwargs)
        return function(*args, **kwargs)


@pytest.fixture
def cuda(monkeypatch):
    """torch.cuda on the fake GPUs."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # a torch for CUDA finds no GPU
        torch._C._ensureCUDADeviceGuardSet()
    held = {}

    def allocate(size, device, stream):
        assert stream != fake_gpu.LEGACY, 'torch keeps the legacy stream under 0'
        memory = fake_gpu.Memory(size, device, stream)
        held[memory.ptr] = memory
        counts['allocations'] += 1
        return memory.ptr

    for name, value in {'_lazy_init': lambda: None, 'current_stream': current_stream, 'stream': stream, 'ExternalStream': external_stream,
                        'default_stream': lambda device: Stream(0, device), 'is_current_stream_capturing': lambda: False,
                        'caching_allocator_alloc': allocate, 'caching_allocator_delete': held.pop}.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(torch._C, '_cuda_getCurrentRawStream', lambda device: current_stream(device).cuda_stream)
    fake_gpu.driver.fake_cuda_be_lazy(1)
    with Factories():
        yield
    fake_gpu.driver.fake_cuda_be_lazy(0)
    for handle in handles:
        fake_gpu.run(handle)
    alive.clear()
    assert not held and fake_gpu.count('misuses') == 0
