#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles each public header alone, twice included, with warnings as errors.

usage: public_headers.py --include DIR COMPILER...
       public_headers.py --self-test COMPILER...
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

FLAGS = ['-x', 'c++', '-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror']


def check(include, compiler):
    """(headers seen, problems)"""
    headers = sorted(include.rglob('*.h'))
    problems = []
    for header in headers:
        name = header.relative_to(include).as_posix()
        out = subprocess.run([*compiler, *FLAGS, f'-I{include}', '-'], input=f'#include <{name}>\n' * 2,
                             capture_output=True, text=True, check=False)
        if out.returncode != 0:
            problems.append(f'{name}: does not compile alone:\n{out.stderr}')
    return len(headers), problems


def self_test(compiler):
    cases = {
        'good.h': ('#pragma once\n#include <string>\ninline std::string f() { return {}; }\n', True),
        'needs_more.h': ('#pragma once\ninline std::string f() { return {}; }\n', False),
        'not_once.h': ('struct A {};\n', False),
        'warns.h': ('#pragma once\ninline int f(long v) { return v; }\n', False),
        'private.h': ('#pragma once\n#include "wire/frame.h"\n', False),
    }
    failures = []
    for name, (text, accepted) in cases.items():
        with tempfile.TemporaryDirectory() as d:
            (pathlib.Path(d) / name).write_text(text, encoding='utf-8')
            _, problems = check(pathlib.Path(d), compiler)
        if (not problems) != accepted:
            failures.append(f'{name}: {"refused" if problems else "accepted"}: {problems}')
    print('\n'.join(failures) or f'self-test: {len(cases)} cases, each as wanted')
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description='each public header compiles alone')
    parser.add_argument('--include', type=pathlib.Path, help='the folder that holds uroce/')
    parser.add_argument('--self-test', action='store_true')
    parser.add_argument('compiler', nargs='+')
    args = parser.parse_args()
    if args.self_test:
        return self_test(args.compiler)
    if args.include is None or not args.include.is_dir():
        parser.error('--include must name the folder that holds uroce/')
    seen, problems = check(args.include, args.compiler)
    print('\n'.join(problems))
    print(f'{seen} headers, {len(problems)} problems')
    return 1 if problems or not seen else 0


if __name__ == '__main__':
    sys.exit(main())
