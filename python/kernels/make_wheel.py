"""Makes the wheel myriad-linalg-kernels: compiled GPU kernels for the functions of myriad.linalg. tools/kernels-wheel runs it.

Lists the kernels that the functions ask for on the GPUs below (calls.py), compiles them by NVRTC into one pack for each architecture, and
writes the packs into a wheel without code.
"""
import argparse
import base64
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).parent
REPOSITORY = HERE.parent.parent
NAME = 'myriad_linalg_kernels'

# The GPUs that each pack is for: compute capability, multiprocessors, KiB of shared memory of one, name. Routines choose kernels by these,
# and tuned ones by the name. Machine code for sm_80 is for 8.6 and 8.9, too, and GPUs newer than the wheel compile its PTX for compute_90.
GPUS = {
    'sm_80': [(80, 108, 164, 'NVIDIA A100-SXM4-80GB'), (80, 72, 100, 'NVIDIA A10'), (80, 142, 100, 'NVIDIA L40S')],
    'sm_90': [(90, 132, 228, 'NVIDIA H200'), (90, 132, 228, 'NVIDIA H100 80GB HBM3'), (90, 114, 228, 'NVIDIA H100 PCIe')],
    'sm_100': [(100, 148, 228, 'NVIDIA B200')],
    'sm_120': [(120, 170, 100, 'NVIDIA GeForce RTX 5090'), (120, 36, 100, 'NVIDIA GeForce RTX 5060 Ti')],
    'compute_90': [(130, 160, 228, 'a newer GPU'), (130, 48, 100, 'a newer GPU')],
}
SIZES = '1-32,33,40,48,64,80,96,100,128,160,192,256,384,512'


