"""Compiled kernels for myriad.linalg: with the wheel that python/kernels makes, no call compiles. On the fake driver and the fake compiler."""
import os
import pathlib
import random
import subprocess
import sys
import zipfile

import pytest

import myriad

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FAKE = REPOSITORY / 'build/release/tests/runtime/fake'
sys.path.insert(0, str(REPOSITORY / 'python/kernels'))
import calls
import make_wheel

H200 = make_wheel.GPUS['sm_90'][0]
NEWER = make_wheel.GPUS['compute_90'][0]


@pytest.fixture(scope='module')
def fake():
    if not (FAKE / 'libfake_nvrtc.so').exists():
        pytest.fail(f'{FAKE} has no fake driver and compiler: tools/python-test builds them')
    return FAKE


def compile_lists(fake, *jobs):
    """Compiles lists of kernels by the fake compiler. jobs: architecture, list, pack."""
    code = 'import sys; from myriad import _myriad; [_myriad.build_pack(*job.split("|")) for job in sys.argv[1:]]'
    environment = make_wheel.fake_environment(fake) | {'MYRIAD_NVRTC': str(fake / 'libfake_nvrtc.so')}
    subprocess.run([sys.executable, '-c', code, *('|'.join(map(str, job)) for job in jobs)], env=environment, check=True)


def install(folder, packs):
    """A folder for PYTHONPATH with the package myriad_linalg_kernels."""
    folder.mkdir()
    with zipfile.ZipFile(make_wheel.write_wheel(folder, myriad.__version__, packs)) as wheel:
        wheel.extractall(folder / 'site')
    return folder / 'site'


def call_everything(fake, gpu, site, *arguments):
    """Runs calls.py without a compiler and without a cache."""
    environment = make_wheel.fake_environment(fake, gpu) | {'MYRIAD_NVRTC': '/nonexistent'}
    environment['PYTHONPATH'] = os.pathsep.join([str(site), os.environ.get('PYTHONPATH', '')])
    return subprocess.run([sys.executable, REPOSITORY / 'python/kernels/calls.py', *arguments], env=environment, text=True, capture_output=True)


def test_no_call_compiles(tmp_path, fake):
    sizes = ['--n', '5,33', '--dtype', 'c8']
    every = tmp_path / 'every.list'
    make_wheel.list_kernels(fake, H200, every, [*sizes, '--matrices', '1,300,5000'])
    assert make_wheel.without_duplicates(every) > 50
    kernels = every.read_text().splitlines()
    hole = random.randrange(len(kernels))
    holed = tmp_path / 'holed.list'
    holed.write_text('\n'.join(kernels[:hole] + kernels[hole + 1:]))
    jobs = [('sm_90', every, tmp_path / 'code.pack'), ('compute_90', every, tmp_path / 'ptx.pack'), ('sm_90', holed, tmp_path / 'holed.pack')]
    compile_lists(fake, *jobs)

    # Batches of other sizes than those for which kernels were listed; and a GPU for which there is PTX only.
    for gpu, pack in ((H200, 'code.pack'), (NEWER, 'ptx.pack')):
        run = call_everything(fake, gpu, install(tmp_path / f'with {pack}', [tmp_path / pack]), *sizes, '--matrices', '2,7000')
        assert run.returncode == 0, run.stderr
    run = call_everything(fake, H200, install(tmp_path / 'with a hole', [tmp_path / 'holed.pack']), *sizes, '--matrices', '1,300,5000')
    assert run.returncode == 1
    assert kernels[hole].split('\t')[1] in run.stderr


def test_another_version_is_said(tmp_path):
    (tmp_path / 'myriad_linalg_kernels.py').write_text("__version__, FOLDER = '0.0.1', '/nonexistent'\n")
    environment = os.environ | {'PYTHONPATH': os.pathsep.join([str(tmp_path), os.environ.get('PYTHONPATH', '')])}
    code = 'import myriad; print(myriad.info()["kernels"])'
    run = subprocess.run([sys.executable, '-c', code], env=environment, text=True, capture_output=True, check=True)
    assert run.stdout == '0.0.1\n'
    assert 'myriad-linalg-kernels 0.0.1 has kernels of another version' in run.stderr


def test_every_function_is_listed():
    assert calls.CALLS.keys() | calls.ELSEWHERE == set(myriad.linalg.__all__)
    assert not calls.CALLS.keys() & calls.ELSEWHERE
