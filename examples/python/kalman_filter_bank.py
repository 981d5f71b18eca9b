"""A bank of Kalman filters: each follows one of thousands of targets by the positions that two radars measure.

A state has 6 numbers: position, velocity and acceleration along x and y. A measurement has 4: the position that either radar reports. A radar is
precise in range and poor across it, so every target has its own covariances at every step. One step of all filters is six products and
one call of posv.
"""
import numpy as np

from myriad import lapack, linalg
from support import arguments, check, fastest, figure, report, save

INTERVAL = 1.0  # s between measurements
RADARS = np.array([[-20e3, 0.0], [15e3, -15e3]])  # m
RANGE_SIGMA, ANGLE_SIGMA = 20.0, 5e-3  # m, rad

t = INTERVAL
F = np.kron(np.eye(2), [[1, t, t**2 / 2], [0, 1, t], [0, 0, 1]])  # the next state is F x + noise of covariance Q
UNIT_Q = np.kron(np.eye(2), [[t**5 / 20, t**4 / 8, t**3 / 6], [t**4 / 8, t**3 / 3, t**2 / 2], [t**3 / 6, t**2 / 2, t]])
H = np.zeros((4, 6))  # a measurement is H x + noise of covariance R
H[[0, 2], 0] = H[[1, 3], 3] = 1


def radar_covariance(position):
    """Covariances (count, 4, 4) of both radars' positions of targets at `position` (count, 2)."""
    r = np.zeros((len(position), 4, 4))
    for k, radar in enumerate(RADARS):
        away = position - radar
        distance = np.linalg.norm(away, axis=1)[:, None, None]
        along = away[:, :, None] / distance
        along = along @ along.mT  # projection on the line of sight
        r[:, 2 * k:2 * k + 2, 2 * k:2 * k + 2] = RANGE_SIGMA**2 * along + (ANGLE_SIGMA * distance)**2 * (np.eye(2) - along)
    return r


def simulate(count, steps, rng):
    """First states (count, 6, 1), states (steps, count, 6, 1), measurements (steps, count, 4, 1), their covariances R, and the targets' Q."""
    agility = 10 ** rng.uniform(-2, 0.5, (count, 1, 1))  # from airliners to fighters
    q = agility * UNIT_Q
    root_q = linalg.cholesky(q)
    x = first = rng.standard_normal((count, 6, 1)) * np.array([8e3, 120, 1] * 2)[:, None]
    states, z, r = np.empty((steps, count, 6, 1)), np.empty((steps, count, 4, 1)), np.empty((steps, count, 4, 4))
    for k in range(steps):
        x = F @ x + root_q @ rng.standard_normal(x.shape)
        states[k], r[k] = x, radar_covariance(x[:, [0, 3], 0])
        z[k] = H @ x + linalg.cholesky(r[k]) @ rng.standard_normal((count, 4, 1))
    return first, states, z, r, q


def run_filters(x, p, z, r, q, matmul, solve):
    """Estimates (steps, count, 6, 1), their variances (steps, count, 6), and the last covariances. x, p: the first estimate and its covariance."""
    estimates, variances = np.empty((len(z), *x.shape)), np.empty((len(z), *x.shape[:2]))
    right = np.empty((len(x), 4, 7))
    for k in range(len(z)):
        x = matmul(F, x)  # predict
        p = matmul(matmul(F, p), F.T) + q
        hp = right[:, :, :6] = matmul(H, p)
        right[:, :, 6:] = z[k] - matmul(H, x)  # innovation
        s = matmul(hp, H.T) + r[k]  # covariance of the innovation
        solved = solve(s, right)  # S^-1 H P and S^-1 times the innovation
        update = matmul(hp.mT, solved)
        x, p = x + update[:, :, 6:], p - update[:, :, :6]
        p = (p + p.mT) / 2  # otherwise rounding errors that are not symmetric grow
        estimates[k], variances[k] = x, np.diagonal(p, axis1=1, axis2=2)
    return estimates, variances, p


