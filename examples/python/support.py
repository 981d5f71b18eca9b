"""Command line, timing and pictures, shared by the examples."""
import argparse
import time


def arguments(description, picture, argv=None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--size', choices=('small', 'full'), default='full', help='problem size: small takes a fraction of a second')
    parser.add_argument('--output', default=picture, metavar='FILE', help='picture to write, SVG, PNG or PDF by its ending; default: %(default)s')
    return parser.parse_args(argv)


def fastest(function, runs):
    """The result of function() and the seconds of its fastest run."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def report(what, myriad_seconds, numpy_seconds):
    print(f'{what}: Myriad {1e3 * myriad_seconds:.1f} ms, NumPy {1e3 * numpy_seconds:.1f} ms, ratio {numpy_seconds / myriad_seconds:.1f}')


def check(what, error, limit):
    """Prints an error and asserts that it is at most `limit`."""
    print(f'{what}: {error:.2g} (limit {limit:.2g})')
    assert error <= limit, f'{what} is {error}; the limit is {limit}'


def figure(width, height, **subplots):
    """A figure and its axes, or None and None where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print('no picture: matplotlib is not installed (pip install matplotlib)')
        return None, None
    fig = Figure(figsize=(width, height), layout='constrained')
    axes = fig.subplots(**subplots)
    for ax in axes.flat:
        ax.spines[['top', 'right']].set_visible(False)
        ax.grid(alpha=0.25)
    return fig, axes


def save(fig, path):
    fig.savefig(path, dpi=120)
    print(f'picture: {path}')
