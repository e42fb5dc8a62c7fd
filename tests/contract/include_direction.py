#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the layering and the house rules that a compiler does not check.

usage: include_direction.py --root DIR | --self-test

  * a src folder includes only folders of a lower level, and itself (source_tree.LEVELS)
  * public headers include no header of src; drivers see only base and ring of src
  * rte_*.h only where DPDK may be touched; errno only where an errno is part of the interface
  * every file begins with its SPDX line; every header has #pragma once
  * no file over 700 lines, no function over 90 (a reason beside it excuses it: "// long: why")
"""
import argparse
import pathlib
import re
import sys
import tempfile

from source_tree import LEVELS, line_of, without_comments

ROOTS = ('src', 'include', 'drivers', 'tools', 'bench', 'tests')
EDGE_ROOTS = ('src', 'include', 'drivers')  # tools, bench and tests may include any folder
CPP = ('.h', '.cc', '.c', '.cpp', '.hpp')
SPDX = 'SPDX-License-Identifier: BSD-3-Clause'
MAX_FILE = 700
MAX_FUNCTION = 90

DRIVER_SEES = ('base', 'ring')
RTE_ALLOWED = ('src/platform/dpdk/', 'drivers/', 'bench/')
# drivers: DPDK's driver interface answers with negative errno values. tests may provoke and look at anything.
ERRNO_ALLOWED = ('src/verbs/', 'src/rdmacm/', 'src/platform/', 'tools/', 'drivers/', 'tests/')

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)


def check_edge(path, quote, target, root):
    """Why the file at path (relative, posix) may not include target, or None."""
    parts, to = path.split('/'), target.split('/')
    if '..' in to or '.' in to:
        return 'write the path from src/, without "." and ".."'
    if to[0] == 'uroce' and len(to) > 1:
        return None  # the public headers are everyone's
    if quote == '<' and (len(to) == 1 or to[0] not in LEVELS or not (root / 'src' / to[0]).is_dir()):
        return None  # a system header
    if parts[0] not in EDGE_ROOTS:
        return None
    if parts[0] == 'include':
        return 'a public header includes only <uroce/...> and system headers'
    if len(to) == 1:
        here = (root / path).parent / target
        return None if here.is_file() else f'no {target} in this folder'
    if parts[0] == 'drivers':
        if to[0] in LEVELS and to[0] not in DRIVER_SEES:
            return f'a driver sees only {" and ".join(DRIVER_SEES)} of src'
        return None
    own = parts[1]
    if own == to[0]:
        return None
    if to[0] not in LEVELS:
        return f'{to[0]} is no folder with a level'
    if own not in LEVELS:
        return None  # reported once, for the folder
    if LEVELS[to[0]] >= LEVELS[own]:
        return f'{own} is level {LEVELS[own]}, {to[0]} is level {LEVELS[to[0]]}: only a lower level may be included'
    return None


def check_includes(path, text, root):
    for m in INCLUDE.finditer(without_comments(text)):
        quote, target = m.groups()
        where = f'{path}:{line_of(text, m.start(1))}'
        why = check_edge(path, quote, target, root)
        if why:
            yield f'{where}: includes {target}: {why}'
        if target.split('/')[-1].startswith('rte_') and not path.startswith(RTE_ALLOWED):
            yield f'{where}: includes {target}: DPDK is allowed only in {", ".join(RTE_ALLOWED)}'


def check_errno(path, text):
    if path.startswith(ERRNO_ALLOWED):
        return
    for m in re.finditer(r'\b(?:errno|cerrno)\b', without_comments(text)):
        yield (f'{path}:{line_of(text, m.start())}: errno is allowed only in {", ".join(ERRNO_ALLOWED)}; '
               'elsewhere use Result, Drop or Nak')


def code_only(text):
    """Only what has braces that match: no comments, literals, directives, nor the second half of an #if."""
    out, skipping, continued = [], [], False
    for line in without_comments(text, strings=False).split('\n'):
        directive = re.match(r'\s*#\s*(\w+)', line)
        if directive and not continued:
            word = directive.group(1)
            if word in ('if', 'ifdef', 'ifndef'):
                skipping.append(False)
            elif word in ('else', 'elif') and skipping:
                skipping[-1] = True
            elif word == 'endif' and skipping:
                skipping.pop()
        blank = directive or continued or any(skipping)
        continued = bool(directive or continued) and line.rstrip().endswith('\\')
        out.append('' if blank else line)
    code = '\n'.join(out)
    return re.sub(r'\b(?:public|private|protected)\s*:(?!:)', lambda m: ' ' * (len(m.group()) - 1) + ';', code)