def draw(path, one, states, z, estimates, variances):
    fig, axes = figure(11, 4.2, ncols=3, width_ratios=(1.15, 1, 1))
    if fig is None:
        return
    time = INTERVAL * np.arange(1, len(states) + 1)
    error = estimates - states
    track, seen, found = (a[:25, one, :, 0] / 1e3 for a in (states, z, estimates))
    axes[0].plot(seen[:, 0], seen[:, 1], '.', color='tab:orange', ms=4, alpha=0.7, label='radar 1')
    axes[0].plot(seen[:, 2], seen[:, 3], '.', color='tab:green', ms=4, alpha=0.7, label='radar 2')
    axes[0].plot(track[:, 0], track[:, 3], color='black', lw=2.5, alpha=0.5, label='true path')
    axes[0].plot(found[:, 0], found[:, 3], color='tab:blue', label='estimate')
    axes[0].set(title=f'One target, {INTERVAL * len(track):.0f} seconds', xlabel='x (km)', ylabel='y (km)', aspect='equal', adjustable='datalim')
    sigma = np.sqrt(variances[:, one, 0])
    axes[1].fill_between(time, -sigma, sigma, color='tab:blue', alpha=0.25, lw=0, label='expected, 1 sigma')
    axes[1].plot(time, error[:, one, 0, 0], color='tab:blue', label='actual')
    axes[1].set(title='Error in x of this target', xlabel='time (s)', ylabel='error (m)')
    for i, name, colour in ((0, 'position (m)', 'tab:blue'), (1, 'velocity (m/s)', 'tab:red'), (2, 'acceleration (m/s²)', 'tab:purple')):
        axes[2].semilogy(time, np.sqrt((error[:, :, i, 0]**2).mean(axis=1)), color=colour, label=name)
        axes[2].semilogy(time, np.sqrt(variances[:, :, i].mean(axis=1)), '--', color='black', lw=1, label='expected' if i == 2 else None)
    axes[2].set(title=f'RMS error in x of {states.shape[1]} targets', xlabel='time (s)')
    for ax in axes:
        ax.legend(fontsize=8)
    save(fig, path)


def main(argv=None):
    options = arguments(__doc__, 'kalman_filter_bank.svg', argv)
    count, steps, runs = (10_000, 60, 3) if options.size == 'full' else (500, 30, 1)
    rng = np.random.default_rng(1)
    first, states, z, r, q = simulate(count, steps, rng)
    p = np.broadcast_to(np.diag(np.array([1e3, 150, 3] * 2)**2), (count, 6, 6))  # of the first estimate, which is that wrong
    x = first + np.sqrt(np.diagonal(p[0]))[:, None] * rng.standard_normal((count, 6, 1))

    def posv(s, right):
        return lapack.posv(s, right, factor=s, out=right).x  # in place: s and right are not needed any more

    (estimates, variances, p_last), ours = fastest(lambda: run_filters(x, p, z, r, q, linalg.matmul, posv), runs)
    (expected, *_), theirs = fastest(lambda: run_filters(x, p, z, r, q, np.matmul, np.linalg.solve), runs)
    report(f'{steps} steps of {count} filters', ours, theirs)
    check('difference to NumPy (m)', np.abs(estimates - expected).max(), 1e-6)
    # If the covariances are right, e^T P^-1 e of the errors e has a chi-squared distribution with 6 degrees of freedom.
    error = estimates[-1] - states[-1]
    consistency = (error.mT @ lapack.posv(p_last, error).x).mean() / 6
    check('e^T P^-1 e / 6, mean over the filters, difference to 1', abs(consistency - 1), 6 * np.sqrt(2 / 6 / count))
    path = states[:, :, [0, 3], 0]
    one = np.argmax(np.linalg.norm(path[12] - (path[0] + path[24]) / 2, axis=1))  # a target that turns
    draw(options.output, one, states, z, estimates, variances)


if __name__ == '__main__':
    main()
