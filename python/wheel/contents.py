"""Checks what is in a wheel: contents.py WHEEL. Run by tools/wheel. Prints the platform and the libraries of the wheel."""
import io
import re
import sys
import zipfile

from elftools.elf.elffile import ELFFile

OTHERS = {'libscipy_openblas': 'LAPACK', 'libfmt': '{fmt}', 'libhwy': 'Highway', 'libminizip': 'minizip', 'libz': 'zlib'}
SYSTEM = {'libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', 'libgcc_s.so.1', 'libstdc++.so.6', 'libz.so.1',
          'ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1'}


def require(condition, problem):
    if not condition:
        sys.exit(f'{path}: {problem}')


path = sys.argv[1]
tag = re.search(r'-cp312-abi3-(manylinux_\d+_\d+_\w+?)(\.\w+)*\.whl$', path)
require(tag, 'the name must end in -cp312-abi3-manylinux_..., as auditwheel repair names it')
archive = zipfile.ZipFile(path)
names = archive.namelist()
for wanted in (r'myriad/_myriad\.abi3\.so', r'myriad/_myriad\.pyi', r'myriad/py\.typed', r'myriad_linalg-[\d.]+\.data/scripts/myriad',
               r'myriad_linalg-[\d.]+\.dist-info/licenses/LICENSE', r'myriad_linalg-[\d.]+\.dist-info/licenses/LICENSES-bundled\.txt'):
    require(any(re.fullmatch(wanted, name) for name in names), f'has no {wanted}')

bundled = {}
for name in names:
    data = archive.read(name)
    if data[:4] != b'\x7fELF':
        continue
    elf = ELFFile(io.BytesIO(data))
    dynamic = elf.get_section_by_name('.dynamic')
    needed = {entry.needed for entry in dynamic.iter_tags('DT_NEEDED')}
    exported = {symbol.name for symbol in elf.get_section_by_name('.dynsym').iter_symbols()
                if symbol['st_shndx'] != 'SHN_UNDEF' and symbol['st_info']['bind'] != 'STB_LOCAL'}
    bundled[name.rsplit('/', 1)[1]] = name, needed, exported
for file, (name, needed, exported) in bundled.items():
    strange = {library for library in needed if library not in SYSTEM and library not in bundled}
    require(not strange, f'{name} needs {", ".join(sorted(strange))}, which is neither in the wheel nor in every system')
    if file == '_myriad.abi3.so':
        others = sorted(exported - {'PyInit__myriad'})
        require(not others, f'{name} exports {", ".join(others[:5])}; it must export its init function only')
    elif file != 'myriad':
        require(file.split('-')[0] in OTHERS, f'{name} is not expected in the wheel; its licence is not in python/wheel/licenses.py')
require({'_myriad.abi3.so', 'myriad'} <= bundled.keys(), 'must have the extension module and the program')
size = sum(info.compress_size for info in archive.infolist()) / 2**20
print(f'{path}: {tag[1]}, {size:.1f} MB, with {", ".join(sorted(file for file in bundled if file.startswith("lib")))}')
