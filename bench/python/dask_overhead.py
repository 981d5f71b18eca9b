#!/usr/bin/env python3
"""Times myriad.linalg.solve of dask arrays beside a direct call on the CPU and prints the table of docs/scaling.md.

usage: dask_overhead.py [BATCH [N]]; the defaults are 100000 systems of 8 rows with one right-hand side. Times are CPU time of all processes for a
call, the mean of seven. Arrays and results stay in the worker processes, two with one thread each.
"""
import os
import sys
import time

os.environ.setdefault('MYRIAD_NUM_THREADS', '1')

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import myriad
from myriad import linalg

RUNS = 7


def mean(function, arguments, client=None):
    """Milliseconds of CPU time in this process and in the workers, for a call of the function."""
    def total():
        return time.process_time() + sum(client.run(time.process_time).values() if client else ())

    begin = total()
    for x in arguments:
        function(x)
    return 1e3 * (total() - begin) / len(arguments)


def nothing(a, b):
    return b


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    rng = np.random.default_rng(0)
    a = rng.standard_normal((count, n, n)) + n * np.eye(n)
    sides = [rng.standard_normal((count, n, 1)) for _ in range(RUNS)]  # others each time: a cluster keeps results of equal calls
    mean(lambda b: linalg.solve(a, b), sides)
    print(f'{count} systems of {n} rows; ms of CPU time. A direct call: {mean(lambda b: linalg.solve(a, b), sides):.1f}')
    print('| chunks | two threads | two workers | the same without a solve | and results fetched |')
    print('|---|---|---|---|---|')
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        for chunks in (2, 10, 100):
            x, *ys = (da.from_array(z, chunks=(-(-count // chunks), *z.shape[1:])) for z in (a, *sides))
            with dask.config.set(scheduler='threads', num_workers=2):
                on_threads = mean(lambda y: linalg.solve(x, y).compute(), ys)
            x, *ys = client.persist([x, *ys])
            wait([x, *ys])
            mean(lambda y: wait(linalg.solve(x, y).persist()), ys, client)
            on_workers = mean(lambda y: wait(linalg.solve(x, y + 1).persist()), ys, client)
            moved = mean(lambda y: wait(da.map_blocks(nothing, x, y + 1, meta=y._meta, chunks=y.chunks).persist()), ys, client)
            fetched = mean(lambda y: linalg.solve(x, y + 2).compute(), ys, client)
            print(f'| {chunks} | {on_threads:.1f} | {on_workers:.1f} | {moved:.1f} | {fetched:.1f} |', flush=True)


if __name__ == '__main__':
    main()
