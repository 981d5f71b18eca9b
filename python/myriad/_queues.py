"""Queues for arrays: the one place where the package makes them."""
import collections
import contextlib
import threading

from . import _myriad

LEGACY_STREAM = 1  # CUDA's legacy default stream, which torch and CuPy call 0
UPLOAD_IN_CAPTURE = ('a ragged batch is used for the first time on a stream that is being captured; '
                     'call the routine once on this stream before the capture, with out= and other results of the caller')
_KEPT = 16  # GPU queues that a thread keeps


class _Queues(threading.local):
    """A queue may be used by one thread at a time, so each thread has its own."""

    def __init__(self):
        self.cpu = {}  # number of threads -> queue
        self.gpu = collections.OrderedDict()  # (library, device, stream) -> queue, the last one used at the end
        self.given = []  # queues of using(), the innermost last


_queues = _Queues()


def on_cpu(threads=0):
    """The queue of this thread on the CPU. threads: CPU threads; 0: MYRIAD_NUM_THREADS, else all cores."""
    if _queues.given:
        for queue in reversed(_queues.given):
            if queue.backend == 'cpu':
                return queue
    queue = _queues.cpu.get(threads)
    if queue is None:
        queue = _queues.cpu[threads] = _myriad.Queue('cpu', threads=threads)
    return queue


def on_gpu(library, device, stream):
    """The queue of this thread on a stream of a GPU, with workspace from the library's memory. stream: an int; 0 is the legacy default stream.

    library: the name of the arrays' library, and allocator, which returns the functions for Queue.set_allocator, or None for the queue's pool.
    """
    stream = stream or LEGACY_STREAM
    for queue in reversed(_queues.given):
        if queue.device == device:
            if queue.stream != stream:
                raise ValueError(f'myriad.using: the queue is on stream {queue.stream}; the current stream of {library.name} is {stream}')
            return queue
    key = library.name, device, stream
    queues = _queues.gpu
    queue = queues.get(key)
    if queue is None:
        queue = _myriad.Queue('gpu', device=device, stream=stream)
        functions = library.allocator(device)
        if functions is not None:
            queue.set_allocator(*functions)
        queues[key] = queue
        if len(queues) > _KEPT:
            queues.popitem(last=False)  # its stream is the caller's, so nothing is waited for
    else:
        queues.move_to_end(key)
    return queue


@contextlib.contextmanager
def using(queue):
    """Lets the calls of this thread in the block run on this Queue, where it is on the processor of the arrays.

    A queue on a GPU must be on the current stream of the arrays' library, since that makes and copies arrays there. Its workspace comes from
    its own pool, or from the functions of Queue.set_allocator. A queue on the CPU says how many threads compute.
    """
    if not isinstance(queue, _myriad.Queue):
        raise TypeError(f'myriad.using: queue is a {type(queue).__name__}; needs a myriad.Queue')
    _queues.given.append(queue)
    try:
        yield queue
    finally:
        _queues.given.pop()


def handle_of(stream):
    """The CUDA stream as an int: of an int, or of an object with __cuda_stream__. 1 is the legacy default stream, also where that is given as 0."""
    if not isinstance(stream, int):
        try:
            version, stream = stream.__cuda_stream__()
        except AttributeError:
            raise TypeError(f'stream must be an int or have __cuda_stream__, is a {type(stream).__name__}') from None
        if version != 0:
            raise ValueError(f'__cuda_stream__ has version {version}; supported is 0')
    if not isinstance(stream, int) or stream < 0:
        raise ValueError(f'stream is {stream!r}; needs a CUDA stream, an int that is not negative')
    return stream or LEGACY_STREAM
