"""Writes the licences of what a wheel contains besides Myriad: licenses.py OUTPUT. Run by tools/wheel with the interpreter that builds the wheel."""
import importlib.metadata
import pathlib
import sys

PACKAGES_OF_PYTHON = {
    'scipy-openblas32': 'OpenBLAS with LAPACK and the run-time library of GNU Fortran, as a shared library',
    'nanobind': 'nanobind, compiled into the extension module',
}
PACKAGES_OF_THE_SYSTEM = {
    'libfmt-dev': '{fmt}, as a shared library',
    'libhwy-dev': 'Highway, as a shared library and compiled in',
    'nlohmann-json3-dev': 'nlohmann-json, compiled in',
    'libcli11-dev': 'CLI11, compiled into the program',
    'libminizip-dev': 'minizip, as a shared library',
}


def text_of_python(name):
    files = [file for file in importlib.metadata.files(name) if file.name.upper().startswith(('LICENSE', 'COPYING')) and '.dist-info' in str(file)]
    if not files:
        sys.exit(f'licenses.py: the package {name} has no licence file')
    return '\n'.join(file.locate().read_text() for file in files)


def text_of_system(name):
    path = pathlib.Path('/usr/share/doc') / name / 'copyright'
    if not path.is_file():
        sys.exit(f'licenses.py: {path} is missing, the licence of {name}')
    return path.read_text()


sections = []
for packages, text_of in ((PACKAGES_OF_PYTHON, text_of_python), (PACKAGES_OF_THE_SYSTEM, text_of_system)):
    for name, what in packages.items():
        sections.append(f'{what}\n{"=" * len(what)}\n\n{text_of(name).strip()}\n')
pathlib.Path(sys.argv[1]).write_text('Software of others in this wheel\n\n' + '\n\n'.join(sections))
