#!/usr/bin/env python3
"""Runs LAPACK's own test programs (Debian: liblapack-test) over libmyriad_lapack.so.

judge.py passes TYPE...: every test and error exit passes, and every name was called and served. What fails with the system's LAPACK alone, too,
is let pass as often as there.
judge.py faults: a fault planted in any routine of a type, drawn by MYRIAD_TEST_SEED, makes the programs fail.
"""

import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import time

# Paths of xlintst that call what is served, without the type letter, and inputs of xeigtst
PATHS = 'LS QR GE PO TR QP SY HE SR HR SK HK S2 H2'.split()
EIGEN_INPUTS = ['sep', 'svd', 'gqr', 'glm', 'lse']
# The sections of xlintst that show the fault of a routine; only these are run
PATHS_OF = {
    'getrf': 'GE', 'getrs': 'GE', 'gesv': 'GE', 'getri': 'GE', 'laqge': 'GE', 'gerfs': 'GE', 'potrf': 'PO', 'potrs': 'PO', 'posv': 'PO',
    'potri': 'PO', 'trtri': 'TR', 'geqrf': 'QR', 'geqp3': 'QP', 'orgqr': 'QR', 'ungqr': 'QR', 'ormqr': 'QR', 'unmqr': 'QR', 'gels': 'LS',
    'gelsd': 'LS', 'gelsy': 'LS'
}  # yapf: disable
OF_SVD = ['gebrd', 'orgbr', 'ungbr', 'ormbr', 'unmbr', 'gesdd']  # whose faults xeigtst shows with svd.in, those of others with sep.in
UNTESTED = ['geequb']  # LAPACK's programs call it nowhere; names.py tests it, and symv, whose faults iterative refinement hides
# Factors a matrix of one element; ends where the backend cannot be used
PROBE = '''
import ctypes, sys
one, info, a = ctypes.c_int(1), ctypes.c_int(1), ctypes.c_double(4)
ctypes.CDLL(sys.argv[1]).dpotrf_(b'L', *map(ctypes.byref, (one, a, one, info)), ctypes.c_size_t(1))
sys.exit(3 if info.value != 0 or a.value != 2 else 0)
'''


def fail(text):
    sys.exit(f'judge.py: {text}')


class Judge:

    def __init__(self, options):
        self.programs = options.programs
        self.library = options.library
        self.fault = options.fault
        self.backend = options.backend
        self.sizes = [int(size) for size in options.sizes.split(',')] if options.sizes else None
        if not self.sizes and self.backend != 'cpu':
            self.sizes = [0, 1, 5, 50]  # each pair of sizes up to 32 has kernels of its own

    def run(self, program, text, preload=(), **variables):
        """What the program says, and its calls: name -> (served, forwarded)."""
        with tempfile.TemporaryDirectory() as folder:
            counts = os.path.join(folder, 'counts')
            environment = dict(os.environ, OPENBLAS_NUM_THREADS='1', MYRIAD_LAPACK_BACKEND=self.backend, **variables)
            if preload:
                environment.update(LD_PRELOAD=':'.join(preload), MYRIAD_LAPACK_COUNT=counts)
            run = subprocess.run([os.path.join(self.programs, program)], input=text, env=environment, text=True, capture_output=True)
            said = run.stdout + run.stderr
            if run.returncode != 0:
                fail(f'{program} ended with status {run.returncode}:\n{said[-2000:]}')
            calls = {}
            if preload:
                with open(counts, encoding='ascii') as file:
                    for line in file:
                        if not line.startswith('#'):
                            name, served, forwarded = line.split()
                            calls[name] = (int(served), int(forwarded))
            return said, calls

    def linear_input(self, letter, paths, sizes=None):
        with open(os.path.join(self.programs, f'{letter}test.in'), encoding='ascii') as file:
            lines = file.read().splitlines()
        begin = next(i for i, line in enumerate(lines) if line.startswith(letter.upper() + 'GE'))
        taken = [line for line in lines[begin:] if line[1:3] in paths]
        return shortened('\n'.join(lines[:begin] + taken) + '\n', sizes or self.sizes), len(taken)

    def eigen_input(self, name):
        with open(os.path.join(self.programs, f'{name}.in'), encoding='ascii') as file:
            return shortened(file.read(), self.sizes)

    def pool(self):
        """Kernels are compiled by one thread a process, so that a GPU has as many as there are processors."""
        return concurrent.futures.ThreadPoolExecutor(1 if self.backend == 'cpu' else os.cpu_count())

    def runs_of(self, letter):
        """Program, input and number of sections that have to be there. On a GPU, which compiles kernels, a process for each path."""
        for paths in [PATHS] if self.backend == 'cpu' else [[path] for path in PATHS]:
            text, sections = self.linear_input(letter, paths)
            if sections:
                yield f'xlintst{letter}', text, sections
        for name in EIGEN_INPUTS:
            yield f'xeigtst{letter}', self.eigen_input(name), 1


def shortened(text, sizes):
    """The input without the variation of block sizes, of which Myriad knows nothing; and with these sizes instead of LAPACK's."""
    text = re.sub(r'^\d+( +Number of (?:values of NB|parameter values))', r'1\1', text, flags=re.M)
    if sizes:
        text = re.sub(r'^\d+( +Number of values of [MN]\b(?!,))', rf'{len(sizes)}\1', text, flags=re.M)
        text = re.sub(r'^0 1 2 3 5 [\d ]+(?= Values of [MN] )', ' '.join(map(str, sizes)), text, flags=re.M)
    return text


