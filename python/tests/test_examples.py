"""The programs of examples/python run, pass their own checks and draw where matplotlib is installed."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / 'examples' / 'python'
PROGRAMS = ['diffusion_tensors', 'gaussian_process_blocks', 'kalman_filter_bank', 'stiff_ensemble', 'whitening']
# One thread: on a busy machine the threads of many short calls wait for each other.
ENVIRONMENT = {**os.environ, 'MYRIAD_NUM_THREADS': '1', 'PYTHONDONTWRITEBYTECODE': '1'}


def run(program, picture, environment=ENVIRONMENT):
    command = [sys.executable, FOLDER / f'{program}.py', '--size', 'small', '--output', picture]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_all_are_tested():
    others = ['support', 'zarr_systems']  # test_dask.py tests the second one
    assert sorted(p.stem for p in FOLDER.glob('*.py')) == sorted([*PROGRAMS, *others])


@pytest.mark.parametrize('program', PROGRAMS)
def test_program(program, tmp_path):
    picture = tmp_path / 'picture.svg'
    result = run(program, picture)
    assert result.returncode == 0, result.stderr
    assert 'Myriad' in result.stdout and 'NumPy' in result.stdout and '(limit ' in result.stdout
    if importlib.util.find_spec('matplotlib'):
        assert '</svg>' in picture.read_text()
    else:
        assert 'matplotlib is not installed' in result.stdout


def test_without_matplotlib(tmp_path):
    """A module that cannot be imported stands for a missing one."""
    (tmp_path / 'matplotlib.py').write_text('raise ImportError\n')
    path = os.pathsep.join([str(tmp_path), os.environ.get('PYTHONPATH', '')])
    result = run('whitening', tmp_path / 'picture.svg', {**ENVIRONMENT, 'PYTHONPATH': path})
    assert result.returncode == 0 and 'no picture: matplotlib is not installed (pip install matplotlib)' in result.stdout
    assert not (tmp_path / 'picture.svg').exists()


def test_failed_check_is_an_error(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import support
    support.check('error', 1.0, 2.0)
    for error in (3.0, float('nan')):
        with pytest.raises(AssertionError, match='error is'):
            support.check('error', error, 2.0)
