# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `uroce pcap check` and `uroce pcap show`: pcap_test.py PROGRAM DATA_DIRECTORY

Right values come from the captures' own description (captures_expected.json), from an independent reading of the same
bytes (roce_reference.py), or were chosen when a capture was made up.
"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import roce_reference as ref

PROGRAM, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
EXPECTED = json.loads((pathlib.Path(__file__).parent / 'captures_expected.json').read_text())['captures']
CHECK_KEYS = ['file', 'packets', 'opcodes', 'acks', 'icrc', 'retransmitted', 'retransmitted_by_others', 'client', 'naks',
              'rnr_naks', 'gaps', 'bad_reasons', 'malformed', 'dropped', 'cut']
SHOW_KEYS = ['file', 'frame', 'time_ns', 'length', 'verdict', 'reason', 'source', 'destination', 'opcode', 'dest_qp',
             'psn', 'payload', 'text']


def uroce(*args):
    r = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, timeout=60)
    r.stdout, r.stderr = r.stdout.decode(errors='replace'), r.stderr.decode(errors='replace')
    assert r.returncode in (0, 1, 2), f'{args}: exit {r.returncode}: {r.stderr}'  # a signal is negative
    return r


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def write(self, name, data):
        path = self.directory / name
        path.write_bytes(data)
        return path

    def check_file(self, path, exit_status=0):
        r = uroce('pcap', 'check', '--json', path)
        self.assertEqual(r.returncode, exit_status, r.stderr)
        result = json.loads(r.stdout)
        self.assertEqual(list(result), CHECK_KEYS)
        # Every frame is counted once.
        self.assertEqual(result['packets'], result['icrc']['ok'] + result['icrc']['bad'] +
                         sum(result['dropped'].values()) + result['cut'])
        self.assertEqual(result['icrc']['ok'], sum(result['opcodes'].values()) + sum(result['malformed'].values()))
        self.assertEqual(list(map(str, result['icrc']['bad_frames'])), list(result['bad_reasons']))
        return result

    def check(self, frames, exit_status=0, **pcap):
        return self.check_file(self.write('made.pcap', ref.pcap_bytes(frames, **pcap)), exit_status)


class RealCaptures(Files):
    def test_there_are_27(self):
        self.assertEqual(sorted(p.name for p in DATA.glob('*.pcap')), sorted(EXPECTED))
        self.assertEqual(len(EXPECTED), 27)

    def test_as_described(self):
        for name, want in EXPECTED.items():
            with self.subTest(name):
                got = self.check_file(DATA / name, 1 if want['icrc']['bad'] else 0)
                got['icrc'].pop('bad_frames')
                self.assertEqual({k: got[k] for k in want}, want)

    def test_as_the_reference_reads_them(self):
        for name, want in EXPECTED.items():
            with self.subTest(name):
                reference = ref.summary(ref.read_pcap(DATA / name))
                got = self.check_file(DATA / name, 1 if want['icrc']['bad'] else 0)
                self.assertEqual({k: got[k] for k in reference}, reference)

    def test_one_line_a_file_and_the_path_as_given(self):
        paths = [f'{DATA}/../{DATA.name}/{name}' for name in EXPECTED]
        r = uroce('pcap', 'check', '--json', *paths)
        self.assertEqual(r.returncode, 1)  # for the corrupt one among them
        self.assertEqual([json.loads(line)['file'] for line in r.stdout.splitlines()], paths)

    def test_table_names_the_bad_frames(self):
        r = uroce('pcap', 'check', DATA / 'x-corrupt.pcap')
        self.assertEqual(r.returncode, 1)
        row = next(line for line in r.stdout.splitlines() if line.startswith('  bad frames'))
        bad = ref.summary(ref.read_pcap(DATA / 'x-corrupt.pcap'))['icrc']['bad_frames']
        self.assertEqual(row.split()[2:], list(map(str, bad)))
        self.assertEqual(len(bad), 11)

    def test_loss_shows_as_gaps(self):
        self.assertEqual(self.check_file(DATA / 'm1500-read-bw.pcap')['gaps'], [])
        self.assertEqual(self.check_file(DATA / 'm1500-v6-probe-all.pcap')['gaps'], [])
        requests = self.check_file(DATA / 'x-loss-req-write.pcap')['gaps']
        self.assertEqual([(g['source'], g['of']) for g in requests], [('10.77.0.2', 'requests')])
        responses = self.check_file(DATA / 'x-loss-resp-read.pcap')['gaps']
        self.assertEqual([(g['source'], g['of']) for g in responses], [('10.77.0.1', 'responses')])


