"""Judges myriad.torch.enable() by torch's own samples of its linear algebra (OpInfo), against torch's kernels.

    python torch_judge.py              all operators, on the CPU
    python torch_judge.py --plant      the same with a planted error of 1e-6, and must fail
    python torch_judge.py linalg.qr    some operators
    python torch_judge.py --device cuda --jobs 14 --seconds 120
    python torch_judge.py --part 20    one sample of 20, drawn by MYRIAD_TEST_SEED, which is printed

For every sample: the same values, shapes, dtypes, strides and gradients as from torch's kernels, up to rounding, and the same errors for
wrong arguments. Complex LU factors with other pivots are judged by their products. Prints the number of samples and differences of each
operator, and the number of calls that reached Myriad for each operator of aten. Exits with 1 after a difference if all samples were judged. Exits
with 3 after a sample that was not judged, since there was no time or a process crashed, or if an operator that enable() knows was never reached;
with --part, if no operator was.
"""

import argparse
import collections
import multiprocessing
import os
import random
import sys
import time
import warnings
from multiprocessing.connection import wait

import torch

warnings.filterwarnings('ignore')
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.utils._pytree import tree_flatten  # noqa: E402

import myriad.torch  # noqa: E402

NAMES = {
    'baddbmm', 'bmm', 'cholesky_inverse', 'cholesky_solve', 'geqrf', 'logdet', 'lu', 'lu_solve', 'lu_unpack', 'matmul', 'matrix_exp',
    'ormqr', 'pinverse', 'svd', 'triangular_solve',
}  # fmt: skip
DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
#: Largest difference, relative to the largest element of a result.
TOLERANCE = {torch.float32: 5e-4, torch.complex64: 5e-4, torch.float64: 1e-9, torch.complex128: 1e-9}


def operators(names):
    for op in op_db:
        if op.name.startswith('linalg.') or op.name in NAMES:
            if not names or op.name in names:
                yield op


def tensors_of(x):
    return [t for t in tree_flatten(x)[0] if isinstance(t, torch.Tensor)]


device = 'cpu'


def run(op, sample, gradients):
    """Results and gradients of one sample, or the error."""
    args = (sample.input, *sample.args)
    try:
        raw = op(*args, **sample.kwargs)
        layout = [(t.shape, t.dtype, t.stride()) for t in tensors_of(raw)]
        out = tensors_of(raw if op.name in PIVOTED else sample.output_process_fn_grad(raw))
        grads = []
        if gradients:
            leaves = [t for t in tensors_of((args, sample.kwargs)) if t.requires_grad]
            ends = [t for t in out if t.requires_grad]
            if leaves and ends:
                generator = torch.Generator().manual_seed(1)
                weights = [torch.randn(t.shape, generator=generator, dtype=t.dtype).to(t.device) for t in ends]
                grads = torch.autograd.grad(ends, leaves, weights, allow_unused=True)
        return layout, [t.detach() for t in out], [None if g is None else g.detach() for g in grads], None
    except Exception as error:  # torch's own error, which must be the same
        return None, None, None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def difference(x, y):
    """Why y differs from x; None if it does not."""
    if (x is None) != (y is None):
        return 'one is None'
    if x is None or x.numel() == 0:
        return None
    if not (x.is_floating_point() or x.is_complex()):
        return None if torch.equal(x, y) else 'integers differ'
    x, y = (t.to(torch.complex128 if t.is_complex() else torch.float64) for t in (x, y))
    finite = x.isfinite()
    if not torch.equal(finite, y.isfinite()):
        return 'not finite in other places'
    x, y = x[finite], y[finite]
    if x.numel() == 0:
        return None
    error, size = float((x - y).abs().max()), float(x.abs().max())
    return (error, size)


#: Operators with pivots as a result. Torch's complex ones on GPUs depend on the library that it calls: LAPACK and cuSOLVER take the largest
#: sum of the absolute parts, cuBLAS, which has the square matrices of batches, another element.
PIVOTED = {'lu': 1, 'linalg.lu_factor': 1, 'linalg.lu_factor_ex': 1, 'linalg.lu': 0}


def have_other_pivots(op, dtype, x, y):
    """Whether complex LU factors of a GPU differ by the choice of their pivots."""
    pivots = PIVOTED.get(op.name)
    return pivots is not None and dtype.is_complex and device == 'cuda' and not torch.equal(x[pivots], y[pivots])


