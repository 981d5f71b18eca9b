"""Errors of the package."""
import numpy


class LinAlgError(numpy.linalg.LinAlgError):
    """Some matrices failed, or an array has a shape for which a function is not defined. A subclass of numpy.linalg.LinAlgError.

    info: LAPACK's error code for each matrix, an array of the caller's library with the shape of the leading axes; None for wrong shapes.
    """

    def __init__(self, text, info=None):
        super().__init__(text)
        self.info = info