class Formats(Files):
    def setUp(self):
        super().setUp()
        self.frames = ref.read_pcap(DATA / 'm1500-v6-probe-all.pcap') + ref.read_pcap(DATA / 'm1500-probe-badkey.pcap')
        self.plain = self.check(self.frames)

    def same(self, other):
        self.assertEqual(self.plain | {'file': ''}, other | {'file': ''})

    def test_pcapng(self):
        self.same(self.check_file(self.write('made.pcapng', ref.pcapng_bytes(self.frames))))

    def test_vlan_tag(self):
        self.same(self.check([f[:12] + b'\x81\x00\x20\x05' + f[12:] for f in self.frames]))

    def test_ethernet_padding(self):
        self.same(self.check([f + bytes(7) for f in self.frames]))

    def test_no_frames(self):
        self.assertEqual(self.check([])['packets'], 0)

    def test_other_traffic_is_counted_not_failed(self):
        f = self.frames[-1]
        arp = f[:12] + b'\x08\x06' + bytes(28)
        port_53 = f[:36] + b'\x00\x35' + f[38:]
        self.assertEqual(self.check([arp, port_53, arp, f])['dropped'], {'not_ip': 2, 'not_roce_port': 1})

    def test_snap_length(self):
        arp = b'\xff' * 12 + b'\x08\x06' + bytes(100)
        result = self.check([ref.packet(0, 1, bytes(1024)), ref.packet(17, 1, b'\x1f\0\0\1'), arp], snap=100)
        self.assertEqual((result['cut'], result['icrc']['ok'], result['dropped']), (1, 1, {'not_ip': 1}))
        r = uroce('pcap', 'check', self.directory / 'made.pcap')
        self.assertRegex(r.stdout, r'cut +1 frames too short')


class Damage(Files):
    good = ref.packet(ref.OPCODES['RC_SEND_ONLY'], 5, b'payload!')

    def flip(self, offset, mask=1):
        frame = bytearray(self.good)
        frame[offset] ^= mask
        return bytes(frame)

    def reason(self, frame):
        result = self.check([self.good, frame], exit_status=1)
        self.assertEqual(result['icrc'], {'ok': 1, 'bad': 1, 'bad_frames': [2]})
        self.assertEqual(result['opcodes'], {'RC_SEND_ONLY': 1})
        self.assertEqual(uroce('pcap', 'check', self.directory / 'made.pcap').returncode, 1)
        return result['bad_reasons']['2']

    def test_every_transport_byte(self):
        for offset in range(42, len(self.good)):
            if offset == 46:  # BTH byte 4: routers may set its bits
                self.assertEqual(self.check([self.flip(offset, 0x80)])['icrc']['ok'], 1)
            else:
                self.assertEqual(self.reason(self.flip(offset)), 'bad_icrc', offset)

    def test_unknown_opcode_with_a_wrong_icrc_is_a_bad_icrc(self):
        self.assertEqual(self.reason(self.flip(42, 0xe0)), 'bad_icrc')

    def test_headers_before_the_transport(self):
        for offset, mask, reason in [
                (14, 0x10, 'ip_version'), (14, 0x02, 'ip_options'), (14, 0x01, 'ip_options'), (15, 1, 'ip_checksum'),
                (16, 1, 'ip_checksum'), (17, 1, 'ip_checksum'), (20, 0x20, 'ip_checksum'), (24, 1, 'ip_checksum'),
                (26, 1, 'ip_checksum'), (38, 1, 'udp_length'), (39, 4, 'udp_length')]:
            with self.subTest(offset=offset):
                self.assertEqual(self.reason(self.flip(offset, mask)), reason)

    def test_shorter_than_its_ip_length(self):
        self.assertEqual(self.reason(self.good[:-3]), 'frame_truncated')

    def test_too_short_for_an_icrc(self):
        ip = bytearray(self.good[14:14 + 20 + 8 + 12])
        ip[2:4] = struct.pack('!H', len(ip))
        ip[24:26] = struct.pack('!H', len(ip) - 20)
        ip[10:12] = bytes(2)
        ip[10:12] = struct.pack('!H', ref.ipv4_sum(bytes(ip[:20])))
        self.assertEqual(self.reason(self.good[:14] + bytes(ip)), 'bth_truncated')

    def test_refused_but_not_damaged(self):
        frames = [ref.packet(4, 5, options=bytes(4)), ref.packet(4, 5, fragment=0x2000)]
        self.assertEqual(self.check(frames)['dropped'], {'ip_options': 1, 'ip_fragment': 1})

    def test_good_icrc_but_refused_headers(self):
        result = self.check([self.good, ref.packet(0x1f, 6), ref.packet(0x0a, 7)])
        self.assertEqual(result['malformed'], {'unknown_opcode': 1, 'bth_truncated': 1})