CONTAINER = re.compile(r'^\s*(?:template\s*<.*?>\s*(?:requires\b.*?)?)?(?:inline\s+)?'
                       r'(?:namespace|class|struct|union|enum|extern)\b', re.DOTALL)


def functions(text):
    """(first line, last line) of each function body outside other functions; a heuristic on matching braces."""
    code = code_only(text)
    stack, start, i = [], 0, 0  # stack holds where each open brace's statement began, or None for a container
    depth_in_function = 0
    while i < len(code):
        c = code[i]
        if depth_in_function:
            depth_in_function += (c == '{') - (c == '}')
            if depth_in_function == 0:
                begin = stack.pop()
                after = code[i + 1:].lstrip()[:1]
                if after in ('{', ','):  # a brace initialiser of a constructor; the body is still to come
                    start = begin
                else:
                    first = begin + len(code[begin:]) - len(code[begin:].lstrip())
                    yield line_of(code, first), line_of(code, i)
                    start = i + 1
        elif c == '{':
            intro = code[start:i]
            if ')' in intro and not (CONTAINER.match(intro) and not re.search(r'\)\s*(?:const|noexcept|\s)*$', intro)):
                stack.append(start)
                depth_in_function = 1
            else:
                stack.append(None)
                start = i + 1
        elif c == '}':
            if stack:
                stack.pop()
            start = i + 1
        elif c == ';':
            start = i + 1
        i += 1


def check_lengths(path, text):
    lines = text.split('\n')
    count = len(lines) - (lines[-1] == '')
    if count > MAX_FILE:
        yield f'{path}: {count} lines, more than {MAX_FILE}: split it'
    if not path.endswith(CPP):
        return
    for first, last in functions(text):
        if last - first + 1 <= MAX_FUNCTION:
            continue
        above = first - 2
        reason = False
        while above >= 0 and lines[above].lstrip().startswith('//'):
            reason = reason or re.match(r'\s*//\s*long:\s*\S', lines[above]) is not None
            above -= 1
        if not reason:
            yield (f'{path}:{first}: a function of {last - first + 1} lines, more than {MAX_FUNCTION}: '
                   'split it, or say why above it ("// long: ...")')


def check_head(path, text):
    head = text.split('\n')[:2]
    at = 1 if head[0].startswith('#!') else 0
    if len(head) <= at or SPDX not in head[at]:
        yield f'{path}:{at + 1}: does not begin with "{SPDX}" in a comment'
    if path.endswith(('.h', '.hpp')) and not re.search(r'^#pragma once$', text, re.MULTILINE):
        yield f'{path}: no #pragma once'


def is_source(path):
    if path.name == 'meson.build' or path.suffix in CPP or path.suffix in ('.py', '.sh'):
        return True
    if path.suffix:
        return False
    with path.open('rb') as f:
        return f.read(2) == b'#!'


def check_tree(root):
    """(files seen, include edges seen, problems)"""
    problems, files, edges = [], 0, 0
    for folder in sorted((root / 'src').iterdir()):
        if folder.is_dir() and folder.name not in LEVELS:
            problems.append(f'src/{folder.name}: a folder without a level: give it one in source_tree.py')
    for top in ROOTS:
        for path in sorted((root / top).rglob('*')):
            name = path.relative_to(root).as_posix()
            if not path.is_file() or name.startswith('tests/data/') or '__pycache__' in name or not is_source(path):
                continue
            files += 1
            text = path.read_text(encoding='utf-8')
            problems += check_head(name, text)
            problems += check_lengths(name, text)
            if name.endswith(CPP):
                edges += len(INCLUDE.findall(text))
                problems += check_includes(name, text, root)
                problems += check_errno(name, text)
    return files, edges, problems


