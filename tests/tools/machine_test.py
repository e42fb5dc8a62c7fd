# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `uroce devices` and `uroce doctor` on the machine at hand: machine_test.py PROGRAM

What the kernel says of an interface is the reference for what `devices` says of it.
"""
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import uroce_cli

PROGRAM = sys.argv[1]
DEVICES_KEYS = ['dpdk', 'ports', 'pci_nics']
PORT_KEYS = ['name', 'bus', 'driver', 'kernel_interface', 'mac', 'mtu', 'max_mtu', 'mtu_enforced', 'path_mtu', 'link_up',
             'speed_mbps', 'max_rx_queues', 'max_tx_queues', 'offloads', 'numa_node']
OFFLOAD_KEYS = ['rss', 'rx_ip_checksum', 'tx_ip_checksum', 'rx_udp_checksum', 'tx_udp_checksum', 'vlan_strip', 'vlan_insert']
NIC_KEYS = ['address', 'id', 'kernel_driver', 'kernel_interface', 'usable']
CHECKS = ['memory', 'hugepages', 'memlock', 'privileges', 'vfio', 'nics', 'cpu', 'cores', 'tsc', 'clock_source', 'dpdk']


def uroce(*args, **more):
    return uroce_cli.run(PROGRAM, *args, **more)


NAMES = itertools.count()


def make_veth(test, *options):
    """The names of two interfaces that are up, joined, and gone with the test. New ones each time: old ones may linger."""
    names = [f'urt{os.getpid()}n{next(NAMES)}' for _ in range(2)]
    if os.geteuid() != 0 or not shutil.which('ip'):
        test.skipTest('needs root and ip')
    add = ['ip', 'link', 'add', names[0], *options, 'type', 'veth', 'peer', 'name', names[1]]
    if subprocess.run(add, capture_output=True).returncode != 0:
        test.skipTest('this kernel has no veth')
    test.addCleanup(subprocess.run, ['ip', 'link', 'del', names[0]])
    for name in names:
        subprocess.run(['ip', 'link', 'set', name, 'up'], check=True)
    return names


class Devices(unittest.TestCase):
    def devices(self, *ports, exit_status=0):
        r = uroce('devices', '--json', *[word for p in ports for word in ('--port', p)])
        self.assertEqual(r.returncode, exit_status, r.stderr)
        result = json.loads(r.stdout)
        self.assertEqual(list(result), DEVICES_KEYS)
        self.assertRegex(result['dpdk'], r'^DPDK \d+\.\d+')
        for port in result['ports']:
            self.assertEqual(list(port), PORT_KEYS)
            self.assertEqual(list(port['offloads']), OFFLOAD_KEYS)
            self.assertRegex(port['mac'], r'^([0-9a-f]{2}:){5}[0-9a-f]{2}$')
        for nic in result['pci_nics']:
            self.assertEqual(list(nic), NIC_KEYS)
        return result

    def port(self, spec):
        found = [p for p in self.devices(spec)['ports'] if p['name'] == spec.partition(',')[0]]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_pci_nics_are_those_of_sysfs(self):
        want = sorted(d.name for d in pathlib.Path('/sys/bus/pci/devices').glob('*')
                      if (d / 'class').read_text().startswith('0x0200'))
        self.assertEqual([n['address'] for n in self.devices()['pci_nics']], want)

    def test_none_tells_how_to_get_one(self):
        if self.devices()['ports']:
            self.skipTest('this machine has ports')
        r = uroce('devices')
        self.assertEqual(r.returncode, 0)
        for words in ('DPDK finds no port', 'net_memif0,', 'net_af_packet0,', 'net_tap0,'):
            self.assertIn(words, r.stdout)

    def test_memif_as_asked_with_an_address(self):
        with tempfile.TemporaryDirectory() as d:
            p = self.port(f'net_memif0,role=server,socket={d}/a.sock,socket-abstract=no,mac=02:00:00:0a:0b:0c')
            self.assertEqual((p['driver'], p['bus'], p['mac']), ('net_memif', 'vdev', '02:00:00:0a:0b:0c'))
            self.assertEqual((p['path_mtu'], p['mtu_enforced'], p['link_up']), (4096, False, False))

    def test_several(self):
        r = self.devices('net_null0', 'net_null1')
        self.assertEqual([p['name'] for p in r['ports'] if p['bus'] == 'vdev'], ['net_null0', 'net_null1'])
        text = uroce('devices', '--port', 'net_null0', '-d', 'net_null1').stdout
        for words in ('net_null0\n', 'net_null1\n', 'driver    net_null, bus vdev', 'path MTU  4096', 'link ', 'queues ', 'offloads '):
            self.assertIn(words, text)

    def test_the_good_are_listed_beside_the_bad(self):
        r = self.devices('net_nosuchdriver0', 'net_null0', exit_status=1)
        self.assertEqual([p['name'] for p in r['ports'] if p['bus'] == 'vdev'], ['net_null0'])

    def test_path_mtu_of_a_kernel_interface(self):
        name, _ = make_veth(self)
        # A path MTU is only offered with room for IPv6 and UDP, 48, every transport header, 48, pad, 3, and ICRC, 4: 103.
        large = ',framesz=4352,blocksz=69632,framecnt=512'
        for mtu, frames, path_mtu in [(9000, large, 4096), (4199, large, 4096), (4198, large, 2048), (1500, large, 1024),
                                      (1000, large, 512), (300, large, None), (9000, '', 1024), (615, '', 512), (614, '', 256)]:
            with self.subTest(mtu=mtu, frames=frames):
                subprocess.run(['ip', 'link', 'set', name, 'mtu', str(mtu)], check=True)
                p = self.port(f'net_af_packet0,iface={name}{frames}')
                mac = pathlib.Path(f'/sys/class/net/{name}/address').read_text().strip()
                self.assertEqual((p['kernel_interface'], p['mac'], p['mtu'], p['path_mtu']), (name, mac, mtu, path_mtu))


class Recipes(unittest.TestCase):
    """What `devices` says to type when there is no port, typed."""

    def setUp(self):
        r = uroce('devices')
        if 'DPDK finds no port' not in r.stdout:
            self.skipTest('this machine has ports')
        lines = [line.split() for line in r.stdout.splitlines() if line.startswith('    uroce perf --port net_')]
        self.recipes = {line[3].partition('0,')[0]: line[3:] for line in lines}
        self.assertEqual(set(self.recipes), {'net_memif', 'net_af_packet', 'net_tap'})

    def talk(self, server, client, tries=10):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            oob = ['--oob-port', str(s.getsockname()[1])]
        first = subprocess.Popen([PROGRAM, 'perf', '--port', *server, *oob], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            # Process numbers grow in step, and so would the ones of every further try: see below.
            for _ in range(random.randrange(8)):
                subprocess.run(['true'])
            r = uroce('perf', '127.0.0.1', '--port', *client, *oob, '--op', 'write,read', '--size', '5000', '--iterations', '20', '--verify')
            _, err = first.communicate(timeout=60)
        finally:
            first.kill()
            first.wait()
        # af_packet names a group by process number XOR interface number; two processes now and then hit the same.
        if 'PACKET_FANOUT' in r.stderr + err.decode() and tries > 1:
            return self.talk(server, client, tries - 1)
        self.assertEqual((r.returncode, first.returncode), (0, 0), r.stderr + err.decode())
        self.assertEqual(r.stdout.count('data verified'), 2)

    def test_memif(self):
        with tempfile.TemporaryDirectory() as d:
            server = [w.replace('/tmp/u.sock', d + '/u.sock') for w in self.recipes['net_memif']]
            self.talk(server, [w.replace('role=server', 'role=client') for w in server])

    def test_af_packet(self):
        ends = []
        for name in make_veth(self):
            ends.append([re.sub(r'iface=[^,]*', 'iface=' + name, w) for w in self.recipes['net_af_packet']])
        self.talk(*ends)

    def test_tap(self):
        if os.geteuid() != 0 or not os.path.exists('/dev/net/tun'):
            self.skipTest('needs root and tun')
        r = uroce('perf', '--port', *self.recipes['net_tap'], '--wait', '1')
        self.assertIn('no client came', r.stderr)


class Doctor(unittest.TestCase):
    def doctor(self, *args, exit_status=0, run=uroce):
        r = run('doctor', '--json', *args)
        self.assertEqual(r.returncode, exit_status, r.stdout + r.stderr)
        result = json.loads(r.stdout)
        self.assertEqual(list(result), ['usable', 'checks'])
        self.assertEqual(result['usable'], exit_status == 0)
        for c in result['checks']:
            self.assertEqual(list(c), ['name', 'verdict', 'found', 'fix'])
            self.assertIn(c['verdict'], ('ok', 'note', 'problem'))
            self.assertTrue(c['verdict'] != 'problem' or c['fix'], c)
        self.assertEqual(any(c['verdict'] == 'problem' for c in result['checks']), exit_status != 0)
        return {c['name']: c for c in result['checks']}

    def test_here(self):
        self.assertEqual(list(self.doctor()), CHECKS)

    def test_text_says_the_same(self):
        checks = self.doctor()
        r = uroce('doctor')
        self.assertEqual(r.returncode, 0)
        checks.pop('cores')  # other processes come and go
        for c in checks.values():
            self.assertRegex(r.stdout, rf'(?m)^{c["verdict"]} +{c["name"]} ')
            if c['fix']:
                self.assertIn(c['fix'], r.stdout)

    def test_a_port(self):
        self.assertEqual(self.doctor('--port', 'net_null0')['port']['verdict'], 'ok')

    def test_a_port_that_is_none(self):
        for spec, words in [('nonsense', 'net_NAME'), ('net_nosuchdriver0', 'is there such a driver'),
                            ('0000:ff:1f.7', 'no such PCI device'), ('net_af_packet0,iface=nosuchiface', 'DPDK refused it')]:
            with self.subTest(spec):
                port = self.doctor('--port', spec, exit_status=1)['port']
                self.assertEqual(port['verdict'], 'problem')
                self.assertIn(words, port['found'])

    def test_a_port_of_small_mtu(self):
        name, _ = make_veth(self, 'mtu', '1500')
        port = self.doctor('--port', 'net_af_packet0,iface=' + name)['port']
        self.assertEqual(port['verdict'], 'note')
        self.assertIn('path MTU 1024', port['found'])
        fix = port['fix'].partition('#')[0].split()
        self.assertEqual(fix, ['ip', 'link', 'set', name, 'mtu', '4200'])
        subprocess.run(fix, check=True)  # the advice does what it says
        port = self.doctor('--port', 'net_af_packet0,iface=' + name)['port']  # now it is its ring's frames
        self.assertEqual(port['verdict'], 'note')
        more = port['fix'].partition('#')[0].split()[-1]
        self.assertEqual(self.doctor('--port', more)['port']['verdict'], 'ok')

    def test_without_privileges(self):
        nobody = uroce_cli.Nobody(PROGRAM, self)
        checks = self.doctor(run=nobody.run)
        self.assertEqual(checks['privileges']['verdict'], 'note')
        self.assertIn('setcap', checks['privileges']['fix'])
        self.assertEqual(checks['dpdk']['verdict'], 'ok')  # needs none
        port = self.doctor('--port', 'net_af_packet0,iface=lo', exit_status=1, run=nobody.run)['port']
        self.assertIn('CAP_NET_RAW', port['found'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