class Sequence(Files):
    @staticmethod
    def ack(psn, syndrome=0x1f):
        return ref.packet(17, psn, bytes([syndrome, 0, 0, 1]), source=1, destination=2, dest_qp=0x22)

    @staticmethod
    def request(psn, **more):
        return ref.packet(ref.OPCODES['RC_WRITE_MIDDLE'], psn, bytes(256), **more)

    def gaps(self, frames):
        return [(g['source'], g['dest_qp'], g['of'], g['count'], g['missing']) for g in self.check(frames)['gaps']]

    def test_wrap_is_no_gap(self):
        self.assertEqual(self.gaps([self.request(p & 0xffffff) for p in range(0xfffffd, 0x1000003)]), [])

    def test_gap_over_the_wrap(self):
        frames = [self.request(p) for p in (0xfffffe, 0xffffff, 2, 3, 0, 1, 2, 3, 4, 7)]
        self.assertEqual(self.gaps(frames), [('10.0.0.2', 0x11, 'requests', 2, 4)])
        self.assertEqual(self.check(frames)['retransmitted'], 2)  # 2 and 3

    def test_hosts_and_queue_pairs_are_counted_apart(self):
        frames = [self.request(1), self.request(1, dest_qp=0x12), self.request(1, source=1, destination=2), self.request(1),
                  self.request(1, source=1, destination=2), self.request(1, source=1, destination=2)]
        result = self.check(frames)
        self.assertEqual((result['retransmitted'], result['retransmitted_by_others']), (1, 2))
        self.assertEqual(result['client'], '10.0.0.2')

    def test_read_takes_the_psns_of_its_response(self):
        def read(psn, length):
            return ref.packet(12, psn, struct.pack('!QII', 0, 1, length))

        def response(name, psn, head=b'\x1f\0\0\1'):
            return ref.packet(ref.OPCODES['RC_RRESP_' + name], psn, head + bytes(256), source=1, destination=2)
        middle = {'head': b''}
        good = [read(10, 700), response('FIRST', 10), response('MIDDLE', 11, **middle), response('LAST', 12), read(13, 1)]
        self.assertEqual(self.gaps(good), [])
        self.assertEqual(self.gaps(good[:4] + [read(14, 1)]), [('10.0.0.2', 0x11, 'requests', 1, 1)])
        self.assertEqual(self.gaps(good[:2] + good[3:]), [('10.0.0.1', 0x11, 'responses', 1, 1)])

    def test_acks_may_skip(self):
        self.assertEqual(self.gaps([self.request(p) for p in range(9)] + [self.ack(3), self.ack(8)]), [])

    def test_syndromes(self):
        result = self.check([self.ack(1), self.ack(1, 0x2c), self.ack(1, 0x60), self.ack(1, 0x62), self.ack(1, 0x05)])
        self.assertEqual(result['acks'], {'ACK(credit 31)': 1, 'RNR(timer 12)': 1, 'NAK_SEQ': 1, 'NAK_ACCESS': 1,
                                          'ACK(credit 5)': 1})
        self.assertEqual((result['naks'], result['rnr_naks']), (2, 1))
        self.assertEqual(result['client'], None)