def lu_product(op, out):
    """The matrices of which these are the LU factors, and the L."""
    p, l, u = out if op.name == 'linalg.lu' else torch.lu_unpack(*out[:2])
    return p @ l @ u, l


class Draw:
    """Draws one sample of `part`: one of sqrt(part) groups, whose samples cost more to make than to judge, and as many of its samples."""

    def __init__(self, part, seed):
        self.part = part
        self.random = random.Random(seed)

    def __call__(self):
        return self.part == 1 or self.random.random() * self.part**0.5 < 1


def judge(op, dtype, draw):
    """The samples of an operator in one type: how many there are, how many of them are errors, and a text for each difference."""
    count, errors, failures = 0, 0, []
    for gradients in (False, True):
        if gradients and not (op.supports_autograd and dtype in (torch.float64, torch.complex128)):
            continue
        if not draw():
            continue
        torch.manual_seed(0)
        try:
            samples = [(k, sample) for k, sample in enumerate(op.sample_inputs(device, dtype, requires_grad=gradients)) if draw()]
        except Exception as error:
            failures.append(f'{op.name} {dtype}: no samples: {error}')
            continue
        count += len(samples)
        for (number, _), (expected, found) in zip(samples, run_both(op, [sample for _, sample in samples], gradients)):
            where = f"{op.name} {op.variant_test_name} {str(dtype)[6:]} sample {number}{' with gradients' if gradients else ''}"
            if expected[3] != found[3]:
                failures.append(f'{where}: error {found[3]!r} in place of {expected[3]!r}')
                continue
            if expected[3]:
                errors += 1
                continue
            if expected[0] != found[0]:
                failures.append(f'{where}: {found[0]} in place of {expected[0]}')
                continue
            if have_other_pivots(op, dtype, expected[1], found[1]):
                (theirs, _), (ours, l) = lu_product(op, expected[1]), lu_product(op, found[1])
                error, multiplier = float((theirs - ours).abs().max()) / float(theirs.abs().max()), float(l.abs().max())
                if not (error <= TOLERANCE[dtype] and multiplier <= 2**0.5 * (1 + TOLERANCE[dtype])):
                    failures.append(f'{where}: other pivots, and another product or a multiplier above sqrt(2)')
                continue
            for what, ours, theirs in (('result', found[1], expected[1]), ('gradient', found[2], expected[2])):
                for k, (x, y) in enumerate(zip(theirs, ours)):
                    problem = difference(x, y)
                    if isinstance(problem, tuple):
                        error, size = problem
                        if error <= TOLERANCE[dtype] * max(size, 1e-30):
                            continue
                        problem = f'differs by {error:.1e}, largest element {size:.1e}'
                    if problem:
                        failures.append(f'{where}: {what} {k} {problem}')
    return count, errors, failures


def judge_errors(op, draw):
    """The same errors for wrong arguments; as judge."""
    if op.error_inputs_func is None or not draw():
        return 0, 0, []
    wrong = [(k, w.sample_input) for k, w in enumerate(op.error_inputs(device)) if draw()]
    errors, failures = 0, []
    for (number, _), (expected, found) in zip(wrong, run_both(op, [sample for _, sample in wrong], False)):
        errors += expected[3] is not None
        if expected[3] != found[3]:
            failures.append(f'{op.name} {op.variant_test_name} wrong arguments {number}: error {found[3]!r} in place of {expected[3]!r}')
    return len(wrong), errors, failures


def run_both(op, samples, gradients):
    """Results of torch's kernels and of Myriad's for each sample."""
    expected = [run(op, sample, gradients) for sample in samples]
    with myriad.torch.enabled(myriad.torch.OPERATORS, min_batch=1, devices=(device,)):
        return list(zip(expected, [run(op, sample, gradients) for sample in samples]))


def judged(task, options):
    """judge or judge_errors of a task (name, variant, type or None), and the report of Myriad's calls."""
    name, variant, dtype = task
    op = next(op for op in op_db if (op.name, op.variant_test_name) == (name, variant))
    draw = Draw(options.part, f'{options.seed} {task}')
    myriad.torch.report(reset=True)
    begin = time.perf_counter()
    outcome = judge_errors(op, draw) if dtype is None else judge(op, dtype, draw)
    return task, *outcome, myriad.torch.report(), time.perf_counter() - begin


def prepare(options):
    global device
    device = options.device
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision('highest')  # products by TF32 are torch's
    if options.plant:
        plant()


def work(connection, options):
    """A process that judges the tasks of a connection."""
    prepare(options)
    while (task := connection.recv()) is not None:
        connection.send(judged(task, options))


