"""Dense linear algebra for a myriad of small matrices.

myriad.linalg    the functions of the Python array API standard, for stacks of matrices
myriad.lapack    LAPACK's routines by name, in place where wanted
myriad.batched   matrices of different sizes, mixed precision, regularized factorizations, grouped products
myriad.numpy     lets numpy.linalg compute by Myriad
myriad.scipy     lets scipy.linalg compute by Myriad
myriad.torch     lets torch compute by Myriad, and operators with gradients; imported by itself, since it needs torch

Arrays of NumPy, torch and any library with __dlpack__ go in without copies; results are arrays of the same library.
"""
import os as _os
import sys as _sys

from . import _myriad
from ._errors import LinAlgError
from ._myriad import Error, Queue, Unavailable
from . import batched, lapack, linalg

__version__ = _myriad.__version__

# NVRTC, the compiler of GPU kernels, comes with torch, JAX and the extra [cuda13], into the folders of this interpreter.
for _folder in _sys.path:
    if _os.path.isdir(_os.path.join(_folder, 'nvidia')):
        _myriad.search_nvrtc(_folder)
__all__ = ['Error', 'LinAlgError', 'Queue', 'Unavailable', 'batched', 'info', 'lapack', 'linalg']


def info() -> dict:
    """Version, CPU threads, and whether a GPU can be used, with the reason if not."""
    cpu, automatic = Queue('cpu'), Queue('automatic')
    return {'version': __version__, 'threads': cpu.threads, 'gpu': automatic.backend == 'gpu', 'gpu_problem': automatic.gpu_problem}
