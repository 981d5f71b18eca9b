"""CUDA tensors of torch on the fake GPUs: myriad.linalg, myriad.lapack, and myriad.torch."""
import pytest

torch = pytest.importorskip('torch')

import fake_gpu  # noqa: E402
import fake_torch  # noqa: E402
import myriad  # noqa: E402
import myriad.torch as mt  # noqa: E402
from fake_torch import Stream, cuda, gpu  # noqa: E402, F401: a fixture
from myriad import batched, lapack, linalg  # noqa: E402

pytestmark = pytest.mark.usefixtures('cuda')


def positive(*shape):
    a = torch.randn(*shape, dtype=torch.float64)
    return a @ a.mT + shape[-1] * torch.eye(shape[-1], dtype=torch.float64)


def check(x, expected, device=0):
    assert x.device == torch.device('cuda', device)
    fake_gpu.run(fake_torch.current_stream(device).cuda_stream)
    torch.testing.assert_close(x.host, expected)


def test_results():
    s, b = positive(5, 3, 3), torch.randn(5, 3, 2, dtype=torch.float64)
    waits = fake_gpu.count('waits')
    with torch.cuda.stream(Stream()):
        check(linalg.solve(gpu(s), gpu(b), check=False), torch.linalg.solve(s, b))
        check(linalg.cholesky(gpu(s), check=False), torch.linalg.cholesky(s))
        check(lapack.potrf(gpu(s)).factor.tril(), torch.linalg.cholesky(s))
    assert fake_gpu.count('waits') == waits
    for count in (5, 5000):  # the second one is looked at on the GPU
        a = s[:1].repeat(count, 1, 1)
        a[2:] *= -1
        with pytest.raises(myriad.LinAlgError, match=rf'not positive definite \({count - 2} of {count} matrices, the first is 2\)') as error:
            linalg.cholesky(gpu(a))
        assert error.value.info.host.tolist() == [0, 0] + [1] * (count - 2)


def test_streams():
    a, seen = gpu(positive(5, 3, 3)), []

    def launch(**options):
        lapack.potrf(a, **options)
        seen.append(fake_gpu.stream_of_last_launch())

    one, two = Stream(), Stream()
    launch()
    with torch.cuda.stream(one):
        launch()
        for stream in (two, two.cuda_stream, 0, 1, 2):
            launch(stream=stream)
    assert seen == [1, one.cuda_stream, two.cuda_stream, two.cuda_stream, 1, 1, 2]


def test_second_gpu():
    s = positive(5, 3, 3)
    check(linalg.cholesky(gpu(s, 1), check=False), torch.linalg.cholesky(s), 1)
    for other in (gpu(s, 1), s, s.numpy()):
        with pytest.raises((TypeError, ValueError), match='on different devices: cuda:0 and|a tensor on cuda:0 and a numpy.ndarray'):
            linalg.solve(gpu(s), other)
    with pytest.raises(ValueError, match='potrf: out is on device cpu; needs cuda:0'):
        lapack.potrf(gpu(s), out=s)


def test_workspace_is_of_torch():
    a = gpu(positive(3, 200, 200))
    before = fake_torch.counts['allocations'], fake_gpu.count('live_allocations')
    for stream in (Stream(), Stream(0)):
        with torch.cuda.stream(stream):
            linalg.eigh(a, check=False)
    assert fake_torch.counts['allocations'] > before[0]
    assert fake_gpu.count('live_allocations') == before[1]


def test_ragged(monkeypatch):
    monkeypatch.setattr(torch.Tensor, 'pin_memory', lambda x: x)
    monkeypatch.setattr(torch.Tensor, 'to', lambda x, device, non_blocking: gpu(x, device.index))
    many = [positive(n, n) for n in (3, 1, 2)]
    factor, info = lapack.potrf(batched.ragged([gpu(x) for x in many]))
    for x, f in zip(many, factor.arrays):
        check(f.tril(), torch.linalg.cholesky(x))
    monkeypatch.setattr(torch.cuda, 'is_current_stream_capturing', lambda: True)
    with pytest.raises(RuntimeError, match='a ragged batch is used for the first time on a stream that is being captured'):
        lapack.potrf(batched.ragged([gpu(x) for x in many]))


def test_operators_of_myriad_torch(monkeypatch):
    monkeypatch.setattr(fake_torch, 'kernels', {'solve': mt._solve_impl, 'cholesky': mt._cholesky_impl, 'inv': mt._inv_impl})
    s, b = positive(5, 3, 3), torch.randn(5, 3, 2, dtype=torch.float64)
    waits = fake_gpu.count('waits')
    for device, stream in ((0, Stream()), (1, Stream(device=1)), (0, Stream(0))):
        with torch.cuda.stream(stream):
            # Broadcast leading axes with two strides
            check(mt.solve(gpu(s[:2, None], device), gpu(b, device)), torch.linalg.solve(s[:2, None], b), device)
            assert fake_gpu.stream_of_last_launch() == (stream.cuda_stream or 1)
            mt.inv(gpu(s, device))
            assert fake_gpu.stream_of_last_launch() == (stream.cuda_stream or 1)
    assert fake_gpu.count('waits') == waits


def test_operators_of_aten(monkeypatch):
    """The functions that enable() puts under aten's operators."""

    def routed(name):
        route = mt._router(name, '', 'CUDA', mt._Limits())
        return lambda *args, **options: route(None, *args, **options)

    monkeypatch.setattr(fake_torch, 'kernels', {name: routed(name) for name in mt.OPERATORS})
    mt.report(reset=True)
    s, b = positive(5, 3, 3), torch.randn(5, 3, 2, dtype=torch.float64)
    stream, waits = Stream(), fake_gpu.count('waits')
    with torch.cuda.stream(stream):
        a, c = gpu(s), gpu(b)
        torch.linalg.cholesky_ex(a)
        lu, pivots, _ = torch.linalg.lu_factor_ex(a)
        torch.linalg.lu_solve(lu, pivots, c)
        torch.linalg.lu_solve(lu, pivots, c.mT, left=False, adjoint=True)
        torch.ops.aten._linalg_solve_ex(a, c)
        torch.ops.aten._linalg_det(a)
        torch.ops.aten._linalg_slogdet(a)
        torch.linalg.inv_ex(a)
        for mode in ('reduced', 'complete', 'r'):
            torch.linalg.qr(c, mode)
        for f in (torch.linalg.eigh, torch.linalg.eigvalsh, torch.linalg.svd, torch.linalg.svdvals, torch.cholesky_inverse):
            f(a)
        torch.linalg.solve_triangular(a, c, upper=True)
        torch.ops.aten._cholesky_solve_helper(c, a, False)
        r, tau = torch.geqrf(a)
        torch.linalg.householder_product(r, tau)
        torch.ormqr(r, tau, c)
        torch.bmm(a, c)
        torch.baddbmm(c, a, c)
        assert fake_gpu.stream_of_last_launch() == stream.cuda_stream
    assert fake_gpu.count('waits') == waits
    report = mt.report(reset=True)
    assert set(report) == set(mt.OPERATORS) and not any(entry['declined'] for entry in report.values()), report
