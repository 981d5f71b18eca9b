"""What tools/report does to raw files: packing loses nothing but digits, newer rows replace older ones, wrong results are refused."""
import importlib.machinery, importlib.util, json, pathlib, sys, tempfile

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader('report', sys.argv[1])
report = importlib.util.module_from_spec(importlib.util.spec_from_loader('report', loader))
loader.exec_module(report)


def row(n, ns, peers={}, **more):
    return {'routine': 'getrf', 'dtype': 'd', 'n': n, 'layout': 'column_major', 'count': 100, 'ns_per_matrix': ns, 'share_of_copy_rate': 0.5,
            'error': 0.1, 'pass': True, 'peers': {name: {'ns_per_matrix': value} for name, value in peers.items()}, **more}


def raw(path, date, rows, command='gpu_bench'):
    path.write_text(json.dumps({'gpu': 'Some GPU', 'commit': 'abc', 'date': date, 'command': command, 'copy_rate': 1e12, 'rows': rows}))
    return report.read(path)


def expect(found, wanted):
    if found != wanted:
        sys.exit(f'is {found}, should be {wanted}')


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / 'a.json'
    data = raw(path, '2026-11-20 10:00', [row(4, 1.23456789, {'one': 2.0, 'two': 3.0}), row(8, 5.0, {'two': 4.0}), row(9, 6.0, uplo='lower')],
               'gpu_bench --json a.json --n 4,8,9')
    path.write_text(report.packed(data))
    again = report.read(path)
    expect(again['rows'], data['rows'])
    expect(report.packed(again), path.read_text())
    expect(again['rows'][0]['ns_per_matrix'], 1.235)
    expect(report.ratio(again['rows'][1]), 0.8)
    expect('--json' in path.read_text(), False)

    # 4 is measured again with peers, 8 without; 9 with another batch counts separately
    newer = raw(pathlib.Path(folder) / 'b.json', '2026-11-21 10:00', [row(4, 1.0, {'one': 2.0}), row(8, 2.0)])
    other = raw(pathlib.Path(folder) / 'c.json', '2026-11-21 11:00', [row(9, 1.0, uplo='lower')], 'gpu_bench --count 100')
    rows = report.newest({'a': data, 'b': newer, 'c': other})
    expect([r['n'] for r in data['rows']], [8, 9])
    expect([r['n'] for r in newer['rows']], [4, 8])
    expect(sorted((r['n'], r['batch'], r['ns_per_matrix']) for r in rows), [(4, 0, 1.0), (8, 0, 2.0), (9, 0, 6.0), (9, 100, 1.0)])
    expect([report.ratio(r) for r in rows if r['n'] == 8], [2.0])
    expect(report.spread(rows), ('2.0, 2.0, 2.0', '0 of 2'))

    def expect_refusal(measured):
        try:
            measured()
        except SystemExit as refusal:
            expect('is wrong' in str(refusal), True)
        else:
            sys.exit('a wrong result is not refused')

    expect_refusal(lambda: raw(path, '2026-11-22 10:00', [row(4, 1.0, **{'pass': False})]))

    # Several GPUs of one host
    report.RESULTS = pathlib.Path(folder)
    expect(report.several_gpus(), 'No measurement has been kept.\n')
    machine = report.RESULTS / 'Some-GPU'
    machine.mkdir()
    several = {'gpu': 'Some GPU', 'gpus': 2, 'cores': 8, 'commit': 'abc', 'date': '2026-11-22 10:00',
               'links': [{'gpus': k, 'to_device': 50e9 * k, 'to_host': 40e9 * k, 'both': 80e9 * k} for k in [1, 2]],
               'peers': [{'from': 0, 'to': 1, 'copy': 30e9, 'direct': 200e9}],
               'rows': [{'routine': 'solve', 'n': 16, 'from': 'pinned memory', 'gpus': k, 'matrices_per_second': 2.5e6 * k, 'times_one': k,
                         'error': 0.1, 'same_bits': True, 'share_of_link': 0.9} for k in [1, 2]]}
    file = machine / report.SEVERAL_GPUS
    file.write_text(json.dumps(several))
    text = report.several_gpus()
    for line in ['**2 Some GPU, 8 cores** (2026-11-22, commit abc). Links:', '| 2 | 100 GB/s | 80 GB/s | 160 GB/s |',
                 'GPU 0 to GPU 1: 30 GB/s by `copy`, 200 GB/s with mapped memory.',
                 '| routine, double | data | 1 GPU | 2 GPUs |', '| solve, n = 16 | pinned memory | 2.50 million/s (90%) | 2.0 x (90%) |']:
        expect(line in text.splitlines() or text, True)
    for wrong in [{'error': 31}, {'error': None}, {'same_bits': False}]:
        file.write_text(json.dumps(several | {'rows': [several['rows'][0] | wrong]}))
        expect_refusal(report.several_gpus)
