"""XLA's side of its foreign function interface, so that handlers can be called without XLA; see python/src/xla_ffi.hpp."""
import ctypes
import threading
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_void_p

import numpy as np

from myriad import _myriad

Header = [('size', c_size_t), ('extensions', c_void_p)]
TYPES = {'f4': 11, 'f8': 12, 'c8': 15, 'c16': 18, 'i4': 4, 'f2': 10}


def struct(name, *members):
    return type(name, (Structure,), {'_fields_': [*Header, *members]})


class Version(Structure):
    _fields_ = [*Header, ('major', c_int), ('minor', c_int)]


class Metadata(Structure):
    _fields_ = [('size', c_size_t), ('version', Version), ('traits', c_uint32), ('state', c_int64)]


class MetadataExtension(Structure):
    _fields_ = [('size', c_size_t), ('type', c_int), ('next', c_void_p), ('metadata', POINTER(Metadata))]


class Text(Structure):
    _fields_ = [('data', c_char_p), ('size', c_size_t)]


class Scalar(Structure):
    _fields_ = [('type', c_int), ('value', c_void_p)]


Buffer = struct('Buffer', ('type', c_int), ('data', c_void_p), ('rank', c_int64), ('dims', POINTER(c_int64)))
Operands = struct('Operands', ('count', c_int64), ('kinds', POINTER(c_int)), ('buffers', POINTER(POINTER(Buffer))))
Attributes = struct('Attributes', ('count', c_int64), ('kinds', POINTER(c_int)), ('names', POINTER(POINTER(Text))), ('values', POINTER(c_void_p)))
CreateError = struct('CreateError', ('message', c_char_p), ('code', c_int))
ErrorMessage = struct('ErrorMessage', ('error', c_void_p), ('message', c_char_p))
DestroyError = struct('DestroyError', ('error', c_void_p))
GetStream = struct('GetStream', ('context', c_void_p), ('stream', c_void_p))
GetDevice = struct('GetDevice', ('context', c_void_p), ('device', c_int32))
Allocate = struct('Allocate', ('context', c_void_p), ('bytes', c_size_t), ('alignment', c_size_t), ('memory', c_void_p))
Free = struct('Free', ('context', c_void_p), ('bytes', c_size_t), ('memory', c_void_p))
Schedule = struct('Schedule', ('context', c_void_p), ('task', ctypes.CFUNCTYPE(None, c_void_p)), ('data', c_void_p))
CountThreads = struct('CountThreads', ('context', c_void_p), ('threads', POINTER(c_int64)))
FUNCTIONS = {
    'create_error': CreateError, 'error_message': ErrorMessage, 'destroy_error': DestroyError, 'register_handler': None, 'get_stream': GetStream,
    'register_type': None, 'get_from_context': None, 'set_state': None, 'get_state': None, 'allocate': Allocate, 'free': Free,
    'schedule': Schedule, 'count_threads': CountThreads, 'create_future': None, 'set_future': None, 'set_future_error': None, 'get_run': None,
    'get_device': GetDevice,
}  # fmt: skip
Api = struct('Api', ('version', Version), ('internal', c_void_p), *((name, c_void_p) for name in FUNCTIONS))
CallFrame = struct('CallFrame', ('api', POINTER(Api)), ('context', c_void_p), ('stage', c_int), ('arguments', Operands), ('results', Operands),
                   ('attributes', Attributes), ('future', c_void_p))  # fmt: skip
STAGES = {'initialize': 2, 'execute': 3}

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, (ctypes.py_object, c_char_p)


def handler(routine, platform, stage='execute'):
    return ctypes.CFUNCTYPE(c_void_p, POINTER(CallFrame))(_pointer(_myriad.xla_routines()[routine][3][platform][stage], None))


def array(element, values):
    return (element * len(values))(*values)


