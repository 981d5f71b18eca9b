#!/usr/bin/env python3
"""Calls functions of libmyriad_lapack.so and of the system's LAPACK side by side: what LAPACK's own test programs do not call or cannot judge.

names.py LIBRARY
"""

import ctypes
import os
import random
import subprocess
import sys
import tempfile

INT = ctypes.c_int
REAL = {'s': ctypes.c_float, 'd': ctypes.c_double, 'c': ctypes.c_float, 'z': ctypes.c_double}


def check(good, text):
    if not good:
        sys.exit(f'names.py: {text}')


def call(library, name, *arguments):
    """Integers and letters by address, arrays as they are."""
    lengths = [ctypes.c_size_t(1) for x in arguments if isinstance(x, str)]
    passed = [ctypes.c_char_p(x.encode()) if isinstance(x, str) else ctypes.byref(INT(x)) if isinstance(x, int) else x for x in arguments]
    getattr(library, name + '_')(*passed, *lengths)


def numbers(letter, count, random_numbers, exponents=0):
    """`count` elements, of complex types twice as many numbers."""
    size = count * (2 if letter in 'cz' else 1)
    return (REAL[letter] * size)(*(random_numbers.uniform(-1, 1) * 2.0**random_numbers.randint(-exponents, exponents) for _ in range(size)))


def copy(array):
    return type(array)(*array)


def geequb(ours, system, letter, m, n, draw, zero_row=None, zero_col=None):
    lda = m + 2
    a = numbers(letter, lda * max(n, 1), draw, 30)
    parts = 2 if letter in 'cz' else 1
    for j in range(n):
        for i in range(m):
            if i == zero_row or j == zero_col:
                for part in range(parts):
                    a[(i + j * lda) * parts + part] = 0
    results = []
    for library in (ours, system):
        real = REAL[letter]
        r, c, info = (real * max(m, 1))(), (real * max(n, 1))(), INT(7)
        scalars = [real(7), real(7), real(7)]
        call(library, letter + 'geequb', m, n, a, lda, r, c, *map(ctypes.byref, scalars), ctypes.byref(info))
        defined = list(r) * (info.value == 0 or info.value > m) + (list(c) + [x.value for x in scalars]) * (info.value == 0)
        results.append((info.value, defined))
    # Both scale by powers of two, one of which LAPACK rounds the other way. The conditions are ratios of two, the last is the largest element.
    (info, got), (wanted_info, wanted) = results
    check(info == wanted_info and len(got) == len(wanted), f'{letter}geequb of {m} by {n}: info = {info}, system: {wanted_info}')
    check(all(x == y or (x > 0 and y / 4 <= x <= y * 4) for x, y in zip(got, wanted)), f'{letter}geequb of {m} by {n}: {got}, system: {wanted}')


def symv(ours, system, letter, uplo, n, incx, incy, draw):
    a, x = numbers(letter, (n + 1) * n, draw), numbers(letter, n * abs(incx), draw)
    y = numbers(letter, n * abs(incy), draw)
    alpha, beta = numbers(letter, 1, draw), numbers(letter, 1, draw)
    got, wanted = copy(y), copy(y)
    for library, result in ((ours, got), (system, wanted)):
        call(library, letter + 'symv', uplo, n, alpha, a, n + 1, x, incx, beta, result, incy)
    unit = 2.0**-23 if letter == 'c' else 2.0**-52
    worst = max(abs(p - q) for p, q in zip(got, wanted))
    check(worst <= 8 * n * unit, f'{letter}symv {uplo} n = {n}, incx = {incx}, incy = {incy}: differs by {worst}')


def gels_without_right_sides(ours, system):
    """A singular A stays as it is, and info is 0."""
    for library in (ours, system):
        a, info = (ctypes.c_double * 6)(1, 2, 3, 0, 0, 0), INT(7)
        call(library, 'dgels', 'N', 3, 2, 0, a, 3, (ctypes.c_double * 3)(), 3, (ctypes.c_double * 8)(), 8, ctypes.byref(info))
        check(info.value == 0 and list(a) == [1, 2, 3, 0, 0, 0], f'dgels without right-hand sides: info = {info.value}, A = {list(a)}')


def queries(ours, system):
    """The sizes that a query tells are enough for both, and nothing else is touched."""
    for name, arguments, sizes in [
        ('dgeqrf', lambda w: (5, 3, None, 5, None, w[0], -1), ['work']),
        ('dgeqp3', lambda w: (5, 3, None, 5, None, None, w[0], -1), ['work']),
        ('dgels', lambda w: ('N', 5, 3, 2, None, 5, None, 5, w[0], -1), ['work']),
        ('dgelsy', lambda w: (5, 3, 2, None, 5, None, 5, None, None, None, w[0], -1), ['work']),
        ('dsyevd', lambda w: ('V', 'L', 7, None, 7, None, w[0], -1, w[1], 1), ['work', 'integers']),
        ('zheevd', lambda w: ('V', 'L', 7, None, 7, None, w[0], 1, w[1], 1, w[2], -1), ['work', 'work', 'integers']),
        ('dgebrd', lambda w: (5, 3, None, 5, None, None, None, None, w[0], -1), ['work']),
        ('dormbr', lambda w: ('P', 'L', 'T', 5, 4, 3, None, 3, None, None, 5, w[0], -1), ['work']),
        ('dgesdd', lambda w: ('S', 7, 5, None, 7, None, None, 7, None, 5, w[0], -1, None), ['work']),
        ('dormqr', lambda w: ('L', 'T', 5, 4, 3, None, 5, None, None, 5, w[0], -1), ['work']),
    ] + [
        (letter + 'gelsd', lambda w, m=m, n=n, k=k: (m, n, k, None, max(m, 1), None, max(m, n), None, None, None, w[0], -1, *w[1:]), kinds)
        for letter, kinds in (('d', ['work', 'integers']), ('z', ['work', 'work', 'integers']))
        for m, n, k in ((5, 3, 2), (52, 26, 40), (1, 26, 40), (26, 40, 40), (26, 52, 40), (60, 200, 400), (0, 3, 2))
    ]:
        told = []
        for library in (ours, system):
            workspaces = [(INT * 1)(0) if kind == 'integers' else (ctypes.c_double * 2)(0, 0) for kind in sizes]
            info = INT(7)
            call_arguments = list(arguments(workspaces)) + [ctypes.byref(info)]
            call(library, name, *call_arguments)
            check(info.value == 0, f'{name}: a query has info = {info.value}')
            told.append([int(w[0]) for w in workspaces])
        check(all(0 < p <= q for p, q in zip(*told)), f'{name}: a query tells {told[0]}; the system says {told[1]}')
        if name.endswith('gelsd') and told[0][-1] > 1:  # of a matrix with elements; integers and reals have no better sizes than the least ones
            check(told[0][1:] == told[1][1:], f'{name}: a query tells {told[0]}; the system says {told[1]}')