def failures(said):
    """Section -> number of failed tests; '***' and INFO lines of unexpected errors."""
    found = {}
    for section, count in re.findall(r'^ *(\S[^:\n]*): +(\d+) out of +\d+ tests failed', said, re.M):
        found[section] = found.get(section, 0) + int(count)
    for line in re.findall(r'^.*(?:\*\*\*|returned INFO|[Ii]llegal|failed the tests).*$', said, re.M):
        found[line] = found.get(line, 0) + 1
    return found


def passes(judge, letters):
    runs = [run for letter in letters for run in judge.runs_of(letter)]
    # The longest first
    runs.sort(key=lambda run: PATHS.index(run[1].splitlines()[-1][1:3]) if run[0].startswith('xlin') else len(PATHS))
    with judge.pool() as pool:
        all_calls = list(pool.map(lambda run: passes_one(judge, *run), runs))
    for letter in letters:
        called = {}
        for calls in all_calls:
            for name, numbers in calls.items():
                if name[0] == letter and name[1:] not in UNTESTED:
                    before = called.get(name, (0, 0))
                    called[name] = (before[0] + numbers[0], before[1] + numbers[1])
        if not called:
            fail('no call was counted')
        for name, (served, forwarded) in called.items():
            if served == 0 or forwarded != 0:
                fail(f'{name}: {served} calls served, {forwarded} forwarded; needs all served, and one at least')
        print(f'{letter}: {sum(calls[0] for calls in called.values())} calls of {len(called)} names')


def passes_one(judge, program, text, sections):
    """The calls of one run."""
    begin = time.monotonic()
    said, calls = judge.run(program, text, [judge.library])
    done = len(re.findall(r'passed the tests of the error exits', said)) + len(re.findall(r'passed the threshold|tests failed', said))
    if 'End of tests' not in said or done < sections:
        fail(f'{program} did not do all of its tests:\n{said}')
    failed = failures(said)
    if failed:
        system = failures(judge.run(program, text)[0])
        worse = {what: count for what, count in failed.items() if count > system.get(what, 0)}
        if worse:
            fail(f'{program} fails, and does not with the system\'s LAPACK alone: {worse}\n{said}')
        print(f'{program}: the system\'s LAPACK alone fails as often: {failed}')
    path = '' if judge.backend == 'cpu' else ' ' + (text.split('\n')[-2].split() or ['SEP'])[0]
    print(f'{program}{path}: {sum(numbers[0] for numbers in calls.values())} calls, {time.monotonic() - begin:.1f} s', flush=True)
    return calls


def faults(judge):
    seed = int(os.environ.get('MYRIAD_TEST_SEED') or random.randrange(2**31))
    thorough = os.environ.get('MYRIAD_TEST_THOROUGH', '0') not in ('', '0')
    letters = 'sdcz' if thorough else 'sdcz'[seed % 4]
    print(f'MYRIAD_TEST_SEED={seed}: types {letters}')
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'planted_fault.c'), encoding='ascii') as file:
        source = file.read()
    for letter in letters:
        complex_names = letter in 'cz'
        org, orm, sy = ('ung', 'unm', 'he') if complex_names else ('org', 'orm', 'sy')
        names = [
            name.replace('org##', org).replace('orm##', orm).replace('sy##', sy) for name in re.findall(r'PLANT\(t##([a-z#]+),', source)
        ]
        inputs = {  # by what it calls
            name: (f'xlintst{letter}', judge.linear_input(letter, [PATHS_OF[name]], judge.sizes or [0, 1, 2, 3, 5, 10, 20])[0])
                  if name in PATHS_OF else (f'xeigtst{letter}', judge.eigen_input('svd' if name in OF_SVD else 'sep')) for name in names
        }
        preload = [judge.fault, judge.library]
        with judge.pool() as pool:
            distinct = sorted(set(inputs.values()))
            known = dict(zip(distinct, pool.map(lambda run: failures(judge.run(*run, preload)[0]), distinct)))
            runs = pool.map(lambda name: judge.run(*inputs[name], preload, PLANTED_FAULT=letter + name), names)
        for name, (said, calls) in zip(names, runs):
            if calls[letter + name][0] == 0:
                fail(f'{inputs[name][0]} does not call {letter}{name}')
            if all(count <= known[inputs[name]].get(what, 0) for what, count in failures(said).items()):
                fail(f'{inputs[name][0]} passes with a fault in {letter}{name}')
        print(f'{letter}: faults in {len(names)} routines are found')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--library', required=True)
    parser.add_argument('--fault', default='')
    parser.add_argument('--programs', required=True, help='folder with xlintstd and its like')
    parser.add_argument('--backend', default='cpu')
    parser.add_argument('--sizes', help='instead of those of the inputs: 0,5,50,132; 132 is the largest')
    parser.add_argument('what', choices=['passes', 'faults'])
    parser.add_argument('types', nargs='*', help='s, d, c, z')
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.programs, 'xlintstd')):
        print('LAPACK\'s test programs are not here (xlintstd and its like): tools/install-dependencies installs Debian\'s liblapack-test')
        sys.exit(77)
    judge = Judge(options)
    if options.backend != 'cpu':
        probe = subprocess.run([sys.executable, '-c', PROBE, options.library], env=dict(os.environ, MYRIAD_LAPACK_BACKEND=options.backend),
                               capture_output=True, text=True)
        if probe.returncode != 0:
            if 'MYRIAD_LAPACK_BACKEND:' not in probe.stderr:
                fail(f'potrf of one element over the GPU ended with status {probe.returncode}: {probe.stderr}')
            print(f'no GPU: {probe.stderr}')
            sys.exit(77)
    if options.what == 'faults':
        faults(judge)
    else:
        passes(judge, options.types or list('sdcz'))


main()
