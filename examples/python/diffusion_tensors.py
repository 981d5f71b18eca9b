"""Diffusion tensors of a volume of magnetic resonance imaging: how water moves in each of some hundred thousand voxels.

A measurement with gradient direction g gives the signal S = S0 exp(-b g^T D g). Its logarithm is linear in log S0 and the six entries of D: each voxel
is a least squares problem of its own, weighted by S^2 since the noise of log S is proportional to 1 / S (Basser, Mattiello and Le Bihan 1994).
The normal equations are a batch of 7 x 7 systems for posv, the tensors a batch of 3 x 3 eigenproblems for eigh. The volume is a phantom: a ring and a
beam of fibres, water, and tissue without directions, with the noise of a receiver.
"""
import numpy as np

from myriad import lapack, linalg
from support import arguments, check, fastest, figure, report, save

DIRECTIONS, B = 30, 1.0  # gradient directions and b-value, in ms/um^2
NOISE = 0.02  # of S0
FIBRE, WATER, TISSUE = (1.7, 0.3, 0.3), (3.0, 3.0, 3.0), (0.8, 0.8, 0.8)  # eigenvalues, in um^2/ms


def gradients():
    """Directions (30, 3) on a spiral over half a sphere, after three measurements without a gradient."""
    k = np.arange(DIRECTIONS) + 0.5
    z, angle = k / DIRECTIONS, k * np.pi * (3 - np.sqrt(5))
    g = np.stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z], axis=1)
    return np.concatenate([np.zeros((3, 3)), g])


def design(g):
    """The matrix (measurements, 7) of log S as a function of log S0, Dxx, Dyy, Dzz, Dxy, Dxz, Dyz."""
    x, y, z = g.T
    return np.stack([np.ones(len(g)), *(-B * np.stack([x * x, y * y, z * z, 2 * x * y, 2 * x * z, 2 * y * z]))], axis=1)


def phantom(extent, slices):
    """Tensors (slices, extent, extent, 3, 3), directions of the fibres, and where there are fibres."""
    z, y, x = np.meshgrid(np.linspace(-1, 1, slices), *2 * [np.linspace(-1, 1, extent)], indexing='ij')
    radius = np.hypot(x, y)
    ring, beam, water = np.abs(radius - 0.65) < 0.15, np.abs(y - 0.3 * x) < 0.12, np.hypot(x + 0.2, y - 0.32) < 0.14
    beam &= (radius < 0.5) & ~water
    direction = np.where(ring[..., None], np.stack([-y, x, 0 * z], axis=-1), [1.0, 0.3, 0.0])
    direction[..., 2] += 0.6 * z  # fibres rise and fall
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    fibres = ring | beam
    along = direction[..., :, None] * direction[..., None, :]
    tensor = np.where(fibres[..., None, None], FIBRE[1] * np.eye(3) + (FIBRE[0] - FIBRE[1]) * along, TISSUE[0] * np.eye(3))
    tensor[water] = WATER[0] * np.eye(3)
    return tensor, direction, fibres


def measure(tensor, g, rng):
    """Magnitudes (voxels, measurements) of complex signals with noise."""
    s = np.exp(-B * np.einsum('ki,vij,kj->vk', g, tensor.reshape(-1, 3, 3), g))
    return np.hypot(s + NOISE * rng.standard_normal(s.shape), NOISE * rng.standard_normal(s.shape))


def normal_equations(signal, x):
    """Matrices (voxels, 7, 7) and right-hand sides (voxels, 7, 1)."""
    log_s = np.log(np.maximum(signal, 1e-6))
    weight = np.exp(2 * (log_s @ np.linalg.pinv(x).T) @ x.T)  # squares of the signals that an unweighted fit predicts
    products = (x[:, :, None] * x[:, None, :]).reshape(len(x), 49)
    return (weight @ products).reshape(-1, 7, 7), ((weight * log_s) @ x)[:, :, None]


def tensors(unknowns):
    """The symmetric matrices (voxels, 3, 3) of the solutions (voxels, 7, 1)."""
    return unknowns[:, [1, 4, 5, 4, 2, 6, 5, 6, 3], 0].reshape(-1, 3, 3)


def anisotropy(w):
    """Fractional anisotropy: 0 for equal eigenvalues, 1 for diffusion along a line."""
    return np.sqrt(1.5 * ((w - w.mean(axis=-1, keepdims=True))**2).sum(axis=-1) / (w**2).sum(axis=-1))


def draw(path, signal, w, v, shape):
    fig, axes = figure(11, 3.9, ncols=3)
    if fig is None:
        return
    middle = shape[0] // 2
    fa = np.clip(anisotropy(w), 0, 1).reshape(shape)[middle]
    colour = np.abs(v[:, :, 2]).reshape(*shape, 3)[middle]
    axes[0].imshow(signal[:, 3].reshape(shape)[middle], cmap='gray', origin='lower')
    axes[0].set_title('One of 30 measurements')
    image = axes[1].imshow(fa, cmap='gray', origin='lower', vmin=0, vmax=1)
    axes[1].set_title('Fractional anisotropy')
    fig.colorbar(image, ax=axes[1], shrink=0.8)
    axes[2].imshow(fa[..., None] * colour, origin='lower')
    axes[2].set_title('Fibres along x red, y green, z blue')
    for ax in axes:
        ax.grid(False)
        ax.set(xticks=[], yticks=[])
    save(fig, path)


def main(argv=None):
    options = arguments(__doc__, 'diffusion_tensors.svg', argv)
    extent, slices, runs = (96, 20, 2) if options.size == 'full' else (32, 3, 1)
    g = gradients()
    x = design(g)
    tensor, direction, fibres = phantom(extent, slices)
    signal = measure(tensor, g, np.random.default_rng(5))

    matrices, right = normal_equations(signal, x)

    unknowns, ours = fastest(lambda: lapack.posv(matrices, right).x, runs)
    expected, theirs = fastest(lambda: np.linalg.solve(matrices, right), runs)
    report(f'7 x 7 systems of {len(signal)} voxels', ours, theirs)
    check('difference to NumPy', np.abs(unknowns - expected).max(), 1e-8)
    (w, v), ours = fastest(lambda: linalg.eigh(tensors(unknowns)), runs)
    expected, theirs = fastest(lambda: np.linalg.eigh(tensors(unknowns)), runs)
    report('their 3 x 3 eigenproblems', ours, theirs)
    check('difference of eigenvalues to NumPy, in um^2/ms', np.abs(w - expected.eigenvalues).max(), 1e-8)
    truth = np.linalg.eigvalsh(tensor.reshape(-1, 3, 3))
    inside = fibres.ravel()
    check('median error of eigenvalues in fibres, in um^2/ms', np.median(np.abs(w - truth)[inside]), 0.1)
    cosine = np.abs((v[:, :, 2] * direction.reshape(-1, 3)).sum(axis=1))[inside]
    check('median error of the directions of fibres, in degrees', np.degrees(np.median(np.arccos(np.minimum(cosine, 1)))), 3.0)
    print(f'median fractional anisotropy: {np.median(anisotropy(w)[inside]):.2f} in fibres (true {anisotropy(np.array(FIBRE)):.2f})')
    draw(options.output, signal, w, v, fibres.shape)


if __name__ == '__main__':
    main()
