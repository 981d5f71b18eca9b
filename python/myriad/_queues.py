"""Queues for arrays: the one place where the package makes them."""
import collections
import threading

from . import _myriad

LEGACY_STREAM = 1  # CUDA's legacy default stream, which torch and CuPy call 0
_KEPT = 16  # GPU queues that a thread keeps; their streams, which are the caller's, must exist as long


class _Queues(threading.local):
    """A queue may be used by one thread at a time, so each thread has its own."""

    def __init__(self):
        self.cpu = _myriad.Queue('cpu')
        self.gpu = collections.OrderedDict()  # (device, stream) -> queue, the last one used at the end


_queues = _Queues()


def on_cpu():
    """The queue of this thread on the CPU."""
    return _queues.cpu


def on_gpu(device, stream):
    """The queue of this thread on a stream of a GPU. stream: an int; 0 is the legacy default stream."""
    key = device, stream or LEGACY_STREAM
    queues = _queues.gpu
    queue = queues.get(key)
    if queue is None:
        queue = queues[key] = _myriad.Queue('gpu', device=key[0], stream=key[1])
        if len(queues) > _KEPT:
            queues.popitem(last=False)  # its stream is the caller's, so nothing is waited for
    else:
        queues.move_to_end(key)
    return queue


def handle_of(stream):
    """The CUDA stream as an int: of an int, or of an object with __cuda_stream__."""
    if isinstance(stream, int):
        return stream
    try:
        version, handle = stream.__cuda_stream__()
    except AttributeError:
        raise TypeError(f'stream must be an int or have __cuda_stream__, is a {type(stream).__name__}') from None
    if version != 0:
        raise ValueError(f'__cuda_stream__ has version {version}; supported is 0')
    return handle
