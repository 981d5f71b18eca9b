"""Systems of a Zarr store that does not fit into memory, solved into another store by worker processes of dask.

Every worker reads a chunk of matrices, solves its systems in one call, and writes a chunk of solutions. Memory holds the chunks that are being
worked on: `--size full` has 4 GB of matrices and two workers with 512 MiB each. A last pass compares every chunk with NumPy.
"""
import argparse
import pathlib
import resource
import tempfile

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, progress
from myriad import linalg

from support import check

ROWS = 16


def write(client, what, array, path):
    """Computes the array chunk by chunk into a Zarr store, with a progress bar."""
    print(f'{what}: {array.nbytes / 1e6:.0f} MB in {array.npartitions} chunks -> {path}')
    future = client.compute(array.to_zarr(path, compute=False, overwrite=True))
    progress(future)
    future.result()
    print()


def difference(a, b, x):
    """The largest difference of a chunk to NumPy's solutions, relative to the largest of them."""
    expected = np.linalg.solve(a, b)
    return np.abs(x - expected).max(keepdims=True) / np.abs(expected).max()


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB


def solve(client, folder, count, chunk):
    rng = da.random.default_rng(7)
    matrices = rng.standard_normal((count, ROWS, ROWS), chunks=(chunk, ROWS, ROWS)) + ROWS * np.eye(ROWS)
    write(client, 'matrices', matrices, folder / 'a.zarr')
    write(client, 'right-hand sides', rng.standard_normal((count, ROWS, 2), chunks=(chunk, ROWS, 2)), folder / 'b.zarr')

    a, b = da.from_zarr(folder / 'a.zarr'), da.from_zarr(folder / 'b.zarr')
    write(client, 'solutions', linalg.solve(a, b), folder / 'x.zarr')
    print(f'largest memory of a worker: {max(client.run(peak_memory).values()):.0f} MiB; matrices: {a.nbytes / 2**20:.0f} MiB')

    x = da.from_zarr(folder / 'x.zarr')
    differences = da.map_blocks(difference, a, b, x, chunks=(1, 1, 1), dtype='f8')
    check('relative difference to NumPy', differences.max().compute(), 1e-12)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--size', choices=('small', 'full'), default='small', help='10 000 or 2 000 000 matrices; default: small')
    parser.add_argument('--folder', type=pathlib.Path, help='folder for the stores, which are kept; default: a temporary one')
    parser.add_argument('--workers', type=int, default=2, help='worker processes; default: %(default)s')
    parser.add_argument('--memory', default='512MiB', help='memory of a worker; default: %(default)s')
    options = parser.parse_args(argv)
    count, chunk = (2_000_000, 10_000) if options.size == 'full' else (10_000, 500)
    with LocalCluster(n_workers=options.workers, threads_per_worker=1, memory_limit=options.memory, dashboard_address=None) as cluster, \
            Client(cluster) as client, tempfile.TemporaryDirectory() as temporary:
        solve(client, options.folder or pathlib.Path(temporary), count, chunk)


if __name__ == '__main__':
    main()