class Show(Files):
    def lines(self, *args):
        r = uroce('pcap', 'show', *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout.splitlines()

    def test_marks_what_check_finds(self):
        frames = ref.read_pcap(DATA / 'x-corrupt.pcap')
        lines = self.lines(DATA / 'x-corrupt.pcap')
        self.assertEqual([int(line.split()[0]) for line in lines], list(range(1, 716)))
        bad = [n for n, line in enumerate(lines, 1) if 'BAD' in line]
        self.assertEqual(bad, ref.summary(frames)['icrc']['bad_frames'])

    def test_json_agrees_with_the_reference(self):
        for name in ('m1500-v6-probe-all.pcap', 'x-corrupt.pcap'):
            shown = [json.loads(line) for line in self.lines('--json', DATA / name)]
            frames = ref.read_pcap(DATA / name)
            self.assertEqual(len(shown), len(frames))
            for s, p in zip(shown, map(ref.decode, frames)):
                self.assertEqual(list(s), SHOW_KEYS)
                self.assertEqual(s['verdict'], 'good' if p['good'] else 'bad')
                if p['good']:
                    self.assertEqual((s['opcode'], s['dest_qp'], s['psn']), (ref.NAMES[p['opcode']], p['dest_qp'], p['psn']))

    def test_choice_of_frames(self):
        path = DATA / 'm1500-probe-all.pcap'
        every = self.lines(path)
        self.assertEqual(self.lines(path, '--first', '10', '--count', '3'), every[9:12])
        self.assertEqual(self.lines(path, '--first', '999'), [])
        to_qp1 = [line for line in every if ' qp=0x1 ' in line]
        self.assertEqual(len(to_qp1), 5)
        self.assertEqual(self.lines(path, '--qp', '0x1'), to_qp1)
        self.assertEqual(self.lines(path, '--qp', '1', '--count', '2'), to_qp1[:2])

    def test_reasons(self):
        good = Damage.good
        frames = [good[:12] + b'\x08\x06' + bytes(28), ref.packet(0x1f, 6), good[:15] + b'\1' + good[16:]]
        got = self.lines(self.write('made.pcap', ref.pcap_bytes(frames)))
        self.assertRegex(got[0], r'^ *1 +0\.000000 dropped: not_ip \(an EtherType')
        self.assertRegex(got[1], r'^ *2 +0\.000001 malformed: unknown_opcode \(')
        self.assertRegex(got[2], r'^ *3 +0\.000002 BAD FRAME: ip_checksum \(')


class BadInput(Files):
    def refused(self, path, *words):
        for command in ('check', 'show'):
            r = uroce('pcap', command, path)
            self.assertEqual(r.returncode, 1)
            for word in (str(path), *words):
                self.assertIn(word, r.stderr)
        self.assertEqual(uroce('pcap', 'check', '--json', path).stdout, '')

    def test_no_such_file(self):
        self.refused(self.directory / 'absent.pcap', 'No such file')

    def test_directory(self):
        self.refused(self.directory, 'a directory')

    def test_empty_name(self):
        self.refused('', 'empty file name')

    def test_empty_file(self):
        self.refused(self.write('empty.pcap', b''), 'an empty file')

    def test_text_file(self):
        self.refused(self.write('text.pcap', b'no capture, but words\n' * 20), 'not a readable pcap')

    def test_header_only_in_part(self):
        self.refused(self.write('short.pcap', ref.pcap_bytes([])[:20]), 'truncated')

    def test_link_type(self):
        self.refused(self.write('raw.pcap', ref.pcap_bytes([], link=101)), 'link type RAW', 'EN10MB')
        self.refused(self.write('odd.pcap', ref.pcap_bytes([], link=60000)), 'link type')

    def test_truncated_in_a_frame(self):
        whole = (DATA / 'x-mckey.pcap').read_bytes()
        for cut in (1, 100):
            self.refused(self.write('truncated.pcap', whole[:-cut]), 'frame 5', 'truncated')
        self.refused(self.write('truncated.pcap', whole[:24 + 7]), 'frame 1', 'truncated')

    def test_huge_captured_length(self):
        record = struct.pack('<IIII', 0, 0, 0xffffffff, 0xffffffff)
        self.refused(self.write('huge.pcap', ref.pcap_bytes([]) + record + bytes(500)), 'frame 1', 'length')

    def test_others_are_still_checked(self):
        r = uroce('pcap', 'check', '--json', self.directory / 'absent', DATA / 'x-mckey.pcap')
        self.assertEqual(r.returncode, 1)
        self.assertEqual(json.loads(r.stdout)['packets'], 5)
        self.assertIn('absent', r.stderr)

    def test_random_bytes(self):
        rng = random.Random(1)
        source = (DATA / 'm1500-probe-all.pcap').read_bytes()[:4000]
        for i in range(60):
            if i % 3 == 0:
                data = rng.randbytes(rng.randrange(1, 2000))
            elif i % 3 == 1:
                data = ref.pcap_bytes([rng.randbytes(rng.randrange(200)) for _ in range(20)])
            else:
                data = bytearray(source)
                for _ in range(40):
                    data[rng.randrange(len(data))] = rng.randrange(256)
            path = self.write('random.pcap', bytes(data))
            for command in ('check', 'show'):
                r = uroce('pcap', command, path)  # refuses a death by signal
                self.assertTrue(r.returncode == 0 or r.stderr or 'FAILED' in r.stdout)

    def test_not_utf8_name(self):
        path = bytes(self.directory) + b'/\xff.pcap'
        with open(path, 'wb') as f:
            f.write((DATA / 'x-mckey.pcap').read_bytes())
        r = subprocess.run([PROGRAM, 'pcap', 'check', '--json', path], capture_output=True, check=True)
        self.assertEqual(json.loads(r.stdout.decode())['packets'], 5)


class Usage(Files):
    def test_wrong_usage(self):
        for args, words in [
                ([], 'commands: '), (['pcap'], 'check, replay, show'), (['frobnicate'], "unknown command 'frobnicate'"),
                (['pcap', 'frobnicate'], "unknown command 'frobnicate'"), (['--frob'], "unknown option '--frob'"),
                (['pcap', 'check'], 'FILE is required'), (['pcap', 'check', 'x', '--frob'], "unknown option '--frob'"),
                (['pcap', 'show', 'x', '--qp', '0x1000000'], '--qp'), (['pcap', 'show', 'x', '--qp', '-1'], '--qp'),
                (['pcap', 'show', 'x', '--qp', '7x'], "'7x' is not a number from 0 to 16777215"),
                (['pcap', 'show', 'x', '--count', '0'], "'0' is not a number of at least 1"),
                (['pcap', 'show', 'x', '--first', '1' * 30], '--first'), (['pcap', 'show', 'x', '--count'], '--count')]:
            with self.subTest(args=args):
                r = uroce(*args)
                self.assertEqual(r.returncode, 2)
                self.assertEqual(r.stdout, '')
                self.assertIn(words, r.stderr)
                self.assertIn('--help', r.stderr)

    def test_help_and_version(self):
        for args in (['--help'], ['pcap', '--help'], ['pcap', 'check', '--help'], ['pcap', 'show', '-h'], ['--version']):
            r = uroce(*args)
            self.assertEqual((r.returncode, r.stderr), (0, ''))
            self.assertIn('uroce', r.stdout)

    def test_output_that_can_not_be_written(self):
        with open('/dev/full', 'w', encoding='ascii') as full:
            r = subprocess.run([PROGRAM, 'pcap', 'show', DATA / 'x-mckey.pcap'], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'cannot write', r.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
