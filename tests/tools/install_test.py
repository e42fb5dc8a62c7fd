# SPDX-License-Identifier: BSD-3-Clause
"""What `meson install` puts in place, used as somebody else would: install_test.py MESON BUILD SOURCE COMPILER...

Installs into a temporary folder, so the tree is not where it was configured to be: uroce.pc must find its way.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MESON, BUILD, SOURCE, COMPILER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4:]
if COMPILER[0].endswith('ccache'):
    COMPILER = COMPILER[1:]
STRICT = ['-std=c++20', '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror']


def run(*args, **more):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=240, check=False, **more)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.top = pathlib.Path(cls.folder.name)
        r = run(MESON, 'install', '-C', BUILD, '--no-rebuild', '--destdir', cls.top)
        assert r.returncode == 0, r.stdout + r.stderr
        cls.files = sorted(p.relative_to(cls.top).as_posix() for p in cls.top.rglob('*') if not p.is_dir())
        cls.pc = cls.find('pkgconfig/uroce.pc')
        cls.environment = {**os.environ, 'PKG_CONFIG_PATH': str(cls.pc.parent)}

    @classmethod
    def find(cls, end):
        found = [f for f in cls.files if f.endswith('/' + end)]
        assert len(found) == 1, f'{end}: {found} of {cls.files}'
        return cls.top / found[0]

    def pkg_config(self, *args):
        r = run('pkg-config', *args, env=self.environment)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout.split()

    def compile(self, source, program, *more):
        r = run(*COMPILER, *STRICT, source, *self.pkg_config('--cflags', '--libs', *more, 'uroce'), '-o', program)
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_these_files_and_no_others(self):
        headers = sorted((SOURCE / 'include').rglob('*.h'))
        want = [r'bin/uroce', r'lib[^ ]*/liburoce\.a', r'lib[^ ]*/pkgconfig/uroce\.pc', r'share/man/man1/uroce\.1(\.gz)?',
                r'share/bash-completion/completions/uroce']
        want += ['include/' + re.escape(h.relative_to(SOURCE / 'include').as_posix()) for h in headers]
        self.assertGreater(len(headers), 3)
        for file in self.files:
            self.assertEqual(len([w for w in want if re.fullmatch('.*/' + w, file)]), 1, f'{file}: not expected')
        self.assertEqual(len(self.files), len(want), self.files)

    def test_program_and_library_are_of_one_version(self):
        version = self.pkg_config('--modversion', 'uroce')[0]
        r = run(self.find('bin/uroce'), '--version')
        self.assertEqual((r.returncode, r.stdout), (0, f'uroce {version}\n'))

    def test_flags_point_into_the_moved_tree(self):
        include = [pathlib.Path(f[2:]).resolve() for f in self.pkg_config('--cflags-only-I', 'uroce')]
        self.assertIn(self.find('include/uroce/uroce.h').parent.parent.resolve(), include)
        libraries = [pathlib.Path(f[2:]).resolve() for f in self.pkg_config('--libs-only-L', 'uroce')]
        self.assertIn(self.find('liburoce.a').parent.resolve(), libraries)

    def test_archive_is_whole(self):
        symbols = run('nm', self.find('liburoce.a'))
        self.assertEqual(symbols.returncode, 0, symbols.stderr)
        seen = re.findall(r'^[0-9a-f ]{16} (\w) (\S+)$', symbols.stdout, re.MULTILINE)
        wanted = {name for kind, name in seen if kind == 'U' and '5uroce' in name}
        there = {name for kind, name in seen if kind != 'U'}
        self.assertGreater(len(there), 100)
        self.assertEqual(sorted(wanted - there), [])

    def test_each_header_compiles(self):
        flags = self.pkg_config('--cflags', 'uroce')
        for header in sorted(self.find('include/uroce/uroce.h').parent.glob('*.h')):
            with self.subTest(header.name):
                r = run(*COMPILER, *STRICT, *flags, '-fsyntax-only', '-x', 'c++', '-', input=f'#include <uroce/{header.name}>\n')
                self.assertEqual(r.returncode, 0, r.stderr)

    def example(self, *more):
        program = self.top / 'hello_write'
        self.compile(SOURCE / 'docs' / 'examples' / 'hello_write.cc', program, *more)
        r = run(program)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        self.assertEqual(r.stdout, "request 1: SUCCESS; the target's memory: hello, remote memory\n")
        return program

    def test_example(self):
        self.assertIn('librte_eal.so', run('readelf', '-d', self.example()).stdout)

    def test_example_with_static_dpdk(self):
        empty = self.top / 'empty.cc'
        empty.write_text('int main() {}\n', encoding='ascii')
        r = run(*COMPILER, empty, *self.pkg_config('--static', '--libs', 'libdpdk'), '-o', self.top / 'empty')
        if r.returncode != 0:
            self.skipTest("DPDK's static libraries can't be linked here: " + r.stderr.splitlines()[0])
        self.assertNotIn('librte_eal.so', run('readelf', '-d', self.example('--static')).stdout)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