def gelsd(ours, system, draw):
    """The least workspace that LAPACK documents is enough, and the sizes of the others are written on return. What a query tells a wide
    problem is enough for LAPACK."""
    m, n, k = 26, 52, 40
    for letter in 'dz':
        a, b = numbers(letter, m * n, draw), numbers(letter, n * k, draw)
        parts = 2 if letter == 'z' else 1
        solutions = []
        told = 0
        for library in (ours, system):
            work = (ctypes.c_double * 60000)(*([3.0] * 60000))
            reals, integers, rank, info = (ctypes.c_double * 20000)(), (INT * 2000)(), INT(7), INT(7)
            x = copy(b)

            def solve(lwork):
                beside = [reals] * (letter == 'z') + [integers]
                call(library, letter + 'gelsd', m, n, k, copy(a), m, x, n, (ctypes.c_double * m)(), (ctypes.c_double * 1)(-1), ctypes.byref(rank), work,
                     lwork, *beside, ctypes.byref(info))
                check(info.value == 0, f'{letter}gelsd: info = {info.value}')

            if library is ours:
                solve(-1)
                told = int(work[0])
                integers[0], reals[0] = 0, 0
                solve(2 * m + m * k if letter == 'z' else told)
            else:
                solve(told)
                check(all(w == 3 for w in work[told * parts:]), f'{letter}gelsd: the system uses more than {told} elements')
            solutions.append((rank.value, integers[0], reals[0], list(x)))
        check(solutions[0][:3] == solutions[1][:3], f'{letter}gelsd: rank and sizes are {solutions[0][:3]}, system: {solutions[1][:3]}')
        worst = max(abs(p - q) for p, q in zip(solutions[0][3], solutions[1][3]))
        check(worst < 1e-11, f'{letter}gelsd: differs by {worst}')


def main():
    if len(sys.argv) == 2:  # once more, with the variables that the library reads when it is loaded and when it goes
        with tempfile.TemporaryDirectory() as folder:
            counts = os.path.join(folder, 'counts')
            environment = dict(os.environ, MYRIAD_LAPACK_COUNT=counts)
            subprocess.run([sys.executable, __file__, sys.argv[1], 'calls'], env=environment, check=True)
            with open(counts, encoding='ascii') as file:
                lines = dict(line.split(maxsplit=1) for line in file if not line.startswith('#'))
            # Negative increments are LAPACK's alone, and so are scalings of rows where a column is zero.
            check(lines['csymv'].split() == ['4', '4'], f'csymv is counted as {lines["csymv"]}')
            check(lines['dgeequb'].split() == ['4', '2'], f'dgeequb is counted as {lines["dgeequb"]}')
            check(lines['dgetrf'].split() == ['0', '0'], f'dgetrf is counted as {lines["dgetrf"]}')
        # A wrong or unusable backend is reported.
        for backend, said in (('other', 'MYRIAD_LAPACK_BACKEND must be cpu, gpu or auto, is: other'), ('gpu', 'MYRIAD_LAPACK_BACKEND: ')):
            environment = dict(os.environ, MYRIAD_LAPACK_BACKEND=backend, MYRIAD_CUDA_DRIVER='/no/such/driver')
            run = subprocess.run([sys.executable, __file__, sys.argv[1], 'calls'], env=environment, capture_output=True, text=True)
            check(run.returncode != 0 and said in run.stderr, f'with backend {backend}: status {run.returncode}, {run.stderr}')
        return
    ours, system = ctypes.CDLL(sys.argv[1]), ctypes.CDLL('liblapack.so.3')
    for name in ('dgesvd_', 'zgeev_', 'dlamch_', 'ilaenv_', 'dgemm_'):
        check(hasattr(ours, name), f'{name} is not within reach')
    draw = random.Random(int(os.environ.get('MYRIAD_TEST_SEED', '1')))
    for letter in 'sdcz':
        for m, n in ((0, 3), (1, 1), (4, 7), (40, 33)):
            geequb(ours, system, letter, m, n, draw)
        geequb(ours, system, letter, 5, 4, draw, zero_col=2)
        geequb(ours, system, letter, 5, 4, draw, zero_row=3)
    for letter in 'cz':
        for uplo in 'UL':
            for incx, incy in ((1, 1), (2, 3), (-1, 2), (2, -3)):
                symv(ours, system, letter, uplo, 19, incx, incy, draw)
    queries(ours, system)
    gels_without_right_sides(ours, system)
    gelsd(ours, system, draw)


main()