class Xla:
    """XLA with a pool of `threads` threads, a GPU and its stream. Memory is from `allocate(bytes)`, by default the host's."""

    def __init__(self, threads=1, device=0, stream=1, allocate=None, free=None):
        self.threads, self.device, self.stream, self.tasks, self.errors = threads, device, stream, 0, []
        self.live, self.allocated = {}, 0
        self._from, self._to = allocate, free
        self.api = Api(size=ctypes.sizeof(Api))
        self._functions = []
        for name, arguments in FUNCTIONS.items():
            if arguments is not None:
                function = ctypes.CFUNCTYPE(c_void_p, POINTER(arguments))(self._checked(name, arguments))
                self._functions.append(function)
                setattr(self.api, name, ctypes.cast(function, c_void_p))

    def _checked(self, name, arguments):
        last, kind = arguments._fields_[-1]
        end = getattr(arguments, last).offset + ctypes.sizeof(kind)

        def call(pointer):
            assert pointer.contents.size == end, name
            return getattr(self, '_' + name)(pointer.contents)

        return call

    def _create_error(self, x):
        self.errors.append((x.code, x.message.decode()))
        return len(self.errors)

    def _error_message(self, x):
        x.message = b'a message'

    def _destroy_error(self, x):
        pass

    def _get_stream(self, x):
        x.stream = self.stream

    def _get_device(self, x):
        x.device = self.device

    def _allocate(self, x):
        assert x.alignment <= 16  # of XLA
        if self._from is not None:
            x.memory = memory = self._from(x.bytes)
            keep = None
        else:
            keep = ctypes.create_string_buffer(x.bytes + 16)
            x.memory = memory = ctypes.addressof(keep) + 16
        if not memory:
            return self._create_error(CreateError(message=b'out of memory', code=8))
        self.live[memory] = (x.bytes, keep)
        self.allocated += 1

    def _free(self, x):
        assert self.live.pop(x.memory)[0] == x.bytes
        if self._to is not None:
            self._to(x.memory)

    def _schedule(self, x):
        self.tasks += 1
        task, data = ctypes.cast(x.task, c_void_p).value, x.data
        threading.Thread(target=lambda: ctypes.CFUNCTYPE(None, c_void_p)(task)(data)).start()

    def _count_threads(self, x):
        x.threads[0] = self.threads

    def call(self, routine, arguments, results, letters=None, platform='cpu', stage='execute'):
        """Calls a handler with NumPy arrays, or (address, shape, dtype) of those elsewhere. Returns None or (code, message)."""
        frame = CallFrame(size=ctypes.sizeof(CallFrame), api=ctypes.pointer(self.api), stage=STAGES[stage])
        frame.arguments, frame.results = self._operands(arguments), self._operands(results)
        letters = sorted((letters or {}).items())
        values = [c_uint8(ord(letter)) for _, letter in letters]
        scalars = [Scalar(6, ctypes.addressof(value)) for value in values]
        names = [ctypes.pointer(Text(name.encode(), len(name))) for name, _ in letters]
        frame.attributes = Attributes(0, None, len(letters), array(c_int, [3] * len(letters)), array(POINTER(Text), names),
                                      array(c_void_p, [ctypes.addressof(scalar) for scalar in scalars]))  # fmt: skip
        error = handler(routine, platform, stage)(ctypes.pointer(frame))
        return self.errors[error - 1] if error else None

    def _operands(self, arrays):
        buffers = []
        for x in arrays:
            at, shape, dtype = (x.ctypes.data, x.shape, x.dtype) if isinstance(x, np.ndarray) else x
            dims = array(c_int64, shape)
            buffers.append(ctypes.pointer(Buffer(0, None, TYPES[np.dtype(dtype).str[1:]], at, len(shape), dims)))
        return Operands(0, None, len(arrays), array(c_int, [1] * len(arrays)), array(POINTER(Buffer), buffers))


def version_of(routine, platform):
    """The answer of a handler to XLA's question for its version."""
    metadata = Metadata(size=ctypes.sizeof(Metadata), traits=7, state=7)
    extension = MetadataExtension(ctypes.sizeof(MetadataExtension), 1, None, ctypes.pointer(metadata))
    frame = CallFrame(extensions=ctypes.addressof(extension))
    assert handler(routine, platform)(ctypes.pointer(frame)) is None
    return metadata.version.major, metadata.version.minor, metadata.traits, metadata.state
