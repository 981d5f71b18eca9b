#!/usr/bin/env python3
"""Times jax.numpy.linalg with and without myriad.jax on the CPU and prints the table of docs/python.md.

usage: jax_speed.py [BATCH [N...]]; the defaults are 10000 matrices in double precision, and n = 4, 8, 16, 32. Calls alternate, and the fastest
of each kind counts. Times are CPU time of all threads: JAX computes a batch in one thread, Myriad in all.
"""
import os
import sys
import time

os.environ['OPENBLAS_NUM_THREADS'] = '1'  # JAX's LAPACK; its threads would wait for each other in loops

import jax
import jax.numpy as jnp
import numpy as np

import myriad.jax

jax.config.update('jax_enable_x64', True)
jax.config.update('jax_platforms', 'cpu')

FUNCTIONS = {
    'cholesky': jnp.linalg.cholesky,
    'solve': lambda a: jnp.linalg.solve(a, a[..., :1]),
    'inv': jnp.linalg.inv,
    'eigh': jnp.linalg.eigh,
    'svd': lambda a: jnp.linalg.svd(a, full_matrices=False),
}
OWN = {
    'cholesky': myriad.jax.cholesky,
    'solve': lambda a: myriad.jax.solve(a, a[..., :1]),
    'inv': myriad.jax.inv,
    'eigh': myriad.jax.eigh,
    'svd': lambda a: myriad.jax.svd(a, full_matrices=False),
}


def compiled(function, a):
    return jax.jit(function).lower(a).compile()


def seconds(function, a):
    begin = time.process_time()
    jax.block_until_ready(function(a))
    return time.process_time() - begin


def main():
    batch = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    sizes = [int(n) for n in sys.argv[2:]] or [4, 8, 16, 32]
    rng = np.random.default_rng(0)
    print(f'JAX {jax.__version__}, {batch} matrices in double precision; milliseconds of JAX / enable() / myriad.jax')
    print('| function | ' + ' | '.join(map(str, sizes)) + ' |')
    print('|---|' + '---|' * len(sizes))
    for name, function in FUNCTIONS.items():
        cells = []
        for n in sizes:
            x = rng.standard_normal((batch, n, n))
            a = jnp.asarray(x @ x.transpose(0, 2, 1) + n * np.eye(n))
            runs = [compiled(function, a)]
            with myriad.jax.enabled():
                runs.append(compiled(function, a))
            runs.append(compiled(OWN[name], a))
            times = [[seconds(run, a) for run in runs] for _ in range(2)]
            times += [[seconds(run, a) for run in runs] for _ in range(min(20, int(1 / sum(times[-1]))))]
            cells.append(' / '.join(f'{1e3 * min(column):.3g}' for column in zip(*times)))
        print(f'| `{name}` | {" | ".join(cells)} |', flush=True)


if __name__ == '__main__':
    main()
