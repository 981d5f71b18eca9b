"""Dense linear algebra for a myriad of small matrices.

myriad.linalg    the functions of the Python array API standard, for stacks of matrices
myriad.lapack    LAPACK's routines by name, in place where wanted
myriad.batched   matrices of different sizes, mixed precision, regularized factorizations, grouped products
myriad.numpy     lets numpy.linalg compute by Myriad
myriad.scipy     lets scipy.linalg compute by Myriad
myriad.torch     lets torch compute by Myriad, and operators with gradients; imported by itself, since it needs torch
myriad.jax       lets JAX compute by Myriad, and functions with derivatives; imported by itself, since it needs JAX

Arrays of NumPy, torch, CuPy and other libraries with __dlpack__ go in without copies; results are arrays of the same library.
"""
import ctypes as _ctypes
import os as _os
import sys as _sys
import warnings as _warnings

from . import _myriad
from ._errors import LinAlgError
from ._myriad import Error, Queue, Unavailable
from ._queues import using
from . import batched, lapack, linalg

__version__ = _myriad.__version__

# NVRTC, the compiler of GPU kernels, comes with torch, JAX and the extra [cuda13], into the folders of this interpreter.
for _folder in _sys.path:
    try:
        _folder = _os.path.abspath(_os.fsdecode(_folder))
        if _os.path.isdir(_os.path.join(_folder, 'nvidia')):
            _myriad.search_nvrtc(_folder)
    except (OSError, TypeError, ValueError):
        pass  # sys.path may hold anything; import ignores such entries, too


# Compiled GPU kernels, where the package myriad-linalg-kernels is installed.
try:
    import myriad_linalg_kernels as _kernels
except ImportError:
    _kernels = None
else:
    _myriad.search_packs(_kernels.FOLDER)
    if _kernels.__version__ != __version__:
        _warnings.warn(f'myriad-linalg-kernels {_kernels.__version__} has kernels of another version than myriad-linalg {__version__}, which '
                       'compiles its own; install the same versions', stacklevel=2)


def _end_threads_before_fork():
    """Ends OpenMP's threads before os.fork(): the child has none of them, and would wait for them forever. The next call starts new ones."""
    hard = 2  # omp_pause_hard
    for pause in _pauses:
        pause(hard)


# The extension's own OpenMP, or that of a library which was loaded for the whole process, as torch loads one.
_pauses = []
for _name in (_myriad.__file__, None):
    try:
        _pauses.append(_ctypes.CDLL(_name).omp_pause_resource_all)
    except (AttributeError, OSError):
        break  # an OpenMP older than 5.0, or none: the pool of a wheel needs nothing, and torch's OpenMP is left alone
if hasattr(_os, 'register_at_fork'):
    _os.register_at_fork(before=_end_threads_before_fork)

__all__ = ['Error', 'LinAlgError', 'Queue', 'Unavailable', 'batched', 'info', 'lapack', 'linalg', 'using']


def info() -> dict:
    """Version, CPU threads, whether a GPU can be used, with the reason if not, and the version of the compiled kernels, None without them."""
    cpu, automatic = Queue('cpu'), Queue('automatic')
    return {
        'version': __version__, 'threads': cpu.threads, 'gpu': automatic.backend == 'gpu', 'gpu_problem': automatic.gpu_problem,
        'kernels': _kernels.__version__ if _kernels else None,
    }
