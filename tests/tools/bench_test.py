# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `uroce bench`: bench_test.py PROGRAM DATA_DIRECTORY

Times are the machine's, so only what must hold on any is looked at: that everything is there, that sums are sums, and that more
bytes cost more.
"""
import json
import os
import pathlib
import sys
import tempfile
import unittest

import uroce_cli

PROGRAM, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
KEYS = ['meaning', 'dpdk', 'core', 'tsc_hz', 'crc_kernel', 'hugepages', 'op', 'batch', 'repeats', 'ms', 'reading_cycles', 'results']
RESULT_KEYS = ['side', 'port', 'size', 'frame_bytes', 'packets', 'stages', 'total', 'engine', 'limits']
STAGES = {'transmit': ['alloc', 'headers', 'copy_crc', 'tx_burst'], 'receive': ['rx_burst', 'parse', 'icrc', 'lookup', 'release']}
ENGINE = {'transmit': ['post', 'egress'], 'receive': ['ingress']}
LIMITS = ['memcpy', 'crc', 'copy_and_crc']
BRIEFLY = ['--ms', '2', '--repeats', '3']


def uroce(*args):
    return uroce_cli.run(PROGRAM, 'bench', *args)


class Bench(unittest.TestCase):
    def results(self, *args):
        r = uroce(*BRIEFLY, '--json', *args)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        self.assertEqual(r.stdout.count('\n'), 1)
        report = json.loads(r.stdout)
        self.assertEqual(list(report), KEYS)
        for result in report['results']:
            with self.subTest(side=result['side'], size=result['size']):
                self.whole(result, report)
        return report

    def whole(self, result, report):
        side = result['side']
        self.assertEqual(list(result), RESULT_KEYS + (['verdicts'] if side == 'receive' else []))
        self.assertEqual([s['name'] for s in result['stages']], STAGES[side])
        self.assertEqual([s['name'] for s in result['engine']['stages']], ENGINE[side])
        self.assertEqual([s['name'] for s in result['limits']], LIMITS)
        self.assertGreater(result['packets'], 0)
        ghz = report['tsc_hz'] / 1e9
        totals = [result['total'], result['engine']['total']]
        for cost in result['stages'] + result['engine']['stages'] + result['limits'] + totals:
            for unit in ('ns', 'cycles'):
                self.assertGreater(cost[unit]['best'], 0)
                self.assertLessEqual(cost[unit]['best'], cost[unit]['median'])
            self.assertAlmostEqual(cost['cycles']['best'], cost['ns']['best'] * ghz, delta=0.02 * ghz + 0.02)
        for total, stages in zip(totals, (result['stages'], result['engine']['stages'])):
            # The best of the sums is at least the sum of the bests, and no less than any stage.
            self.assertGreaterEqual(total['ns']['best'], sum(s['ns']['best'] for s in stages) - 0.1)
            self.assertAlmostEqual(total['mpps']['best'], 1000 / total['ns']['best'], delta=0.01 + 0.01 * total['mpps']['best'])
            self.assertGreaterEqual(total['mpps']['best'], total['mpps']['median'])
        if side == 'receive':
            self.assertEqual(sum(result['verdicts'].values()), result['packets'])

    def test_what_is_measured_without_options(self):
        report = self.results()
        self.assertEqual([(r['side'], r['size']) for r in report['results']],
                         [('transmit', 64), ('transmit', 4096), ('receive', 64), ('receive', 4096)])
        self.assertEqual((report['op'], report['repeats'], report['ms'], report['batch']), ('write', 3, 2, 64))
        self.assertFalse(report['hugepages'])
        for r in report['results']:
            # Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4
            self.assertEqual(r['frame_bytes'], r['size'] + 74)
            self.assertIn('net_null' if r['side'] == 'transmit' else 'net_pcap', r['port'])
            if r['side'] == 'receive':
                self.assertEqual(r['verdicts'], {'admitted': r['packets']})
        # What touches every byte takes longer for 64 times as many.
        short, long = ({s['name']: s['ns']['best'] for s in r['stages']} for r in report['results'][:2])
        self.assertGreater(long['copy_crc'], 2 * short['copy_crc'])
        short, long = ({s['name']: s['ns']['best'] for s in r['stages']} for r in report['results'][2:])
        self.assertGreater(long['icrc'], 2 * short['icrc'])

    def test_says_what_it_is_not(self):
        r = uroce(*BRIEFLY, '--size', '64')
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        for text in (r.stdout, uroce('--help').stdout, self.results('--size', '64')['meaning']):
            for word in ('on one core', 'neither', 'latency', 'throughput'):
                self.assertIn(word, text)
        for side in STAGES:
            for name in STAGES[side] + [f'engine {n}' for n in ENGINE[side]] + [f'limit {n}' for n in LIMITS] + ['total']:
                self.assertRegex(r.stdout, rf'(?m)^  {name} +\d+\.\d +\d+\.\d +\d+\.\d +\d+\.\d ')
            self.assertIn(f'\n{side}: WRITE of 64 B, frames of 138 B', r.stdout)

    def test_sizes(self):
        # A list, repeated, in the order given; what comes twice is measured once; pad and the shortest Ethernet frame.
        report = self.results('--size', '1,0', '--size', '0x101,1', '-s', '4095', '--op', 'send')
        sent = [(r['size'], r['frame_bytes']) for r in report['results'] if r['side'] == 'transmit']
        self.assertEqual(sent, [(1, 62), (0, 60), (257, 257 + 3 + 58), (4095, 4096 + 58)])
        self.assertEqual(sent, [(r['size'], r['frame_bytes']) for r in report['results'] if r['side'] == 'receive'])

    def test_captures(self):
        for name, verdicts in (('m1500-write-bw', {'unknown_qp'}), ('m1500-v6-rc-pingpong', {'unknown_qp'}),
                               ('x-corrupt', {'unknown_qp', 'bad_icrc'})):
            with self.subTest(name):
                results = self.results('--size', '64', '--pcap', DATA / (name + '.pcap'))['results']
                self.assertEqual([(r['side'], r['size']) for r in results], [('transmit', 64), ('receive', None)])
                found = results[1]['verdicts']
                self.assertEqual(found['admitted'], 0)
                self.assertLessEqual(verdicts, set(found))

    def test_core(self):
        core = max(os.sched_getaffinity(0))
        self.assertEqual(self.results('--size', '64', '--core', core)['core'], core)

    def failed(self, status, args, *words):
        r = uroce(*args)
        self.assertEqual((r.returncode, r.stdout), (status, ''), r.stderr)
        for word in words:
            self.assertIn(word, r.stderr)

    def test_bad_values(self):
        for option, value, *words in (('--size', '4097', 'from 0 to 4096'), ('--size', '64,x', "'x'"), ('--repeats', '0', 'from 1 to'),
                                      ('--ms', '0', 'from 1 to'), ('--op', 'read', 'send', 'write'), ('--core', '1024', 'from 0 to')):
            with self.subTest(option=option, value=value):
                self.failed(2, [option, value], option, f"{value.split(',')[-1]}", *words)
        self.failed(2, ['now'], "'now'")
        self.failed(1, ['--core', '1023'], 'core 1023', 'there are 0 .. ')

    def test_bad_captures(self):
        with tempfile.TemporaryDirectory() as d:
            head = (DATA / 'm1500-rping.pcap').read_bytes()[:24]
            files = {'empty': (b'', 'empty file'), 'text': (b'hello, world', 'not a readable pcap'), 'no-frame': (head, 'no frame in it'),
                     'cut': (head + b'1234', 'broken at frame 1')}
            for name, (content, words) in files.items():
                path = pathlib.Path(d) / name
                path.write_bytes(content)
                with self.subTest(name):
                    self.failed(1, ['--pcap', path], str(path), words)
            self.failed(1, ['--pcap', d + '/none'], d + '/none', 'No such file')
            self.failed(1, ['--pcap', d], 'directory')
            self.failed(1, ['--pcap', ''], 'empty file name')

    def test_no_hugepages(self):
        if sum(int(p.read_text()) for p in pathlib.Path('/sys/kernel/mm/hugepages').glob('*/free_hugepages')):
            self.skipTest('there are some')
        self.failed(1, ['--hugepages'], 'no hugepage is free', 'nr_hugepages')

    def test_without_privileges(self):
        r = uroce_cli.Nobody(PROGRAM, self).run('bench', *BRIEFLY, '--size', '64')
        self.assertEqual((r.returncode, r.stderr), (0, ''))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
