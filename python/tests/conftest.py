import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

collect_ignore = ['on_fake_gpu']  # the fake driver would be the driver of all tests
