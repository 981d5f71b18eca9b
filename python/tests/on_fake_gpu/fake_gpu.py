"""The fake CUDA driver of tests/runtime, with two GPUs whose memory is host memory. Load it before anything opens the real driver."""
import contextlib
import ctypes
import os
import pathlib

import numpy as np

folder = pathlib.Path(os.environ['MYRIAD_FAKE_GPU'])  # tools/python-test sets it
os.environ['MYRIAD_NVRTC'] = str(folder / 'libfake_nvrtc.so')
os.environ['MYRIAD_CACHE_DIR'] = 'off'
driver = ctypes.CDLL(str(folder / 'libcuda.so.1'), ctypes.RTLD_GLOBAL)
ctypes.CDLL(str(folder / 'libfake_kernels.so'))
driver.fake_cuda_count.restype = ctypes.c_longlong
driver.fake_cuda_kernel.restype = ctypes.c_char_p
for name in ('fake_cuda_stream', 'fake_cuda_allocate'):
    getattr(driver, name).restype = ctypes.c_void_p

LEGACY, PER_THREAD = 1, 2


def count(name):
    number = driver.fake_cuda_count(name.encode())
    assert number >= 0, name
    return number


def stream_of_last_launch():
    return driver.fake_cuda_stream()


def run(stream):
    """Runs the work on a stream, which nobody waits for."""
    driver.fake_cuda_run(ctypes.c_void_p(stream))


class Memory:
    """Memory of a GPU, freed in the order of a stream."""

    def __init__(self, size, device, stream):
        self.ptr, self.size, self.device, self.stream = driver.fake_cuda_allocate(ctypes.c_longlong(max(size, 1)), device), size, device, stream

    def __del__(self):
        driver.fake_cuda_free(ctypes.c_void_p(self.ptr), ctypes.c_void_p(self.stream))

    def array(self, shape, dtype):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return np.frombuffer((ctypes.c_char * size).from_address(self.ptr), dtype).reshape(shape)


def make_stream(device=0):
    """A non-blocking stream of a GPU."""
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    assert driver.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
    return stream.value


captured = None


@contextlib.contextmanager
def capture(stream):
    """Captures a stream: its work is not run."""
    global captured
    captured = stream
    driver.fake_cuda_capture(ctypes.c_void_p(stream))
    try:
        yield
    finally:
        captured = None
        driver.fake_cuda_capture(None)


def destroy_stream(stream):
    assert driver.cuStreamDestroy_v2(ctypes.c_void_p(stream)) == 0


# ---- DLPack -------------------------------------------------------------------------------------


class _Tensor(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('device_type', ctypes.c_int32), ('device_id', ctypes.c_int32), ('ndim', ctypes.c_int32),
                ('code', ctypes.c_uint8), ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16), ('shape', ctypes.c_void_p),
                ('strides', ctypes.c_void_p), ('byte_offset', ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [('major', ctypes.c_uint32), ('minor', ctypes.c_uint32), ('context', ctypes.c_void_p), ('deleter', ctypes.c_void_p),
                ('flags', ctypes.c_uint64), ('tensor', _Tensor)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def capsule_of(x, device):
    """A DLPack capsule of the array x, whose memory is that of a GPU, and what must live as long."""
    sizes = (ctypes.c_int64 * (2 * x.ndim))(*x.shape, *(s // x.itemsize for s in x.strides))
    at = ctypes.addressof(sizes)
    tensor = _Tensor(x.__array_interface__['data'][0], 2, device, x.ndim, {'i': 0, 'f': 2, 'c': 5}[x.dtype.kind], 8 * x.itemsize, 1, at,
                     at + 8 * x.ndim, 0)
    managed = _Versioned(1, 0, None, None, 0, tensor)
    return _new_capsule(ctypes.addressof(managed), b'dltensor_versioned', None), (managed, sizes)
