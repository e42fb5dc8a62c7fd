#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails for each drop reason that no test names, as Drop::<reason> in C++ or as `drop <reason>` in a script.

usage: drop_reasons.py --root DIR | --self-test
"""
import argparse
import pathlib
import re
import sys
import tempfile

from source_tree import without_comments

LIST = 'src/wire/drop.h'


def reasons(text):
    m = re.search(r'#define UROCE_DROP_REASONS\(X\)((?:.*\\\n)*.*\n)', without_comments(text))
    return re.findall(r'\bX\(\s*(\w+)\s*,', m.group(1)) if m else []


def check(root):
    """(reasons, those that no test names)"""
    names = reasons((root / LIST).read_text(encoding='utf-8'))
    named = set()
    for path in (root / 'tests').rglob('*'):
        if path.suffix in ('.cc', '.h'):
            code = without_comments(path.read_text(encoding='utf-8'), strings=False)
            named |= set(re.findall(r'\bDrop::(\w+)', code))
        elif path.suffix == '.script':
            lines = (line.split('#')[0] for line in path.read_text(encoding='utf-8').splitlines())
            named |= {m.group(1) for line in lines if (m := re.search(r'\bdrop (\w+) \d+', line))}
    return names, [n for n in names if n not in named]


def self_test():
    header = ('#define UROCE_DROP_REASONS(X) \\\n  X(one, "a, b") \\\n  X(two,  "c") \\\n  X(three, "d") \\\n  X(four, "e")\n'
              '#define OTHER(X) X(five, "e")\n')
    test = ('TEST(A, B) { EXPECT_EQ(why, wire::Drop::one); }\n// Drop::two\n'
            '/* Drop::two */ const char* s = "Drop::two";\n'
            'auto x = Drop::three_and_more;\n')
    with tempfile.TemporaryDirectory() as d:
        root = pathlib.Path(d)
        for name, text in ((LIST, header), ('tests/unit/a.cc', test), ('tests/unit/notes.txt', 'Drop::two'),
                           ('tests/script/a.script', '+0 drop four 1\n# drop two 1\n')):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding='utf-8')
        got = check(root)
    wanted = (['one', 'two', 'three', 'four'], ['two', 'three'])
    print('self-test: as wanted' if got == wanted else f'self-test: wanted {wanted}, got {got}')
    return 0 if got == wanted else 1


def main():
    parser = argparse.ArgumentParser(description='every drop reason is hit by a test')
    parser.add_argument('--root', type=pathlib.Path, help='the source tree')
    parser.add_argument('--self-test', action='store_true')
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if args.root is None or not (args.root / LIST).is_file():
        parser.error(f'--root must name the source tree (it has {LIST})')
    names, missing = check(args.root)
    for name in missing:
        print(f'{LIST}: no test names Drop::{name}: a reason that nothing provokes is a claim, not a feature')
    print(f'{len(names)} drop reasons, {len(missing)} without a test')
    return 1 if missing or not names else 0


if __name__ == '__main__':
    sys.exit(main())