def fake_environment(fake, gpu=None):
    """The environment in which the library finds the fake driver of the build folder `fake`, with such a GPU."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(('MYRIAD_', 'FAKE_CUDA_'))}
    libraries = os.pathsep.join(filter(None, [str(fake), os.environ.get('LD_LIBRARY_PATH')]))
    environment |= {'MYRIAD_CACHE_DIR': 'off', 'MYRIAD_TUNED_DIR': 'off', 'FAKE_CUDA_STATIC_BYTES': '0', 'LD_LIBRARY_PATH': libraries}
    if gpu:
        capability, multiprocessors, shared, name = gpu
        environment |= {'FAKE_CUDA_CAPABILITY': str(capability), 'FAKE_CUDA_MULTIPROCESSORS': str(multiprocessors),
                        'FAKE_CUDA_SHARED_KIB': str(shared), 'FAKE_CUDA_NAME': name}
    return environment


def list_kernels(fake, gpu, path, arguments):
    """Appends the kernels that calls.py asks for on such a GPU to the list `path`."""
    environment = fake_environment(fake, gpu) | {'MYRIAD_NVRTC': str(fake / 'libfake_nvrtc.so'), 'MYRIAD_KERNEL_LIST': str(path)}
    run = subprocess.run([sys.executable, HERE / 'calls.py', *arguments], env=environment, text=True, capture_output=True)
    if run.returncode:
        raise SystemExit(f'calls.py failed for {gpu[3]}: {run.stderr}')


def without_duplicates(path):
    """Sorts the lines of a list, so that packs do not depend on the order of calls. Returns their number."""
    lines = sorted(set(path.read_text().splitlines()))
    path.write_text(''.join(f'{line}\n' for line in lines))
    return len(lines)


def write_wheel(folder, version, packs):
    """Writes the wheel with these packs. Returns its path."""
    wheel = folder / f'{NAME}-{version}-py3-none-any.whl'
    info = f'{NAME}-{version}.dist-info'
    texts = {
        f'{NAME}/__init__.py': '"""Compiled GPU kernels for the package myriad-linalg of the same version, which finds them here."""\n'
                               'import os\n\n'
                               f"__version__ = '{version}'\n"
                               "FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'packs')\n",
        f'{info}/METADATA': f'Metadata-Version: 2.4\nName: myriad-linalg-kernels\nVersion: {version}\n'
                            'Summary: Compiled GPU kernels for myriad-linalg\nLicense-Expression: BSD-3-Clause\nLicense-File: LICENSE\n'
                            'Requires-Python: >=3.11\nDescription-Content-Type: text/markdown\n\n' + (HERE / 'README.md').read_text(),
        f'{info}/WHEEL': 'Wheel-Version: 1.0\nGenerator: myriad\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
        f'{info}/licenses/LICENSE': (REPOSITORY / 'LICENSE').read_text(),
    }
    record = []
    with zipfile.ZipFile(wheel, 'w') as archive:

        def add(name, content):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # one date, so that equal packs make equal wheels
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
            record.append(f'{name},sha256={digest},{len(content)}\n')

        for pack in packs:
            add(f'{NAME}/packs/{pack.name}', pack.read_bytes())
        for name, text in texts.items():
            add(name, text.encode())
        add(f'{info}/RECORD', ''.join([*record, f'{info}/RECORD,,\n']).encode())
    return wheel


def build_pack(arch, path, pack, threads):
    """Compiles a list in a process of its own, in which MYRIAD_KERNEL_LIST and packs of the user play no part. Returns the kernels' number."""
    code = 'import sys; from myriad import _myriad; print(_myriad.build_pack(*sys.argv[1:4], int(sys.argv[4])))'
    environment = {k: v for k, v in os.environ.items() if k not in ('MYRIAD_KERNEL_LIST', 'MYRIAD_PACK', 'MYRIAD_DUMP')}
    run = subprocess.run([sys.executable, '-c', code, arch, path, pack, str(threads)], env=environment, text=True, stdout=subprocess.PIPE)
    if run.returncode:
        raise SystemExit(f'{pack.name} could not be compiled; see above')
    return int(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--arch', type=lambda text: text.split(','), default=list(GPUS), help=f'out of {", ".join(GPUS)}; default: all')
    parser.add_argument('--n', default=SIZES, help='rows of matrices; default: %(default)s')
    parser.add_argument('--dtype', default='f4,f8,c8,c16', help='default: %(default)s')
    parser.add_argument('--functions', help='of myriad.linalg, separated by commas; default: all with kernels')
    parser.add_argument('--results', default='rows,columns', help="row-major and column-major results; default: both, since torch's are by columns")
    parser.add_argument('--list-only', action='store_true', help='list the kernels and compile none')
    parser.add_argument('--every', type=int, default=1, help='compile every so many-th kernel only, to estimate sizes and times')
    parser.add_argument('--threads', type=int, default=0, help='compilations at a time; default: one per core')
    parser.add_argument('--fake', type=pathlib.Path, required=True, help='folder of the fake driver, such as build/release/tests/runtime/fake')
    parser.add_argument('--output', type=pathlib.Path, default=REPOSITORY / 'build/kernels', help='folder; default: build/kernels')
    options = parser.parse_args()
    for arch in options.arch:
        if arch not in GPUS:
            parser.error(f'--arch {arch}: there are {", ".join(GPUS)}')
    options.output.mkdir(parents=True, exist_ok=True)
    arguments = ['--n', options.n, '--dtype', options.dtype, '--results', options.results]
    if options.functions:
        arguments += ['--functions', options.functions]

    lists = {arch: options.output / f'{arch}.list' for arch in options.arch}
    for path in lists.values():
        path.unlink(missing_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.threads or os.cpu_count()) as pool:
        jobs = [pool.submit(list_kernels, options.fake.resolve(), gpu, lists[arch], arguments) for arch in options.arch for gpu in GPUS[arch]]
        for job in jobs:
            job.result()

    packs = []
    for arch, path in lists.items():
        number = without_duplicates(path)
        if options.list_only:
            print(f'{arch}: {number} kernels', flush=True)
            continue
        if options.every > 1:
            path.write_text(''.join(line + '\n' for line in path.read_text().splitlines()[::options.every]))
        packs.append(options.output / f'{arch}.pack')
        begin = time.monotonic()
        compiled = build_pack(arch, path, packs[-1], options.threads)
        print(f'{arch}: {compiled} of {number} kernels, {packs[-1].stat().st_size / 1e6:.1f} MB, {time.monotonic() - begin:.0f} s', flush=True)
    if packs:
        import myriad
        wheel = write_wheel(options.output, myriad.__version__, packs)
        print(f'{wheel}: {wheel.stat().st_size / 1e6:.1f} MB')


if __name__ == '__main__':
    main()
