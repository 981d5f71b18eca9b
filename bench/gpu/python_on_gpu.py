#!/usr/bin/env python3
"""Checks the Python package on a GPU, with torch and where they are installed CuPy and JAX, and measures it beside them.

    tools/python-test --build-only && pip install torch cupy-cuda13x 'jax[cuda13]'   # in build/python-venv
    PYTHONPATH=build/python/site build/python-venv/bin/python bench/gpu/python_on_gpu.py [--quick] [PART...]

Parts: results, streams, memory, graphs, gradients, ragged, gpus, cupy, jax, opinfo, overhead, speed; all by default. A line for each check
ends with ok or FAILED and the reason; a part whose library or second GPU is missing says so. Exits with 1 after a failure. --quick leaves out
most operators of opinfo, most sizes of jax, and most rows of the tables. Times are medians in milliseconds of the whole batch, by events.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import traceback

import torch

import myriad
import myriad.torch
from myriad import batched, lapack, linalg

parts = {}
failed = []
TOLERANCE = {torch.float32: 2e-4, torch.complex64: 2e-4, torch.float64: 1e-10, torch.complex128: 1e-10}
SLEEP = 200_000_000  # cycles of a GPU, about 0.1 s


def part(f):
    parts[f.__name__] = f
    return f


def check(name, f):
    """Runs f, which returns None or a text to print, and raises where something is wrong."""
    try:
        text = f()
        torch.cuda.synchronize()
        print(f'{name:<60} ok{"  " + text if text else ""}', flush=True)
    except Exception as error:
        failed.append(name)
        print(f'{name:<60} FAILED  {type(error).__name__}: {error}', flush=True)
        traceback.print_exc(limit=-3)


def same(x, expected, tolerance=None):
    size = max(float(expected.abs().max()), 1e-30) if expected.numel() else 1
    error = float((x - expected).abs().max()) / size if expected.numel() else 0
    limit = tolerance or TOLERANCE[expected.dtype]
    assert x.shape == expected.shape and x.device == expected.device and error <= limit, f'error {error:.1e}, limit {limit:.0e}'


def matrices(*shape, dtype=torch.float64, device='cuda'):
    return torch.randn(*shape, dtype=dtype, device=device) + 2 * shape[-1] ** 0.5 * torch.eye(shape[-2], shape[-1], dtype=dtype, device=device)


def positive(*shape, dtype=torch.float64, device='cuda'):
    a = torch.randn(*shape, dtype=dtype, device=device)
    return a @ a.mH + shape[-1] * torch.eye(shape[-1], dtype=dtype, device=device)


@part
def results(quick):
    for dtype in TOLERANCE:
        for n in (1, 3, 8, 32, 33, 100) if not quick else (3, 33):
            def all_functions():
                a, s, b = matrices(20, n, n, dtype=dtype), positive(20, n, n, dtype=dtype), torch.randn(20, n, 2, dtype=dtype, device='cuda')
                eye = torch.eye(n, dtype=dtype, device='cuda')
                loose = TOLERANCE[dtype] * 10
                same(linalg.solve(a, b), torch.linalg.solve(a, b), loose)
                same(linalg.inv(a) @ a, eye.expand(20, n, n), loose)
                same(linalg.det(s / s.diagonal(dim1=-2, dim2=-1).abs().amax(-1)[:, None, None]),
                     torch.linalg.det(s / s.diagonal(dim1=-2, dim2=-1).abs().amax(-1)[:, None, None]), loose)
                same(linalg.cholesky(s), torch.linalg.cholesky(s))
                q, r = linalg.qr(a)
                same(q @ r, a, loose)
                same(q.mH @ q, eye.expand(20, n, n), loose)
                w, v = linalg.eigh(s)
                same(w, torch.linalg.eigvalsh(s), loose)
                same(v * w.to(dtype)[:, None] @ v.mH, s, loose)
                u, sv, vh = linalg.svd(a, full_matrices=False)
                same(sv, torch.linalg.svdvals(a), loose)
                same(u * sv.to(dtype)[:, None] @ vh, a, loose)
                same(linalg.pinv(a[..., :n]) @ a, eye.expand(20, n, n), loose * 10)
                same(linalg.matmul(a, b), a @ b)
                x, info = lapack.getrf(a)[0], lapack.potrf(s).info
                assert x.device == a.device and info.dtype == torch.int32 and not info.any()
            check(f'results: 20 matrices of {n} rows, {str(dtype)[6:]}', all_functions)

    def singular():
        a = positive(5, 8, 8)
        a[3] = 0
        try:
            linalg.cholesky(a)
        except myriad.LinAlgError as error:
            assert error.info.cpu().tolist() == [0, 0, 0, 1, 0]
        else:
            raise AssertionError('no LinAlgError')
        assert torch.linalg.norm(linalg.cholesky(a, check=False)[3]).isnan()

    check('results: failed matrices', singular)


@part
def streams(quick):
    a, b = matrices(1000, 8, 8), torch.randn(1000, 8, 2, dtype=torch.float64, device='cuda')
    expected = torch.linalg.solve(a, b)
    linalg.solve(a, b)  # compiles
    torch.cuda.synchronize()

    def ordered():
        """The input is written late on the current stream; a call on another one would read it too early."""
        with torch.cuda.stream(torch.cuda.Stream()):
            late = torch.zeros_like(a)
            torch.cuda._sleep(SLEEP)
            late.copy_(a)
            start = time.perf_counter()
            x = linalg.solve(late, b, check=False)
            spent = time.perf_counter() - start
            same(x, expected)
        assert spent < 0.02, f'the call waited for {spent:.3f} s'

    def named(stream_of):
        stream = torch.cuda.Stream()
        torch.cuda._sleep(SLEEP // 4)
        stream.wait_stream(torch.cuda.current_stream())
        x = lapack.gesv(a, b, stream=stream_of(stream)).x
        torch.cuda.current_stream().wait_stream(stream)
        same(x, expected)

    check('streams: the current stream, and nothing waits', ordered)
    check('streams: stream= a torch.cuda.Stream', lambda: named(lambda s: s))
    check('streams: stream= an int', lambda: named(lambda s: s.cuda_stream))
    for stream in (0, 1, 2):
        check(f'streams: stream={stream}', lambda: same(lapack.gesv(a, b, stream=stream).x, expected) if torch.cuda.synchronize() is None else None)


@part
def memory(quick):
    def torch_allocates():
        a = positive(100, 200, 200)
        with torch.cuda.stream(torch.cuda.Stream()):
            linalg.eigh(a, check=False)
            torch.cuda.synchronize()
            before, free = torch.cuda.memory_stats()['allocation.all.allocated'], torch.cuda.mem_get_info()[0]
            torch.cuda.reset_peak_memory_stats()
            peak = torch.cuda.memory_allocated()
            w, v = linalg.eigh(a, check=False)
            torch.cuda.synchronize()
            count = torch.cuda.memory_stats()['allocation.all.allocated'] - before
            workspace = torch.cuda.max_memory_allocated() - peak - sum(x.numel() * x.element_size() for x in (w, v))
            lost = free - torch.cuda.mem_get_info()[0]
        assert count > 3 and workspace > 0, f'{count} allocations, {workspace} bytes beside the results'
        assert lost < 64 << 20, f'{lost >> 20} MiB of GPU memory went elsewhere'
        return f'{count} allocations, {workspace >> 20} MiB of workspace'

    def own_allocator():
        stream, held = torch.cuda.Stream(), {}
        queue = myriad.Queue('gpu', device=torch.cuda.current_device(), stream=stream)

        def allocate(size, on):
            memory = torch.empty(size, dtype=torch.uint8, device='cuda')
            held[memory.data_ptr()] = memory
            return memory.data_ptr()

        queue.set_allocator(allocate, lambda address, size, on: held.pop(address))
        with torch.cuda.stream(stream), myriad.using(queue):
            a = positive(100, 200, 200)
            w = linalg.eigvalsh(a)
            same(w, torch.linalg.eigvalsh(a))
        assert not held

    def none_left():
        a, w = positive(100, 200, 200), torch.empty(100, 200, dtype=torch.float64, device='cuda')
        info = torch.empty(100, dtype=torch.int32, device='cuda')
        lapack.syevd(a, w=w, info=info)
        before = a.clone()
        torch.cuda.empty_cache()
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(torch.cuda.memory_reserved() / total)
        try:
            lapack.syevd(a, out=a, w=w, info=info)  # needs nothing but workspace
        except torch.cuda.OutOfMemoryError:
            pass
        else:
            raise AssertionError('no OutOfMemoryError')
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        assert torch.equal(a, before), 'the matrices were overwritten'
        lapack.syevd(a, out=a, w=w, info=info)
        same(w, torch.linalg.eigvalsh(before))

    check("memory: workspace is of torch's caching allocator", torch_allocates)
    check('memory: Queue.set_allocator and myriad.using', own_allocator)
    check("memory: torch's error where there is none", none_left)


@part
def graphs(quick):
    def captured(call, *inputs):
        def f():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    call(*inputs)  # loads the kernels
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = call(*inputs)
            for _ in range(2):
                for x in inputs:
                    x.mul_(1.5)
                graph.replay()
                same(out, call(*inputs))
        return f

    for n in (8, 100):
        a, s, b = matrices(100, n, n), positive(100, n, n), torch.randn(100, n, 2, dtype=torch.float64, device='cuda')
        check(f'graphs: linalg.solve of {n} rows', captured(lambda a, b: linalg.solve(a, b, check=False), a.clone(), b.clone()))
        check(f'graphs: myriad.torch.cholesky of {n} rows', captured(myriad.torch.cholesky, s.clone()))
        check(f'graphs: eigenvalues of {n} rows', captured(lambda s: linalg.eigvalsh(s, check=False), s.clone()))

    def compiled():
        def f(a, b):
            return myriad.torch.solve(a, b).sin() + 1

        a, b = matrices(100, 8, 8), torch.randn(100, 8, 2, dtype=torch.float64, device='cuda')
        for mode in ('default', 'reduce-overhead'):
            g = torch.compile(f, mode=mode, fullgraph=True)
            for _ in range(3):
                same(g(a, b), f(a, b))

    check('graphs: torch.compile, also with CUDA graphs', compiled)


@part
def gradients(quick):
    a, b = matrices(3, 4, 4).requires_grad_(), torch.randn(3, 4, 2, dtype=torch.float64, device='cuda', requires_grad=True)
    s = positive(3, 4, 4).requires_grad_()
    for name, f, inputs in (('solve', myriad.torch.solve, (a, b)), ('inv', myriad.torch.inv, (a,)),
                            ('cholesky', lambda s: myriad.torch.cholesky((s + s.mT) / 2), (s,)),
                            ('eigh', lambda s: myriad.torch.eigh((s + s.mT) / 2)[0], (s,)), ('svd', lambda a: myriad.torch.svd(a)[1], (a,))):
        check(f'gradients: {name}', lambda: None if torch.autograd.gradcheck(f, inputs) else 'no')

    def on_a_stream():
        """Backward runs on the stream of the forward call, in another thread."""
        with torch.cuda.stream(torch.cuda.Stream()):
            x = matrices(100, 8, 8).requires_grad_()
            torch.cuda._sleep(SLEEP // 4)
            myriad.torch.inv(x).square().sum().backward()
            expected = x.grad.clone()
            x.grad = None
            torch.linalg.inv(x).square().sum().backward()
            same(expected, x.grad)

    check('gradients: on a stream', on_a_stream)


@part
def ragged(quick):
    sizes = [1 + k % 40 for k in range(500)]
    many = [positive(n, n) for n in sizes]

    def cholesky():
        factor, info = lapack.potrf(batched.ragged(many))
        assert not info.any()
        for f, x in zip(factor.arrays, many, strict=True):
            same(f.tril(), torch.linalg.cholesky(x))

    def solve():
        x = lapack.gesv(batched.ragged(many), batched.ragged([torch.ones(n, 1, dtype=torch.float64, device='cuda') for n in sizes])).x
        for y, a in zip(x.arrays, many, strict=True):
            same(a @ y, torch.ones_like(y), 1e-9)

    check('ragged: potrf of 500 matrices of 1 to 40 rows', cholesky)
    check('ragged: gesv of them', solve)


@part
def gpus(quick):
    if torch.cuda.device_count() < 2:
        return print('gpus: there is one GPU')
    s = positive(100, 8, 8, device='cuda:1')
    check('gpus: a tensor on the second GPU', lambda: same(linalg.cholesky(s), torch.linalg.cholesky(s)))
    check('gpus: myriad.torch there', lambda: same(myriad.torch.inv(s), torch.linalg.inv(s)))

    def both():
        try:
            linalg.solve(s, s.to('cuda:0'))
        except ValueError as error:
            assert 'different devices' in str(error)
        else:
            raise AssertionError('no error')

    check('gpus: tensors on both are refused', both)


@part
def cupy(quick):
    try:
        import cupy as cp
    except ImportError:
        return print('cupy: is not installed')
    a = cp.random.standard_normal((1000, 8, 8)) + 8 * cp.eye(8)
    s, b = a @ a.swapaxes(-1, -2), cp.random.standard_normal((1000, 8, 2))

    def close(x, y):
        assert isinstance(x, cp.ndarray) and float(abs(x - y).max()) <= 1e-9 * float(abs(y).max())

    def functions():
        close(a @ linalg.solve(a, b), b)
        close(linalg.cholesky(s), cp.linalg.cholesky(s))
        close(linalg.eigvalsh(s), cp.linalg.eigvalsh(s))
        close(linalg.solve(a[::2], b[::2]), cp.linalg.solve(a[::2], b[::2]))
        close(linalg.inv(a.swapaxes(-1, -2)), cp.linalg.inv(a.swapaxes(-1, -2)))
        close(linalg.matrix_norm(a), cp.linalg.norm(a, axis=(-2, -1)))

    def on_a_stream():
        with cp.cuda.Stream(non_blocking=True) as stream:
            x = linalg.solve(a, b, check=False)
            stream.synchronize()
            close(a @ x, b)
        stream = cp.cuda.Stream(non_blocking=True)
        x = lapack.gesv(a, b, stream=stream).x
        stream.synchronize()
        close(a @ x, b)

    def pool():
        of_pool = cp.get_default_memory_pool()
        big = cp.stack([cp.eye(200)] * 100)
        linalg.eigvalsh(big)
        cp.cuda.Device().synchronize()
        free = cp.cuda.runtime.memGetInfo()[0]
        before = of_pool.used_bytes()
        linalg.eigvalsh(big)
        cp.cuda.Device().synchronize()
        assert of_pool.used_bytes() == before, 'workspace was not given back'
        lost = free - cp.cuda.runtime.memGetInfo()[0]
        assert lost < 64 << 20, f'{lost >> 20} MiB of GPU memory went elsewhere, perhaps to other processes'

    def of_sizes():
        many = [s[k, :n, :n] for k, n in enumerate([3, 8, 1, 5] * 20)]
        for f, x in zip(lapack.potrf(batched.ragged(many)).factor.arrays, many, strict=True):
            close(cp.tril(f), cp.linalg.cholesky(x))

    check('cupy: results', functions)
    check('cupy: streams', on_a_stream)
    check("cupy: workspace is of CuPy's pool", pool)
    check('cupy: ragged', of_sizes)


@part
def jax(quick):
    os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')  # torch is there, too
    try:
        import jax
        import jax.numpy as jnp
        import myriad.jax as mj
    except ImportError as error:
        return print(f'jax: {error}')
    jax.config.update('jax_enable_x64', True)
    jax.config.update('jax_default_matmul_precision', 'highest')
    if jax.default_backend() != 'gpu':
        return print('jax: has no GPU here')

    def h(x):
        return jnp.conj(jnp.swapaxes(x, -1, -2))

    def inputs(n, dtype):
        key = iter(jax.random.split(jax.random.key(0), 2))
        a = jax.random.normal(next(key), (100, n, n), dtype) + 2 * n**0.5 * jnp.eye(n, dtype=dtype)
        return a, a @ h(a), jax.random.normal(next(key), (100, n, 2), dtype)

    def near(x, y, dtype, loose=10):
        x, y = jnp.asarray(x), jnp.asarray(y)
        limit = loose * (2e-4 if dtype in ('float32', 'complex64') else 1e-10)
        error = float(jnp.abs(x - y).max()) / max(float(jnp.abs(y).max()), 1e-30)
        assert x.shape == y.shape and x.devices() == y.devices() and error <= limit, f'error {error:.1e}, limit {limit:.0e}'

    la, lax = jnp.linalg, jax.lax.linalg

    def scaled(a):
        return a / jnp.abs(a).max((-2, -1), keepdims=True)

    # Signs and phases of vectors differ, so products of them are compared.
    def of_qr(f):
        def products(q, r):
            return q @ r, h(q) @ q, jnp.abs(jnp.diagonal(r, axis1=-2, axis2=-1))

        return lambda a, s, b: products(*f(a[..., :-1]))

    def of_eigh(f):
        return lambda a, s, b: (lambda w, v: (w, (v * w[..., None, :]) @ h(v)))(*f(s))

    def of_svd(f):
        return lambda a, s, b: (lambda u, x, vh: (x, (u * x[..., None, :]) @ vh))(*f(a, full_matrices=False))

    def of_lu(f):
        return lambda a, s, b: tuple(f(a))

    def of_triangular(f):
        return lambda a, s, b: f(a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=False)

    functions = {
        'solve': (lambda a, s, b: mj.solve(a, b), lambda a, s, b: la.solve(a, b)),
        'inv': (lambda a, s, b: mj.inv(a), lambda a, s, b: la.inv(a)),
        'det': (lambda a, s, b: mj.det(scaled(a)), lambda a, s, b: la.det(scaled(a))),
        'slogdet': (lambda a, s, b: tuple(mj.slogdet(a)), lambda a, s, b: tuple(la.slogdet(a))),
        'cholesky': (lambda a, s, b: mj.cholesky(s), lambda a, s, b: la.cholesky(s)),
        'lu': (of_lu(mj.lu), of_lu(lax.lu)),
        'qr': (of_qr(mj.qr), of_qr(la.qr)),
        'eigh': (of_eigh(mj.eigh), of_eigh(la.eigh)),
        'svd': (of_svd(mj.svd), of_svd(la.svd)),
        'pinv': (lambda a, s, b: mj.pinv(a), lambda a, s, b: la.pinv(a)),
        'lstsq': (lambda a, s, b: mj.lstsq(a, b), lambda a, s, b: jax.vmap(lambda a, b: la.lstsq(a, b)[0])(a, b)),
        'triangular_solve': (of_triangular(mj.triangular_solve), of_triangular(lax.triangular_solve)),
    }

    def function(name, n, dtype):
        ours, theirs = functions[name]
        arguments = inputs(n, dtype)
        expected = jax.jit(theirs)(*arguments)

        def judged(call, taken):
            found = jax.jit(call)(*arguments)
            for x, y in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
                near(x, y, dtype)
            assert taken(), 'no call reached Myriad'

        def of_myriad():
            mj.report(reset=True)
            judged(lambda *x: ours(*x), lambda: mj.report().calls)

        def enabled():
            with mj.enabled(min_batch=1):
                mj.report(reset=True)
                judged(lambda *x: theirs(*x), lambda: any(entry['taken'] for entry in mj.report().values()) and mj.report().calls)

        check(f'jax: myriad.jax.{name}, {n} rows, {dtype}', of_myriad)
        check(f'jax: {name} of JAX under enable(), {n} rows, {dtype}', enabled)

    for name in functions:
        for n, dtype in ((4, 'float64'), (33, 'float32'), (8, 'complex128'), (100, 'complex64'))[: 1 if quick else 4]:
            function(name, n, dtype)

    def derivatives():
        a, s, b = inputs(5, 'float64')
        for ours, theirs in ((lambda a: mj.solve(a, b), lambda a: la.solve(a, b)), (mj.inv, la.inv), (lambda a: mj.eigh(a + h(a))[0], la.eigvalsh),
                             (lambda a: mj.cholesky(a @ h(a)), lambda a: la.cholesky(a @ h(a)))):
            theirs = (lambda a: la.eigvalsh(a + h(a))) if theirs is la.eigvalsh else theirs
            near(jax.grad(lambda a: jnp.sum(ours(a) ** 2))(a), jax.grad(lambda a: jnp.sum(theirs(a) ** 2))(a), 'float64')
            near(jax.jvp(ours, (a,), (b @ h(b),))[1], jax.jvp(theirs, (a,), (b @ h(b),))[1], 'float64')

    def mapped():
        a, s, b = inputs(5, 'float64')
        x = jax.jit(jax.vmap(mj.solve, in_axes=(2, None), out_axes=1))(jnp.moveaxis(a, 0, 2), b[0])
        near(x, jnp.moveaxis(la.solve(a, b[0]), 0, 1), 'float64')

    def failed_matrices():
        a, s, b = inputs(5, 'float64')
        x = jax.jit(mj.cholesky)(s.at[3].set(-jnp.eye(5)))
        assert bool(jnp.isnan(x[3]).any()) and not bool(jnp.isnan(x[:3]).any())

    def ordered():
        """Many calls in one program, each of which reads the results of the one before."""
        a, s, b = inputs(8, 'float64')
        x = jax.jit(lambda a, b: jax.lax.fori_loop(0, 50, lambda k, x: mj.solve(a, a @ x), b))(a, b)
        near(x, b, 'float64')

    check('jax: gradients and forward derivatives', derivatives)
    check('jax: vmap', mapped)
    check('jax: failed matrices', failed_matrices)
    check('jax: a loop in one program', ordered)


@part
def opinfo(quick):
    judge = pathlib.Path(__file__).resolve().parents[2] / 'python/judges/torch_judge.py'

    def run(*arguments):
        command = [sys.executable, str(judge), '--device', 'cuda', *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if not quick and '--plant' not in arguments:
                print('    ' + lines[-1], flush=True)
        return process.wait(), lines

    def judged():
        names = ('linalg.qr', 'linalg.solve', 'linalg.eigh') if quick else ()
        code, lines = run('--jobs', str(max(len(os.sched_getaffinity(0)) - 2, 1)), *names)
        assert code == 0, lines[-1]
        return lines[-1]

    def planted():
        code, lines = run('--plant', 'linalg.qr')
        assert code == 1 and re.search(' calls on Myriad, [1-9][0-9]* differences$', lines[-1]), lines[-1]

    check("opinfo: torch's samples on CUDA under myriad.torch.enable()", judged)
    check('opinfo: a planted error of 1e-6 is found', planted)


def milliseconds(call, most=1.0):
    """The median of up to 20 calls."""
    times = []
    for _ in range(20):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
        if sum(times) > most * 1000:
            break
    return statistics.median(times[1:] or times)


@part
def overhead(quick):
    """Host time of a call on small arrays, which the GPU follows. The first row is the C library on arrays and a queue that exist."""
    a, b = matrices(10, 4, 4), torch.randn(10, 4, 1, dtype=torch.float64, device='cuda')
    x, info = torch.empty_like(b), torch.empty(10, dtype=torch.int32, device='cuda')
    queue = myriad.Queue('gpu', device=torch.cuda.current_device(), stream=torch.cuda.current_stream())
    for name, call in (('the C library: solve', lambda: myriad._myriad.solve(queue, a, b, x, info)), ('torch.empty_like', lambda: torch.empty_like(b)),
                       ('torch.add with out=', lambda: torch.add(b, b, out=x)),
                       ('myriad.linalg.solve, check=False', lambda: linalg.solve(a, b, check=False)),
                       ('myriad.torch.solve', lambda: myriad.torch.solve(a, b)), ('myriad.lapack.potrf', lambda: lapack.potrf(a)),
                       ('torch.linalg.solve_ex', lambda: torch.linalg.solve_ex(a, b))):
        for _ in range(100):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(1000):
            call()
        spent = time.perf_counter() - start
        torch.cuda.synchronize()
        print(f'overhead: {name:<50} {spent * 1000:8.1f} us a call')


#: Functions of torch for `speed`: how their matrices are made, and the call.
FUNCTIONS = {
    'solve': (matrices, lambda a: torch.linalg.solve(a, a[..., :1])), 'inv': (matrices, torch.linalg.inv),
    'cholesky': (positive, torch.linalg.cholesky), 'qr': (matrices, torch.linalg.qr), 'lu_factor': (matrices, torch.linalg.lu_factor), 'eigh': (positive, torch.linalg.eigh),
    'svd': (matrices, torch.linalg.svd)}
SIZES = (4, 8, 16, 32, 33, 64, 128, 256)


@part
def speed(quick):
    rows = [(name, 1000, n, dtype) for name in FUNCTIONS for n in (SIZES if not quick else (8, 33)) for dtype in (torch.float64, torch.float32)]
    # GPU MODE's shapes in single precision
    rows += [(name, count, n, torch.float32) for name in ('qr', 'eigh') for count, n in ((20, 32), (40, 176), (40, 352), (640, 512), (60, 1024))
             if not quick]
    rows += [('cholesky', count, n, torch.float32) for count, n in ((4096, 32), (1024, 64), (256, 128), (64, 256), (640, 512)) if not quick]
    print(f'{"speed":<12}{"type":>9}{"count":>8}{"n":>6}{"torch ms":>12}{"myriad ms":>12}{"times":>8}')
    for name, count, n, dtype in rows:
        make, call = FUNCTIONS[name]
        a = make(count, n, n, dtype=dtype)
        theirs = milliseconds(lambda: call(a))
        with myriad.torch.enabled():
            call(a)
            myriad.torch.report(reset=True)
            ours = milliseconds(lambda: call(a))
            taken = sum(entry['taken'] for entry in myriad.torch.report().values())
        slower = '  SLOWER' if taken and ours > 1.05 * theirs else '' if taken else '  not taken'
        print(f'{name:<12}{str(dtype)[6:]:>9}{count:>8}{n:>6}{theirs:>12.3f}{ours:>12.3f}{theirs / ours:>8.2f}{slower}', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('parts', nargs='*', metavar='PART', help=', '.join(parts))
    options = parser.parse_args()
    for name in options.parts:
        if name not in parts:
            parser.error(f'{name!r} is not one of {", ".join(parts)}')
    if not torch.cuda.is_available():
        sys.exit('torch has no GPU here')
    print(f'{torch.cuda.get_device_name()}, torch {torch.__version__}, {myriad.info()}')
    torch.manual_seed(0)
    torch.set_float32_matmul_precision('highest')
    for name in options.parts or parts:
        parts[name](options.quick)
    print(f'{len(failed)} failed: {", ".join(failed)}' if failed else 'all checks passed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