LINE = f'// {SPDX}\n'
HEADER = LINE + '#pragma once\n'
LONG = '  x();\n' * MAX_FUNCTION
# (file, text, a part of the complaint it must raise; None: must be accepted)
CASES = [
    ('src/wire/good.h', HEADER + '#include "base/a.h"\n#include "wire/b.h"\n#include <vector>\n#include <uroce/r.h>\n',
     None),
    ('src/wire/commented.h', HEADER + '// #include "engine/x.h"\n/*\n#include "sim/x.h"\n*/\n', None),
    ('src/base/up.h', HEADER + '#include "wire/a.h"\n', 'only a lower level'),
    ('src/base/angle.h', HEADER + '#include <wire/a.h>\n', 'only a lower level'),
    ('src/wire/sideways.h', HEADER + '#  include "ring/a.h"\n', 'only a lower level'),
    ('src/platform/dpdk/meets.h', HEADER + '#include "sim/clock.h"\n', 'only a lower level'),
    ('src/sim/meets.h', HEADER + '#include "platform/dpdk/a.h"\n', 'only a lower level'),
    ('src/wire/unknown.h', HEADER + '#include "wrie/a.h"\n', 'no folder with a level'),
    ('src/wire/dots.h', HEADER + '#include "../base/a.h"\n', 'without "." and ".."'),
    ('src/wire/local.h', HEADER + '#include "nowhere.h"\n', 'no nowhere.h in this folder'),
    ('src/extra/a.h', HEADER, 'without a level'),
    ('include/uroce/leak.h', HEADER + '#include "base/a.h"\n', 'a public header includes only'),
    ('drivers/net/x/a.cc', LINE + '#include <rte_ethdev.h>\n#include "ring/a.h"\n', None),
    ('drivers/net/x/b.cc', LINE + '#include "engine/a.h"\n', 'a driver sees only'),
    ('tools/any.cc', LINE + '#include "engine/a.h"\n#include <cerrno>\n', None),
    ('tools/rte.cc', LINE + '#include <rte_mbuf.h>\n', 'DPDK is allowed only'),
    ('src/engine/rte.cc', LINE + '#include <rte_mbuf.h>\n', 'DPDK is allowed only'),
    ('src/platform/dpdk/rte.cc', LINE + '#include <rte_mbuf.h>\n', None),
    ('src/engine/errno.cc', LINE + '#include <errno.h>\n', 'errno is allowed only'),
    ('src/engine/errno2.cc', LINE + 'int f() { return errno; }\n', 'errno is allowed only'),
    ('src/base/head.cc', 'int x;\n', 'does not begin with'),
    ('tests/unit/shebang.py', '#!/usr/bin/env python3\n# ' + SPDX + '\n', None),
    ('src/base/once.h', LINE, 'no #pragma once'),
    ('src/base/file.cc', LINE + 'int x;\n' * MAX_FILE, 'more than 700'),
    ('src/base/long.cc', LINE + 'namespace a {\nvoid f() {\n' + LONG + '}\n}\n', 'long.cc:3: a function of 92 lines'),
    ('src/base/method.cc', LINE + 'class A {\n public:\n  A() : a_{1}, b_{2}\n  {\n' + LONG + '  }\n};\n',
     'a function of 93 lines'),
    ('src/base/reason.cc', LINE + '// Does it.\n// long: one table\nvoid f() {\n' + LONG + '}\n', None),
    ('src/base/no_reason.cc', LINE + '// long:\nvoid f() {\n' + LONG + '}\n', 'a function of 92 lines'),
    ('src/base/struct.cc', LINE + 'struct alignas(64) A {\n' + '  int x;\n' * MAX_FUNCTION + '};\n', None),
    ('src/base/tokens.cc', LINE + 'char c = \'{\'; int n = 1\'000; auto s = "{(";\nvoid g() {}\n' + LONG, None),
    ('src/base/if.cc', LINE + '#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n' + LONG, None),
]


def self_test():
    failures = []
    for name, text, expected in CASES:
        with tempfile.TemporaryDirectory() as d:
            root = pathlib.Path(d)
            for folder in ('src/wire', 'src/base'):
                (root / folder).mkdir(parents=True)
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding='utf-8')
            _, _, problems = check_tree(root)
        if expected is None and problems:
            failures.append(f'{name}: refused, but is right: {problems}')
        if expected is not None and (len(problems) != 1 or expected not in problems[0]):
            failures.append(f'{name}: wanted one complaint with "{expected}", got {problems}')
    print('\n'.join(failures) or f'self-test: {len(CASES)} cases, each as wanted')
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description='layering and house rules')
    parser.add_argument('--root', type=pathlib.Path, help='the source tree')
    parser.add_argument('--self-test', action='store_true', help='prove on made-up trees that each rule bites')
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if args.root is None or not (args.root / 'src').is_dir():
        parser.error('--root must name the source tree (it has src/)')
    files, edges, problems = check_tree(args.root)
    print('\n'.join(problems))
    print(f'{files} files, {edges} includes, {len(problems)} problems')
    return 1 if problems or not edges else 0


if __name__ == '__main__':
    sys.exit(main())
