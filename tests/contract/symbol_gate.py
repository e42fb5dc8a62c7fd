#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves on the object code that the protocol core does no I/O, reads no clock, locks nothing and does not allocate.

usage: symbol_gate.py [--sanitize WHICH] [--src DIR] LIBRARY...
       symbol_gate.py --self-test COMPILER...

Every symbol that a core library leaves undefined must be defined in another library given here, or stand in
allowed_symbols.txt. With --src, each core folder that has sources must be among the libraries.
"""
import argparse
import collections
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

from source_tree import CORE_LEVEL, LEVELS

LIST = pathlib.Path(__file__).with_name('allowed_symbols.txt')
UNDEFINED = 'Uwv'  # nm's letters: undefined, weak undefined
Use = collections.namedtuple('Use', 'library source symbol')
Rule = collections.namedtuple('Rule', 'pattern where why')


class GateError(Exception):
    pass


def read_rules(path):
    rules = []
    for number, line in enumerate(path.read_text(encoding='utf-8').split('\n'), 1):
        if not line.strip() or line.startswith('#'):
            continue
        words = line.split(None, 2)
        if len(words) != 3:
            raise GateError(f'{path.name}:{number}: wants PATTERN WHERE and a reason, has "{line.strip()}"')
        rules.append(Rule(*words))
    return rules


def read_library(path):
    """(uses, defined symbols) of a static library."""
    out = subprocess.run(['nm', '-A', '-P', str(path)], capture_output=True, text=True, check=False)
    if out.returncode != 0:
        raise GateError(f'nm {path}: {out.stderr.strip()}')
    library = path.name.removeprefix('lib').removesuffix('.a')
    uses, defined = [], set()
    for line in out.stdout.splitlines():
        m = re.fullmatch(r'.*\[(?P<member>[^\]]+)\]: (?P<symbol>\S+) (?P<letter>\S)(?: .*)?', line)
        if not m:
            raise GateError(f'nm {path}: a line that is not understood: {line}')
        if m['letter'] in UNDEFINED:
            source = m['member'].split('/')[-1].removesuffix('.o')
            uses.append(Use(library, source, m['symbol']))
        else:
            defined.add(m['symbol'])
    if not uses and not defined:
        raise GateError(f'{path}: no symbol at all: nothing to judge')
    return uses, defined


def demangled(symbols):
    out = subprocess.run(['c++filt'], input='\n'.join(symbols), capture_output=True, text=True, check=True)
    return dict(zip(symbols, out.stdout.splitlines()))


def verdict(use, rules, sanitize):
    """Why the use is refused, or None."""
    elsewhere = []
    for rule in rules:
        if not fnmatch.fnmatchcase(use.symbol, rule.pattern):
            continue
        if rule.where == 'any' or (rule.where == 'sanitize' and sanitize):
            return None
        if rule.where != 'sanitize' and fnmatch.fnmatchcase(f'{use.library}/{use.source}', rule.where):
            return None
        elsewhere.append('sanitizer builds' if rule.where == 'sanitize' else rule.where)
    if elsewhere:
        return 'allowed only in ' + ', '.join(elsewhere)
    if use.symbol.startswith(('_ZN5uroce', '_ZNK5uroce')):
        return 'defined in none of the given libraries: does a lower folder call a higher one?'
    return f'not in {LIST.name}: the core does no I/O, reads no clock, locks nothing and does not allocate'


def missing_folders(src, libraries):
    given = {p.name for p in libraries}
    for folder in sorted(src.iterdir()):
        core = folder.is_dir() and LEVELS.get(folder.name, CORE_LEVEL + 1) <= CORE_LEVEL
        if core and any(folder.rglob('*.cc')) and f'liburoce_{folder.name}.a' not in given:
            yield f'src/{folder.name} has sources, but no liburoce_{folder.name}.a was given (meson: {folder.name}_lib)'


def gate(libraries, sanitize, src=None):
    """(uses judged, problems)"""
    rules = read_rules(LIST)
    uses, defined = [], set()
    for path in libraries:
        u, d = read_library(path)
        uses += u
        defined |= d
    outside = [u for u in uses if u.symbol not in defined]
    names = demangled(sorted({u.symbol for u in outside}))
    problems = list(missing_folders(src, libraries)) if src else []
    for use in outside:
        why = verdict(use, rules, sanitize)
        if why:
            problems.append(f'lib{use.library}.a: {use.source}.o: {names[use.symbol]}: {why}')
    return len(uses), problems


# (library, source, text, a part of the complaint it must raise; None: must be accepted)
CASES = [
    ('uroce_wire', 'clock.cc', '#include <ctime>\nlong f() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); '
     'return t.tv_nsec; }', 'clock_gettime'),
    ('uroce_wire', 'print.cc', '#include <cstdio>\nvoid f() { std::puts("x"); }', 'puts'),
    ('uroce_wire', 'grow.cc', 'int* f(int n) { return new int[static_cast<unsigned>(n)]; }',
     'allowed only in */*_setup.cc'),
    ('uroce_wire', 'free.cc', 'void f(int* p) { delete p; }', 'operator delete'),
    ('uroce_wire', 'table_setup.cc', 'int* f(int n) { return new int[static_cast<unsigned>(n)]; }', None),
    ('uroce_base', 'assert.cc', '#include <cstdlib>\nvoid f() { std::abort(); }', None),
    ('uroce_wire', 'assert.cc', '#include <cstdlib>\nvoid f() { std::abort(); }',
     'allowed only in uroce_base/assert.cc'),
    ('uroce_wire', 'static.cc', 'int g();\nint g() { return 1; }\nstruct A { A(); ~A(); };\n'
     'A& f() { static A a; return a; }', '__cxa_guard_acquire'),
    ('uroce_wire', 'asan.cc', 'extern "C" void __asan_init();\nvoid f() { __asan_init(); }', 'sanitizer builds'),
    ('uroce_wire', 'copy.cc', '#include <cstring>\nvoid f(char* a, const char* b, unsigned long n) '
     '{ std::memcpy(a, b, n); }', None),
]


def build(folder, library, source, text, compiler):
    (folder / source).write_text(text, encoding='utf-8')
    obj, lib = folder / (source + '.o'), folder / f'lib{library}.a'
    subprocess.run([*compiler, '-std=c++20', '-O2', '-fPIC', '-c', str(folder / source), '-o', str(obj)], check=True)
    subprocess.run(['ar', 'crs', str(lib), str(obj)], check=True, capture_output=True)
    return lib


def self_test(compiler):
    failures = []
    for library, source, text, expected in CASES:
        with tempfile.TemporaryDirectory() as d:
            _, problems = gate([build(pathlib.Path(d), library, source, text, compiler)], sanitize=False)
        if expected is None and problems:
            failures.append(f'{library}/{source}: refused, but is right: {problems}')
        if expected is not None and not any(expected in p for p in problems):
            failures.append(f'{library}/{source}: wanted a complaint with "{expected}", got {problems}')
    with tempfile.TemporaryDirectory() as d:  # what another given library defines is fine; alone it is not
        folder = pathlib.Path(d)
        user = build(folder, 'uroce_wire', 'user.cc', 'int other();\nint f() { return other(); }', compiler)
        owner = build(folder, 'uroce_base', 'owner.cc', 'int other();\nint other() { return 1; }', compiler)
        if gate([user, owner], sanitize=False)[1] or not gate([user], sanitize=False)[1]:
            failures.append('symbols of a sibling library are not told from unknown ones')
        (folder / 'src/net').mkdir(parents=True)
        (folder / 'src/net/a.cc').touch()
        if not gate([owner], sanitize=False, src=folder / 'src')[1]:
            failures.append('a core folder whose library is not given goes unseen')
    print('\n'.join(failures) or f'self-test: {len(CASES) + 2} cases, each as wanted')
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description='what the protocol core may link to')
    parser.add_argument('--self-test', action='store_true', help='the arguments are a compiler command')
    parser.add_argument('--sanitize', default='none', help="meson's b_sanitize (default: none)")
    parser.add_argument('--src', type=pathlib.Path, help='the src folder: every core folder in it must be covered')
    parser.add_argument('arguments', nargs='+')
    args = parser.parse_args()
    try:
        if args.self_test:
            return self_test(args.arguments)
        libraries = [pathlib.Path(a) for a in args.arguments]
        judged, problems = gate(libraries, args.sanitize not in ('', 'none'), args.src)
    except GateError as e:
        print(f'symbol_gate: {e}')
        return 1
    print('\n'.join(problems))
    print(f'{len(libraries)} libraries, {judged} undefined symbols, {len(problems)} problems')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