def in_processes(tasks, options):
    """Yields what judged returns, of processes; for a task whose process has died, and those not begun in time, (task, reason)."""
    context = multiprocessing.get_context('spawn')
    end = time.monotonic() + options.seconds
    waiting = tasks[::-1]
    running = {}

    def begin(connection, process):
        if waiting:
            running[connection] = (process, waiting.pop())
            connection.send(running[connection][1])
        else:
            connection.send(None)

    def start():
        connection, other = context.Pipe()
        process = context.Process(target=work, args=(other, options), daemon=True)
        process.start()
        other.close()
        begin(connection, process)

    for _ in range(min(options.jobs, len(tasks))):
        start()
    while running and (ready := wait(list(running), max(end - time.monotonic(), 0))):
        for connection in ready:
            process, task = running.pop(connection)
            try:
                outcome = connection.recv()
            except EOFError:
                process.join()
                yield task, f'the process ended with {process.exitcode}'
                start()
                continue
            yield outcome
            if any('CUDA error' in text for text in outcome[3]):  # later calls of this process fail, too
                process.kill()
                start()
            else:
                begin(connection, process)
    for process, task in running.values():
        process.kill()
        yield task, 'not in time'
    for task in waiting[::-1]:
        yield task, 'not begun in time'


def plant():
    """Makes the last column of every first result wrong by 1e-6."""
    table = myriad.torch._OPERATORS
    def wrong(function):
        def call(*args, **kwargs):
            out = function(*args, **kwargs)
            first = out[0] if isinstance(out, tuple) else out
            first[..., -1:].mul_(1 + 1e-6)
            return out
        return call
    for name, (function, overload, names) in list(table.items()):
        table[name] = (wrong(function), overload, names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--plant', action='store_true')
    parser.add_argument('--device', choices=('cpu', 'cuda'), default='cpu')
    parser.add_argument('--all', action='store_true', help='print every failure')
    parser.add_argument('--part', type=int, default=1, metavar='N', help='draw one sample of N')
    parser.add_argument('--jobs', type=int, default=1, metavar='N', help='judge in N processes')
    parser.add_argument('--seconds', type=float, default=86400, help='with --jobs: the time after which samples are left out')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    options.seed = int(os.environ.get('MYRIAD_TEST_SEED') or random.randrange(2**30))
    prepare(options)
    if options.part > 1:
        print(f'one sample of {options.part}; MYRIAD_TEST_SEED={options.seed}')
    ops = list(operators(options.names))
    tasks = [
        (op.name, op.variant_test_name, dtype) for op in ops for dtype in (*DTYPES, None) if dtype is None or dtype in op.supported_dtypes(device)
    ]
    outcomes = in_processes(tasks, options) if options.jobs > 1 else (judged(task, options) for task in tasks)
    samples, seconds, taken = collections.Counter(), collections.Counter(), collections.Counter()
    of_op, cut, all_errors = collections.defaultdict(list), [], 0
    for task, *outcome in outcomes:
        op = ' '.join(filter(None, task[:2]))
        if len(outcome) == 1:
            cut.append(f"{op} {str(task[2])[6:] if task[2] else 'wrong arguments'}: {outcome[0]}")
            continue
        count, errors, failures, report, spent = outcome
        samples[op] += count
        all_errors += errors
        seconds[op] += spent
        for text in failures if options.all else failures[: max(3 - len(of_op[op]), 0)]:
            print(text, flush=True)
        of_op[op] += failures
        taken.update({name: entry['taken'] for name, entry in report.items()})
    for op, failures in of_op.items():
        print(f'{op:<40} {samples[op]:>6} samples {seconds[op]:>7.1f} s  ' + (f'{len(failures)} DIFFERENCES' if failures else 'ok'))
    for text in cut:
        print(f'left out: {text}')
    print(', '.join(f'{name} {count}' for name, count in sorted(taken.items())))
    missed = [] if options.names or options.part > 1 else [name for name in myriad.torch.OPERATORS if not taken[name]]
    if missed:
        print('never reached:', ', '.join(missed))
    differences = sum(map(len, of_op.values()))
    counts = f'{len(of_op)} operators, {sum(samples.values())} samples ({all_errors} of them errors)'
    print(f'{counts}, {sum(taken.values())} calls on Myriad, {differences} differences')
    if cut or missed or not sum(taken.values()):
        return 3
    return 1 if differences else 0


if __name__ == '__main__':
    sys.exit(main())
