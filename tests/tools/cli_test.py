# SPDX-License-Identifier: BSD-3-Clause
"""Bad input of every kind to the uroce program: cli_test.py PROGRAM DATA_DIRECTORY

An error says what was wrong, what is allowed and what to type, ends in time, and is no success.
"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import uroce_cli

PROGRAM, DATA = sys.argv[1], pathlib.Path(sys.argv[2])
COMMANDS = uroce_cli.commands(PROGRAM)


def uroce(*args, **more):
    return uroce_cli.run(PROGRAM, *args, **more)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Usage(unittest.TestCase):
    """What is wrong before anything runs: exit 2, and where to read on."""

    def refused(self, args, *words):
        r = uroce(*args)
        self.assertEqual((r.returncode, r.stdout), (2, ''), args)
        for word in words:
            self.assertIn(word, r.stderr)
        return r.stderr

    def test_there_are_commands(self):
        for name in (('pcap', 'check'), ('pcap', 'show'), ('pcap', 'replay'), ('bench',), ('perf',), ('devices',), ('doctor',)):
            self.assertIn(name, COMMANDS)

    def test_help_of_every_command(self):
        for words, text in COMMANDS.items():
            with self.subTest(words):
                self.assertIn('--help', text)
                leaf = 'Subcommands:' not in text
                self.assertEqual('Exit status' in text, leaf)
                self.assertEqual('--json' in text, leaf)

    def test_unknown_option_of_every_command(self):
        for words in COMMANDS:
            with self.subTest(words):
                text = self.refused([*words, '--no-such-option'], '--help')
                self.assertTrue('--no-such-option' in text or 'required' in text, text)

    def test_numbers(self):
        # Every option that takes a number refuses what is none and what is far too large.
        seen = 0
        for words, text in COMMANDS.items():
            for line in text.splitlines():
                head = line[2:].split('  ')[0].split()
                if not line.startswith('  -') or len(head) < 2 or head[1] != 'N':
                    continue
                option = head[0].split(',')[-1]
                for value in ('x', '', '-1', '1.5', '99999999999999999999999', '0x', '1 2'):
                    with self.subTest(words=words, option=option, value=value):
                        self.refused([*words, option, value], option, f"'{value}'" if value else option)
                        seen += 1
        self.assertGreater(seen, 100)

    def test_choices(self):
        for option, allowed in [('--threading', ('single', 'dedicated')), ('--idle', ('spin', 'yield', 'nap')),
                                ('--mtu', ('256', '4096'))]:
            self.refused(['perf', '--port', 'net_null0', option, 'wrong'], option, 'wrong', *allowed)
        self.refused(['pcap', 'replay', '--as', 'wrong', 'x'], '--as', 'responder', 'requester')
        self.refused(['perf', '--port', 'net_null0', 'localhost', '--op', 'sendd'], "'sendd'", 'write', 'cmp_swap')

    def test_missing(self):
        self.refused([], 'a command is missing', 'perf', 'pcap')
        self.refused(['pcap'], 'a command is missing', 'check', 'replay')
        self.refused(['perf'], '--port is required')
        self.refused(['perf', '--port'], '--port')
        self.refused(['perf', '--port', 'net_null0', '--port', 'net_null1'], '--port')
        self.refused(['perf', 'a', 'b', '--port', 'net_null0'], "'b'")
        self.refused(['prf'], "'prf'", 'perf')
        self.refused(['doctor', 'now'], "'now'")

    def test_host_after_a_list_is_the_host(self):
        for option in (['--op', 'send'], ['--size', '64']):
            r = uroce('perf', '--port', 'net_null0', '--wait', '1', '--oob-port', free_port(), *option, '127.0.0.1')
            self.assertIn('no server at 127.0.0.1', r.stderr)


class Perf(unittest.TestCase):
    """What only shows when it is tried: exit 1."""

    def failed(self, args, *words, run=uroce):
        r = run('perf', *args)
        self.assertEqual((r.returncode, r.stdout), (1, ''), r.stderr)
        last = r.stderr.splitlines()[-1]
        self.assertTrue(last.startswith('uroce: '), r.stderr)
        for word in words:
            self.assertIn(word, last)
        return last

    def test_ports(self):
        for spec, words in [('', 'no port; name one'), ('nonsense', 'net_NAME'), (',', 'net_NAME'), ('net_nosuchdriver0', 'is there such a driver'),
                            ('net_memif0,role=klient', 'options right'), ('0000:ff:1f.7', 'no such PCI device'),
                            ('net_memif0,socket=/no/such/folder/a.sock,socket-abstract=no', 'options right'),
                            ('../../etc/passwd', 'net_NAME'), ('net_' + 'x' * 5000, 'DPDK refused it')]:
            with self.subTest(spec):
                self.failed(['--port', spec, '--wait', '1'], words)

    def test_pci_device_that_the_kernel_has(self):
        for d in pathlib.Path('/sys/bus/pci/devices').glob('*'):
            if (d / 'class').read_text().startswith('0x06'):  # a bridge: no driver of DPDK takes it
                self.failed(['--port', d.name, '--wait', '1'], "can't drive", 'dpdk-devbind.py --bind=vfio-pci ' + d.name)
                return
        self.skipTest('no harmless PCI device here')

    def test_addresses(self):
        for address, words in [('10.0.0.1', 'has no prefix length'), ('10.0.0/24', 'is no IPv4 or IPv6 address'),
                               ('10.0.0.1/33', 'wrong prefix length'), ('fd00::1/129', 'wrong prefix length'), ('/', 'is no IPv4')]:
            self.failed(['--port', 'net_null0', '--address', address], f"'{address}'", words, '10.0.0.1/24')

    def test_faults(self):
        for text, words in [('drop=2', 'probability'), ('dropp=0.1', 'not known'), ('drop', 'name=value'), ('drop=', 'drop=')]:
            self.failed(['--port', 'net_null0', '--fault', text], words)

    def test_congestion_control(self):
        for text, words in [('dqcn', 'none, dcqcn, fixed_rate'), ('dcqcn:mine', 'paper, nvidia'), ('dcqcn,rp_ai=1', 'rp_ai_rate'),
                            ('fixed_rate,rate=x', '0 .. 400000'), ('none,rate=1', 'no parameters')]:
            self.failed(['--port', 'net_null0', '--cc', text], words)

    def test_core_that_is_not(self):
        self.failed(['--port', 'net_null0', '--core', '1023'], 'core 1023', 'there are 0 .. ')

    def test_no_hugepages(self):
        free = sum(int(p.read_text()) for p in pathlib.Path('/sys/kernel/mm/hugepages').glob('*/free_hugepages'))
        if free:
            self.skipTest('there are some')
        self.failed(['--port', 'net_null0', '--hugepages'], 'no hugepage is free', 'nr_hugepages')

    def test_tcp_port_in_use(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            s.listen()
            port = s.getsockname()[1]
            self.failed(['--port', 'net_null0', '--oob-port', port], str(port), 'in use', '--oob-port N')

    def test_hosts(self):
        self.failed(['no-such-host.invalid', '--port', 'net_null0'], "'no-such-host.invalid'")
        self.failed(['--port', 'net_null0', '--bind', 'no-such-host.invalid'], "'no-such-host.invalid'")
        self.failed(['--port', 'net_null0', '--bind', '203.0.113.77'], '203.0.113.77')
        self.failed(['127.0.0.1', '--port', 'net_null0', '--oob-port', free_port(), '--wait', '1'], 'start it first')

    def test_nobody_comes(self):
        self.failed(['--port', 'net_null0', '--oob-port', free_port(), '--wait', '1'], 'no client came within 1 s', '--wait')

    def test_signals_of_a_driver_do_not_end_the_wait(self):
        # tap makes the kernel send a signal for every frame.
        if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
            self.skipTest('needs root and tun')
        self.failed(['--port', f'net_tap0,iface=urt{os.getpid()}', '--oob-port', free_port(), '--wait', '1'], 'no client came within 1 s')

    def strange_client(self, say):
        port = free_port()

        def talk():
            for _ in range(300):
                try:
                    with socket.create_connection(('127.0.0.1', port), timeout=10) as s:
                        s.sendall(say)
                        s.shutdown(socket.SHUT_WR)
                        s.recv(4096)
                        return
                except (ConnectionResetError, BrokenPipeError):
                    return
                except ConnectionRefusedError:
                    threading.Event().wait(0.1)
        thread = threading.Thread(target=talk)
        thread.start()
        try:
            return self.failed(['--port', 'net_null0', '--oob-port', port, '--wait', '20'])
        finally:
            thread.join()

    def test_strangers(self):
        for say in (b'GET / HTTP/1.0\r\n\r\n', b'{}\n', b'{"test":{"op":"send"}}\n', b'[1]\n', b'\xff\xfe\0\n', b'5\n',
                    b'{"test":[],"end":3}\n', b'"' + b'x' * 2000000):
            with self.subTest(say[:30]):
                self.strange_client(say)

    def test_clients_that_ask_for_too_much(self):
        test = {'op': 'write', 'latency': False, 'size': 64, 'iterations': 10, 'seconds': 0, 'depth': 4, 'qps': 1, 'mtu': 1024,
                'window': 16, 'timeout': 14, 'verify': True}
        end = {'gid': '10.99.0.2', 'iova': 0, 'key': 1, 'qps': [{'qpn': 17, 'psn': 5}]}
        for change, words in [({'size': 2**28, 'depth': 8192, 'qps': 4096}, 'smaller --size'), ({'qps': 0}, 'out of range'),
                              ({'mtu': 0}, 'path_mtu'), ({'mtu': 100000}, 'path MTU'), ({'window': 0}, 'window 0'),
                              ({'timeout': 200}, 'timeout code'), ({'op': 5}, 'something else'), ({'size': -1}, 'out of range')]:
            with self.subTest(change):
                self.assertIn(words, self.strange_client(json.dumps({'test': test | change, 'end': end}).encode() + b'\n'))
        for change, words in [({'gid': 'x'}, "'x'"), ({'gid': '::'}, 'IP versions'), ({'qps': []}, 'number of queue pairs'),
                              ({'qps': [{}]}, "'qpn'"), ({'qps': 5}, ''), ({'key': 'a'}, 'must be number')]:
            with self.subTest(change):
                self.assertIn(words, self.strange_client(json.dumps({'test': test, 'end': end | change}).encode() + b'\n'))

    def test_buffers_that_fit_nowhere(self):
        with tempfile.TemporaryDirectory() as d:
            memif = f'socket={d}/a.sock,socket-abstract=no'
            port = free_port()
            server = subprocess.Popen([PROGRAM, 'perf', '--port', 'net_memif0,role=server,' + memif, '--oob-port', str(port)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                self.failed(['127.0.0.1', '--port', 'net_memif0,role=client,' + memif, '--oob-port', port, '--bw', '--size', 2**28,
                             '--depth', '4096', '--qps', '256'], 'smaller --size')
                self.assertEqual(server.wait(60), 1)
            finally:
                server.kill()
                server.wait()

    def test_server_that_speaks_otherwise(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            s.listen()

            def answer():
                c, _ = s.accept()
                with c:
                    c.recv(4096)
                    c.sendall(b'SSH-2.0-OpenSSH\r\n')
                    c.recv(4096)
            thread = threading.Thread(target=answer)
            thread.start()
            r = uroce('perf', '127.0.0.1', '--port', 'net_null0', '--oob-port', s.getsockname()[1], '--wait', '2')
            thread.join()
        self.assertEqual(r.returncode, 1)
        self.assertIn('SSH-2.0', r.stderr)

    def test_socket_of_another_server_and_of_a_dead_one(self):
        with tempfile.TemporaryDirectory() as d:
            path = pathlib.Path(d) / 'a.sock'
            port = f'net_memif0,role=server,socket={path},socket-abstract=no'
            first = subprocess.Popen([PROGRAM, 'perf', '--port', port, '--oob-port', str(free_port()), '--wait', '60'],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                for _ in range(300):
                    if path.exists():
                        break
                    threading.Event().wait(0.1)
                self.failed(['--port', port, '--wait', '1'], 'does another process serve this socket')
                self.assertIsNone(first.poll())
                self.assertTrue(path.exists())
            finally:
                first.kill()
                first.wait()
            self.assertTrue(path.exists())
            self.failed(['--port', port, '--wait', '1', '--oob-port', free_port()], 'no client came')

    def test_without_privileges(self):
        nobody = uroce_cli.Nobody(PROGRAM, self)
        for spec in ('net_af_packet0,iface=lo', 'net_tap0,iface=uroce9'):
            self.failed(['--port', spec, '--wait', '1'], 'needs root, or CAP_NET_RAW', run=nobody.run)
        self.failed(['--port', 'net_null0', '--wait', '1', '--oob-port', free_port()], 'no client came', run=nobody.run)
        # Where DPDK keeps its run-time files; sudo and su may leave another user's.
        self.failed(['--port', 'net_null0'], 'XDG_RUNTIME_DIR',
                    run=lambda *args: nobody.run(*args, env={'XDG_RUNTIME_DIR': '/proc/1/fd'}))


class Together(unittest.TestCase):
    """A server and a client: the exit status is the test's, and the JSON has its keys."""
    KEYS = ['op', 'mode', 'size', 'depth', 'qps', 'mtu', 'iterations', 'seconds', 'latency_us', 'verified', 'retransmitted',
            'timeouts']

    def pair(self, *client_options, server_options=()):
        with tempfile.TemporaryDirectory() as d:
            memif = f'id=0,socket={d}/a.sock,socket-abstract=no,bsize=4608'
            port = str(free_port())
            server = subprocess.Popen([PROGRAM, 'perf', '--port', f'net_memif0,role=server,{memif}', '--oob-port', port, '--json',
                                       *server_options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                client = uroce('perf', '127.0.0.1', '--port', f'net_memif0,role=client,{memif}', '--oob-port', port, '--json',
                               *client_options, timeout=120)
                out, err = server.communicate(timeout=60)
            finally:
                server.kill()
                server.wait()
        return client, server.returncode, out.decode(), err.decode()

    def test_json_and_success(self):
        client, status, out, err = self.pair('--op', 'send,read', '--iterations', '200', '--verify')
        self.assertEqual((client.returncode, status), (0, 0), client.stderr + err)
        self.assertEqual(json.loads(out), {'tests': 2})
        results = [json.loads(line) for line in client.stdout.splitlines()]
        self.assertEqual([r['op'] for r in results], ['send', 'read'])
        for r in results:
            self.assertEqual(list(r), self.KEYS)
            self.assertEqual((r['iterations'], r['verified']), (200, True))

    def test_all_frames_lost_is_a_failure(self):
        client, status, _, err = self.pair('--op', 'write', '--iterations', '10', '--timeout', '1', server_options=['--fault', 'drop=1'])
        self.assertEqual((client.returncode, status), (1, 1), client.stderr + err)
        self.assertIn('retry_exc_err', client.stderr.lower())
        self.assertEqual(client.stdout, '')


    def test_a_flow_keeps_its_rate(self):
        # Never more than it may have, frames and all; how close it comes is for a benchmark to say.
        for op in ('write', 'read'):
            limit = ['--cc', 'fixed_rate,rate=200']
            client, status, _, err = self.pair('--op', op, '--bw', '--size', '65536', '--depth', '4', '--iterations', '300', *limit,
                                               server_options=limit)
            self.assertEqual((client.returncode, status), (0, 0), client.stderr + err)
            r = json.loads(client.stdout)
            self.assertLess(r['gbit_per_second'], 0.2)
            self.assertGreater(r['gbit_per_second'], 0.02)
            self.assertEqual(r['retransmitted'], 0)

    def test_bandwidth_keys(self):
        client, status, _, err = self.pair('--op', 'write', '--bw', '--size', '4096', '--iterations', '2000')
        self.assertEqual((client.returncode, status), (0, 0), client.stderr + err)
        want = [k for k in self.KEYS if k != 'latency_us']
        want[want.index('verified'):want.index('verified')] = ['messages_per_second', 'gbit_per_second']
        self.assertEqual(list(json.loads(client.stdout)), want)


class Files(unittest.TestCase):
    def test_keys_of_replay(self):
        r = uroce('pcap', 'replay', '--json', DATA / 'm1500-rc-pingpong.pcap')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(list(json.loads(r.stdout)), ['file', 'as', 'agreed', 'connections', 'answers', 'atomics', 'completions', 'rules',
                                                      'differences'])

    def test_unreadable(self):
        nobody = uroce_cli.Nobody(PROGRAM, self)
        path = pathlib.Path(nobody.folder.name) / 'secret.pcap'
        path.write_bytes((DATA / 'x-mckey.pcap').read_bytes())
        path.chmod(0o600)
        for command in ('check', 'show', 'replay'):
            r = nobody.run('pcap', command, path)
            self.assertEqual((r.returncode, r.stdout), (1, ''))
            self.assertIn(f'{path}: Permission denied', r.stderr)

    def test_replay_of_what_is_no_capture(self):
        with tempfile.TemporaryDirectory() as d:
            text = pathlib.Path(d) / 'text'
            text.write_text('words\n' * 100, encoding='ascii')
            for path, words in [(text, 'not a readable pcap'), (d, 'a directory'), ('/no/such.pcap', 'No such file'),
                                ('/dev/null', ''), (DATA / 'x-mckey.pcap', 'no RC request')]:
                with self.subTest(path):
                    r = uroce('pcap', 'replay', '--json', path)
                    self.assertEqual((r.returncode, r.stdout), (1, ''))
                    self.assertIn(str(path), r.stderr)
                    self.assertIn(words, r.stderr)

    def test_output_that_can_not_be_written(self):
        for args in (['devices'], ['doctor', '--json'], ['pcap', 'check', DATA / 'x-mckey.pcap']):
            with open('/dev/full', 'w', encoding='ascii') as full:
                r = subprocess.run([PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(r.returncode, 1)
            self.assertIn(b'cannot write', r.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
