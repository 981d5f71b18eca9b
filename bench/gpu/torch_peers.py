#!/usr/bin/env python3
"""Adds the times of torch to a raw file of gpu_bench, on the same GPU and for the same routines, types, sizes and batches.

Usage: torch_peers.py FILE

torch chooses between cuSOLVER, cuBLAS and MAGMA. Rows without a counterpart in torch stay as they are. A time is the median of several calls on
fresh copies of random column-major matrices; a routine that torch loops over is timed on a part of the batch.
"""
import json, pathlib, statistics, sys

import torch

DTYPES = {'s': torch.float32, 'd': torch.float64, 'c': torch.complex64, 'z': torch.complex128}
LOOPED_NS = 20_000  # a routine that takes longer per matrix is timed on fewer matrices
MOST_SECONDS = 1.0  # of one call


def random(dtype, count, rows, columns):
    """Column-major matrices, as torch's factorizations return them."""
    return torch.randn(count, columns, rows, dtype=dtype, device='cuda').mT


def positive(dtype, count, n):
    a = random(dtype, count, n, n)
    a = a @ a.mH
    a.diagonal(dim1=-2, dim2=-1).add_(n)
    return a.mT.contiguous().mT


# Operand for dtype, count and n, and the call
ROUTINES = {
    'getrf': (lambda t, c, n: random(t, c, n, n), torch.linalg.lu_factor_ex),
    'potrf': (lambda t, c, n: positive(t, c, n), torch.linalg.cholesky_ex),
    'geqrf': (lambda t, c, n: random(t, c, n, n), torch.geqrf),
    'inverse': (lambda t, c, n: random(t, c, n, n), torch.linalg.inv_ex),
    'det': (lambda t, c, n: random(t, c, n, n), torch.linalg.det),
    'syevd': (lambda t, c, n: positive(t, c, n), torch.linalg.eigh),
    'gesvd': (lambda t, c, n: random(t, c, n, n), lambda a: torch.linalg.svd(a, full_matrices=False)),
}


def seconds(call, a):
    """The median of at most five calls, by events."""
    times = []
    for _ in range(5):
        fresh = a.clone()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call(fresh)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
        if sum(times) > MOST_SECONDS:
            break
    return statistics.median(times[1:] or times)  # the first call chooses and loads


def ns_per_matrix(row):
    operand, call = ROUTINES[row['routine']]
    dtype, count, n = DTYPES[row['dtype']], row['count'], row['n']
    few = min(count, 20)
    of_few = seconds(call, operand(dtype, few, n)) / few
    if few < count and of_few * 1e9 > LOOPED_NS:
        count = min(count, max(few, int(MOST_SECONDS / 4 / of_few)))
    return seconds(call, operand(dtype, count, n)) / count * 1e9


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__)
    if not torch.cuda.is_available():
        sys.exit('torch_peers: torch finds no GPU')
    path = pathlib.Path(sys.argv[1])
    data = json.loads(path.read_text())
    data['torch'] = torch.__version__
    for row in data['rows']:
        if row['routine'] not in ROUTINES or row['dtype'] not in DTYPES or row['layout'] != 'column_major' or 'columns' in row:
            continue
        try:
            row['peers']['torch'] = {'ns_per_matrix': ns_per_matrix(row)}
        except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
            print(f'torch_peers: {row["routine"]} {row["dtype"]} n = {row["n"]}: {str(error).splitlines()[0]}', file=sys.stderr)
    path.write_text(json.dumps(data))


main()
