"""Whitening: thousands of recordings of 12 channels, each with a covariance matrix of its own, are made uncorrelated with unit variance.

The first half of a recording gives the covariance C = V diag(w) V^T, by eigh, and the whitening matrix W = V diag(w^-1/2) V^T, with W C W = I.
The second half shows how well W works for samples that it has not seen. Where a rotation of the whitened channels does not matter, the inverse of the
Cholesky factor of C whitens, too, and is much faster.
"""
import numpy as np

from myriad import lapack, linalg
from support import arguments, check, fastest, figure, report, save

CHANNELS, SAMPLES = 12, 60  # of one half of a recording


def record(count, rng):
    """Recordings (count, CHANNELS, 2 SAMPLES): correlated channels, from harmless to nearly dependent ones."""
    spread = rng.uniform(0, 3, (count, 1, 1))  # decades between the strongest and the weakest source, in amplitude
    strength = 10 ** (-spread * rng.uniform(0, 1, (count, 1, CHANNELS)))
    mixing = rng.standard_normal((count, CHANNELS, CHANNELS)) * strength
    return linalg.matmul(mixing, rng.standard_normal((count, CHANNELS, 2 * SAMPLES)))


def covariance(x):
    x = x - x.mean(axis=-1, keepdims=True)
    return linalg.matmul(x, x.mT) / (x.shape[-1] - 1)


def whitening(c, eigh, matmul):
    """The symmetric matrices W with W C W = I."""
    w, v = eigh(c)
    return matmul(v / np.sqrt(w)[:, None, :], v.mT)


def condition(c):
    w = linalg.eigvalsh(c)
    return w[:, -1] / w[:, 0]


def draw(path, before, after, x, whitened):
    fig, axes = figure(11, 3.7, ncols=3, width_ratios=(1.4, 1, 1))
    if fig is None:
        return
    bins = np.arange(0, np.log10(np.quantile(before, 0.999)) + 0.2, 0.1)
    axes[0].hist(np.log10(before), bins, color='tab:red', alpha=0.6, label='before')
    axes[0].hist(np.log10(after), bins, color='tab:blue', alpha=0.6, label='after')
    axes[0].set(title=f'{len(before)} recordings, samples not used for W', xlabel='log10 of the condition number', ylabel='recordings per bin of 0.1')
    axes[0].legend(fontsize=8)
    c = np.abs(np.corrcoef(x)) - np.eye(CHANNELS)
    i, j = np.unravel_index(np.argmax(c), c.shape)  # the two channels of the strongest correlation
    for ax, samples, name, colour in ((axes[1], x, 'before', 'tab:red'), (axes[2], whitened, 'after', 'tab:blue')):
        ax.plot(samples[i], samples[j], '.', color=colour)
        limit = 1.15 * np.abs(samples[[i, j]]).max()
        ax.set(title=f'One recording, {name}', xlabel=f'channel {i + 1}', ylabel=f'channel {j + 1}')
        ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect='equal')
    save(fig, path)


def main(argv=None):
    options = arguments(__doc__, 'whitening.svg', argv)
    count, runs = (20_000, 3) if options.size == 'full' else (500, 1)
    x = record(count, np.random.default_rng(3))
    c, unseen = covariance(x[:, :, :SAMPLES]), covariance(x[:, :, SAMPLES:])

    w, ours = fastest(lambda: whitening(c, linalg.eigh, linalg.matmul), runs)
    expected, theirs = fastest(lambda: whitening(c, np.linalg.eigh, np.matmul), runs)
    report(f'whitening matrices of {count} covariances', ours, theirs)

    def size(a):
        return np.abs(a).max(axis=(1, 2))

    # Rounding changes the small eigenvalues by about the unit roundoff times the largest one, and so relative errors by the condition number.
    unit = np.finfo(float).eps * condition(c)
    check('W C W - I, in rounding errors times the condition number', (size(w @ c @ w - np.eye(CHANNELS)) / unit).max(), 10)
    check('difference to NumPy, likewise', (size(w - expected) / size(expected) / unit).max(), 10)

    lower, ours = fastest(lambda: lapack.trtri(linalg.cholesky(c)).inverse, runs)
    _, theirs = fastest(lambda: np.linalg.inv(np.linalg.cholesky(c)), runs)
    report('the same by Cholesky factors', ours, theirs)
    check('L^-1 C L^-T - I, likewise', (size(lower @ c @ lower.mT - np.eye(CHANNELS)) / unit).max(), 10)

    before, after = condition(unseen), condition(w @ unseen @ w)
    print(f'condition numbers of samples not used for W: median {np.median(before):.0f} before, {np.median(after):.0f} after')
    one = np.argmin(np.abs(before - 1e6))
    draw(options.output, before, after, x[one, :, SAMPLES:], w[one] @ x[one, :, SAMPLES:])


if __name__ == '__main__':
    main()
