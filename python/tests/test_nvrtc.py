"""The folders in which the package looks for NVRTC. tests/runtime/nvrtc_test.cpp has the layouts of folders."""
import pytest

from myriad import _myriad


def test_a_folder_is_a_path():
    with pytest.raises(ValueError, match='folder'):
        _myriad.search_nvrtc('')
    with pytest.raises(TypeError):
        _myriad.search_nvrtc(None)
