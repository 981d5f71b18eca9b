"""Judges myriad.torch.enable() by torch's own samples of its linear algebra (OpInfo), against torch's kernels.

    python torch_judge.py              all operators, on the CPU
    python torch_judge.py --plant      the same with a planted error of 1e-6, and must fail
    python torch_judge.py linalg.qr    some operators
    python torch_judge.py --device cuda
    python torch_judge.py --part 20    one sample of 20, drawn by MYRIAD_TEST_SEED, which is printed

For every sample: the same values, shapes, dtypes, strides and gradients as from torch's kernels, up to rounding, and the same errors for
wrong arguments. Prints the number of calls that reached Myriad for each operator of aten. Exits with 1 after a difference, or if an
operator that enable() knows was never reached; with --part, if no operator was.
"""

import argparse
import collections
import os
import random
import sys
import warnings

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
        out = tensors_of(sample.output_process_fn_grad(raw))
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


class Draw:
    """Draws one sample of `part`: one of sqrt(part) groups, whose samples cost more to make than to judge, and as many of its samples."""

    def __init__(self, part):
        self.part = part
        self.seed = int(os.environ.get('MYRIAD_TEST_SEED') or random.randrange(2**30))
        self.random = random.Random(self.seed)

    def __call__(self):
        return self.part == 1 or self.random.random() * self.part**0.5 < 1


def judge(op, dtype, totals, draw):
    failures = []
    for gradients in (False, True):
        if gradients and not (op.supports_autograd and dtype in (torch.float64, torch.complex128)):
            continue
        if not draw():
            continue
        torch.manual_seed(0)
        try:
            samples = list(op.sample_inputs(device, dtype, requires_grad=gradients))
        except Exception as error:
            failures.append(f'{op.name} {dtype}: no samples: {error}')
            continue
        for number, sample in enumerate(samples):
            if not draw():
                continue
            totals['samples'] += 1
            expected = run(op, sample, gradients)
            with myriad.torch.enabled(myriad.torch.OPERATORS, min_batch=1):
                found = run(op, sample, gradients)
            where = f"{op.name} {op.variant_test_name} {str(dtype)[6:]} sample {number}{' with gradients' if gradients else ''}"
            if expected[3] != found[3]:
                failures.append(f'{where}: error {found[3]!r} in place of {expected[3]!r}')
                continue
            if expected[3]:
                totals['errors'] += 1
                continue
            if expected[0] != found[0]:
                failures.append(f'{where}: {found[0]} in place of {expected[0]}')
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
    return failures


def judge_errors(op, totals, draw):
    """The same errors for wrong arguments."""
    failures = []
    if op.error_inputs_func is None or not draw():
        return failures
    for number, wrong in enumerate(op.error_inputs(device)):
        if not draw():
            continue
        totals['samples'] += 1
        expected = run(op, wrong.sample_input, False)[3]
        with myriad.torch.enabled(myriad.torch.OPERATORS, min_batch=1):
            found = run(op, wrong.sample_input, False)[3]
        totals['errors'] += expected is not None
        if expected != found:
            failures.append(f'{op.name} {op.variant_test_name} wrong arguments {number}: error {found!r} in place of {expected!r}')
    return failures


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
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    global device
    device = options.device
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision('highest')  # products by TF32 are torch's
    if options.plant:
        plant()
    draw = Draw(options.part)
    if options.part > 1:
        print(f'one sample of {options.part}; MYRIAD_TEST_SEED={draw.seed}')
    totals = collections.Counter()
    failures = []
    for op in operators(options.names):
        of_op = [f for dtype in DTYPES if dtype in op.supported_dtypes(device) for f in judge(op, dtype, totals, draw)]
        of_op += judge_errors(op, totals, draw)
        totals['operators'] += 1
        for text in of_op if options.all else of_op[:3]:
            print(text)
        if len(of_op) > 3 and not options.all:
            print(f'... and {len(of_op) - 3} more of {op.name}')
        failures += of_op
    report = myriad.torch.report()
    print(report)
    missed = [] if options.names or options.part > 1 else [name for name in myriad.torch.OPERATORS if not report.get(name, {}).get('taken')]
    if missed:
        print('never reached:', ', '.join(missed))
    taken = sum(entry['taken'] for entry in report.values())
    counts = f'{totals["operators"]} operators, {totals["samples"]} samples ({totals["errors"]} of them errors)'
    print(f'{counts}, {taken} calls on Myriad, {len(failures)} differences')
    return 1 if failures or missed or not taken else 0


if __name__ == '__main__':
    sys.exit(main())
