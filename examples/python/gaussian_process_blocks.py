"""Gaussian processes in many small blocks: a long signal is smoothed by local experts, each of which sees 40 samples.

One Gaussian process of all samples would factor one huge matrix. Blocks that overlap by half factor thousands of 40 x 40 matrices instead:
each block predicts the middle of its window. Every block keeps the length scale with the largest log marginal likelihood, so the experts follow a
signal whose frequency varies.
"""
import numpy as np

from myriad import batched, lapack
from support import arguments, check, fastest, figure, report, save

POINTS = 40  # in a block
STRIDE = 20  # samples from one block to the next
RATE = 20.0  # samples per second, on average
NOISE = 0.2  # standard deviation of the samples, and so the jitter of the kernel
LENGTHS = np.geomspace(0.15, 3.0, 12)  # s, of the kernel


def signal(t, duration):
    """An oscillation whose frequency varies between 0.1 and 1 Hz."""
    rate = 4 * np.pi / duration
    return np.sin(2 * np.pi * (0.55 * t - 0.45 / rate * np.sin(rate * t)))


def windows(x):
    return np.lib.stride_tricks.sliding_window_view(x, POINTS)[::STRIDE]


def kernel(t1, t2, length):
    """The prior covariances (..., n1, n2) of the signal at times t1 (..., n1) and t2 (..., n2)."""
    length = np.asarray(length)[..., None, None]
    return np.exp(-0.5 * ((t1[..., :, None] - t2[..., None, :]) / length)**2)


def log_likelihood(diagonal, alpha, y):
    return -0.5 * (y * alpha).sum(axis=(-2, -1)) - np.log(diagonal).sum(axis=-1) - 0.5 * POINTS * np.log(2 * np.pi)


def fit(k, y):
    """Cholesky factors of K + NOISE^2 I, the weights alpha = (K + NOISE^2 I)^-1 y, and the log marginal likelihoods."""
    factor = batched.cholesky_jitter(k, jitter=NOISE**2).factor
    alpha = lapack.potrs(factor, y)
    return factor, alpha, log_likelihood(np.diagonal(factor, axis1=-2, axis2=-1), alpha, y)


def fit_numpy(k, y):
    """The same by NumPy, which cannot solve with a factor."""
    k = k + NOISE**2 * np.eye(POINTS)
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(k, y)
    return factor, alpha, log_likelihood(np.diagonal(factor, axis1=-2, axis2=-1), alpha, y)


def predict(factor, alpha, k_new):
    """Means and standard deviations (blocks, n) at new points. k_new: covariances (blocks, 40, n) of the samples and the new points."""
    mean = (k_new.mT @ alpha)[..., 0]
    explained = lapack.trsm(factor, k_new)  # L^-1 k_new
    return mean, np.sqrt(np.maximum(1 - (explained**2).sum(axis=-2), 0))


def draw(path, t, y, t_new, mean, sigma, length, duration):
    fig, axes = figure(10, 6, nrows=2, height_ratios=(1.6, 1))
    if fig is None:
        return
    centre, width = 0.09 * duration, min(24.0, duration / 6)
    first, last = centre - width / 2, centre + width / 2
    seen, new = (t > first) & (t < last), (t_new > first) & (t_new < last)
    axes[0].plot(t[seen], y[seen], '.', color='gray', ms=3, label='samples')
    axes[0].fill_between(t_new[new], (mean - 2 * sigma)[new], (mean + 2 * sigma)[new], color='tab:blue', alpha=0.3, lw=0, label='prediction, 2 sigma')
    axes[0].plot(t_new[new], mean[new], color='tab:blue', label='prediction')
    axes[0].plot(t_new[new], signal(t_new[new], duration), '--', color='black', lw=1, label='true signal')
    axes[0].set(title=f'{width:.0f} of {duration:.0f} seconds', xlabel='time (s)', ylabel='signal', xlim=(first, last))
    axes[0].legend(fontsize=8, ncols=4, loc='upper center')
    axes[0].set_ylim(-1.8, 2.3)
    axes[1].semilogy(windows(t).mean(axis=1), length, '.', ms=3, alpha=0.5, color='tab:blue', label='chosen by a block')
    period = 1 / (0.55 - 0.45 * np.cos(4 * np.pi * t / duration))
    axes[1].semilogy(t, period, color='black', lw=1, label='period of the signal')
    axes[1].set(title=f'Length scales of {len(length)} blocks', xlabel='time (s)', ylabel='length (s)', ylim=(0.08, 60))
    axes[1].legend(fontsize=8, ncols=2, loc='upper right')
    save(fig, path)


def main(argv=None):
    options = arguments(__doc__, 'gaussian_process_blocks.svg', argv)
    blocks, runs = (2000, 3) if options.size == 'full' else (200, 1)
    rng = np.random.default_rng(2)
    count = STRIDE * (blocks - 1) + POINTS
    duration = count / RATE
    t = np.sort(rng.uniform(0, duration, count))
    y = signal(t, duration) + NOISE * rng.standard_normal(count)
    block_t, block_y = windows(t), windows(y)[..., None]

    likelihoods, ours, theirs, difference = [], 0.0, 0.0, 0.0
    for length in LENGTHS:
        k = kernel(block_t, block_t, length)
        (_, _, found), seconds = fastest(lambda: fit(k, block_y), runs)
        ours += seconds
        (_, _, expected), seconds = fastest(lambda: fit_numpy(k, block_y), runs)
        theirs += seconds
        difference = max(difference, np.abs(found - expected).max())
        likelihoods.append(found)
    report(f'{blocks} blocks with {len(LENGTHS)} length scales, factors and weights', ours, theirs)
    check('difference of log likelihoods to NumPy', difference, 1e-9)

    length = LENGTHS[np.argmax(likelihoods, axis=0)]
    factor, alpha, _ = fit(kernel(block_t, block_t, length), block_y)
    middle = slice((POINTS - STRIDE) // 2, (POINTS + STRIDE) // 2)
    start, end = block_t[:, middle.start, None], block_t[:, middle.stop, None]
    new = start + (end - start) * np.linspace(0, 1, STRIDE, endpoint=False)
    mean, sigma = predict(factor, alpha, kernel(block_t, new, length))
    error = mean - signal(new, duration)
    print(f'standard deviation of the error: {error.std():.3f}, of the samples: {NOISE}')
    inside = (np.abs(error) < 2 * sigma).mean()
    check(f'errors within 2 sigma: {100 * inside:.1f} %, difference to 95.4 %', abs(inside - 0.954), 0.05)
    draw(options.output, t, y, new.ravel(), mean.ravel(), sigma.ravel(), length, duration)


if __name__ == '__main__':
    main()
