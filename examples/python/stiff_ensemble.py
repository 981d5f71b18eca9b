"""An ensemble of stiff ordinary differential equations: Robertson's reactions with thousands of sets of rates.

Three substances react at rates that differ by nine orders of magnitude. RODAS4, a Rosenbrock method of order 4 (Hairer and Wanner, Solving
Ordinary Differential Equations II, section IV.7), solves six systems with one matrix in each step. All members take their steps together,
each with a step size of its own: one call of getrf and six of getrs a step. Member 0 has the published rates, and a published solution.
"""
import numpy as np

from myriad import lapack
from support import arguments, check, fastest, figure, report, save

RATES = np.array([0.04, 3e7, 1e4])  # 1/s: A -> B; B + B -> B + C; B + C -> A + C
TIMES = np.geomspace(1e-5, 1e11, 65)  # s
REFERENCE = np.array([0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050])  # at 1e11 s; IVP test set, problem ROBER
ABSOLUTE = np.array([1e-13, 1e-18, 1e-13])  # absolute tolerances

GAMMA = 0.25
A = [[], [1.544], [0.9466785280815826, 0.2557011698983284], [3.314825187068521, 2.896124015972201, 0.9986419139977817],
     [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950]]
C = [[], [-5.6688], [-2.430093356833875, -0.2063599157091915], [-0.1073529058151375, -9.594562251023355, -20.47028614809616],
     [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160],
     [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054]]


def derivative(y, k):
    a, b, c = y
    slow, fast, back = k[0] * a, k[1] * b * b, k[2] * b * c
    return np.stack([back - slow, slow - back - fast, fast])


def jacobian(y, k):
    _, b, c = y
    j = np.zeros((3, 3, len(b)))
    j[2, 1] = 2 * k[1] * b
    j[0, 0], j[0, 1], j[0, 2] = -k[0], k[2] * c, k[2] * b
    j[1] = -j[0] - j[2]  # nothing is lost
    return j


def step(y, k, h, factor):
    """One step of length h (count,) from y (3, count): the new y and an estimate of its error. factor(w) returns a function that solves."""
    w = -jacobian(y, k)
    w[range(3), range(3)] += 1 / (GAMMA * h)
    solve = factor(np.moveaxis(w, 2, 0))  # a view: matrices (count, 3, 3) in any layout are factored where they are
    u, at = [], y
    for stage in range(6):
        if stage == 5:
            at = at + u[-1]
        elif stage > 0:
            at = y + sum(a * x for a, x in zip(A[stage], u))
        right = derivative(at, k)
        if stage > 0:
            right += sum(c * x for c, x in zip(C[stage], u)) / h
        u.append(solve(right.T[:, :, None])[:, :, 0].T)
    return at + u[-1], u[-1]


def integrate(k, tolerance, factor):
    """Solutions (times, 3, count) and the number of steps. k: rates (3, count)."""
    count = k.shape[1]
    y, h = np.zeros((3, count)), np.full(count, 1e-6)
    y[0] = 1
    solutions, steps = [], 0
    for interval in np.diff(TIMES, prepend=0):
        left = np.full(count, interval)  # s, until the next of TIMES
        active = np.arange(count)
        while len(active):
            old, full = y[:, active], h[active]
            tried = np.minimum(full, left[active])
            new, error = step(old, k[:, active], tried, factor)
            scale = ABSOLUTE[:, None] + tolerance * np.maximum(np.abs(old), np.abs(new))
            norm = np.sqrt(((error / scale)**2).mean(axis=0))
            good = norm <= 1
            wanted = tried * np.clip(0.9 * np.maximum(norm, 1e-10)**-0.25, 0.2, 6)
            h[active] = np.where(good & (tried < full), np.maximum(wanted, full), wanted)
            y[:, active] = np.where(good, new, old)
            left[active] -= np.where(good, tried, 0)
            steps += len(active)
            active = active[left[active] > 0]
        solutions.append(y.copy())
    return np.array(solutions), steps


def by_myriad(w):
    lu, ipiv, _ = lapack.getrf(w, out=w)
    return lambda b: lapack.getrs(lu, ipiv, b, out=b)


def by_numpy(w):
    return lambda b: np.linalg.solve(w, b)  # NumPy factors again for every right-hand side


def draw(path, y):
    fig, axes = figure(11, 3.6, ncols=3)
    if fig is None:
        return
    for i, (ax, name, factor) in enumerate(zip(axes, ('A', 'B × 10⁵', 'C'), (1, 1e5, 1))):
        ax.plot(TIMES, factor * y[:, i, 1:41], color='gray', lw=0.5, alpha=0.6, label=['40 members'] + 39 * [None])
        ax.fill_between(TIMES, *np.quantile(factor * y[:, i], (0.05, 0.95), axis=1), color='tab:blue', alpha=0.25, lw=0, label='5 to 95 %')
        ax.plot(TIMES, factor * y[:, i, 0], color='tab:blue', lw=2, label='published rates')
        ax.plot(TIMES[-1], factor * REFERENCE[i], 'o', color='tab:red', label='published solution')
        ax.set(title=name, xscale='log', xlabel='time (s)', ylabel='concentration')
    axes[0].legend(fontsize=8)
    save(fig, path)


def main(argv=None):
    options = arguments(__doc__, 'stiff_ensemble.svg', argv)
    count, runs = (4096, 2) if options.size == 'full' else (64, 1)
    k = RATES[:, None] * 10 ** np.random.default_rng(4).uniform(-0.5, 0.5, (3, count))
    k[:, 0] = RATES
    (y, steps), ours = fastest(lambda: integrate(k, 1e-5, by_myriad), runs)
    (expected, _), theirs = fastest(lambda: integrate(k, 1e-5, by_numpy), runs)
    report(f'{count} members, {steps / count:.0f} steps each', ours, theirs)
    check('member 0 at 1e11 s, relative error', np.abs(y[-1, :, 0] / REFERENCE - 1).max(), 1e-3)
    check('sum of the concentrations - 1', np.abs(y.sum(axis=1) - 1).max(), 1e-12)
    check('relative difference to NumPy', np.abs(y / expected - 1).max(), 1e-3)
    precise, _ = integrate(k[:, :8], 1e-7, by_myriad)
    check('relative difference of 8 members to a tolerance of 1e-7', np.abs(y[:, :, :8] / precise - 1).max(), 1e-3)
    draw(options.output, y)


if __name__ == '__main__':
    main()
