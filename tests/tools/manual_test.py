# SPDX-License-Identifier: BSD-3-Clause
"""Manual page and bash completion against what --help prints: manual_test.py PROGRAM SOURCE

A new command needs: in docs/man/uroce.1 a line in SYNOPSIS and a section `.SS uroce NAME` with a `.TP` for each option; in
tools/completion/uroce.bash its name in `commands` and in the `case` of _uroce, and its options in _uroce_options.
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

import uroce_cli

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
PAGE = SOURCE / 'docs' / 'man' / 'uroce.1'
COMPLETION = SOURCE / 'tools' / 'completion' / 'uroce.bash'
COMMANDS = uroce_cli.commands(PROGRAM)
GROUPS = [words for words in COMMANDS if 'Subcommands:' in COMMANDS[words]]


def sections(page):
    """{'SH NAME': text}, dashes as typed."""
    text = page.replace('\\-', '-')
    parts = re.split(r'^\.(S[HS]) (.*)$', text, flags=re.MULTILINE)
    return {f'{kind} {title}': body for kind, title, body in zip(parts[1::3], parts[2::3], parts[3::3])}


def options_of(section):
    """The long options that have an entry: those on the line after a .TP."""
    entries = re.findall(r'^\.TP\n(.*)$', section, re.MULTILINE)
    return {option for entry in entries for option in re.findall(r'--[a-z][a-z0-9-]*', entry)}


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = PAGE.read_text(encoding='utf-8')
        cls.sections = sections(cls.text)

    def test_version(self):
        version = uroce_cli.run(PROGRAM, '--version').stdout.strip()
        self.assertIn(f'"{version}"', self.text.splitlines()[1])

    def test_every_command_and_every_option_of_it_and_no_other(self):
        titles = {title for title in self.sections if title.startswith('SS uroce')}
        leaves = {words for words in COMMANDS if words not in GROUPS or words == ()}
        self.assertEqual(titles, {' '.join(['SS uroce', *words]) for words in leaves})
        for words in leaves:
            with self.subTest(words):
                options = uroce_cli.long_options(COMMANDS[words])
                self.assertIn('--help', options)
                self.assertEqual(options_of(self.sections[' '.join(['SS uroce', *words])]), set(options))
                self.assertIn(' '.join(['.B uroce', *words]).rstrip(), self.sections['SH SYNOPSIS'])

    def test_short_options(self):
        for words, text in COMMANDS.items():
            if words in GROUPS and words != ():
                continue
            section = self.sections[' '.join(['SS uroce', *words])]
            for short, long in re.findall(r'^  (-[a-z]),(--[a-z-]+)', text, re.MULTILINE):
                with self.subTest(words=words, short=short):
                    self.assertIn(f'.BR {short} ", " {long}', section)

    def test_sections(self):
        for name in ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'COMMANDS', 'EXIT STATUS', 'EXAMPLES', 'FILES', 'SEE ALSO'):
            self.assertIn('SH ' + name, self.sections)
        for status in '012':
            self.assertIn(f'.TP\n.B {status}\n', self.sections['SH EXIT STATUS'])

    def test_examples_name_commands_and_options_that_are(self):
        text = self.sections['SH EXAMPLES'].replace('\\e\n', ' ').replace('\\(aq', "'")
        blocks = re.findall(r'^\.EX\n(.*?)^\.EE', text, re.MULTILINE | re.DOTALL)
        lines = [line for block in blocks for line in block.splitlines() if line.startswith('uroce ')]
        self.assertGreater(len(lines), 5)
        for line in lines:
            with self.subTest(line):
                words = shlex.split(re.split(r' [|&]', line)[0])[1:]
                command = max((c for c in COMMANDS if tuple(words[:len(c)]) == c), key=len)
                self.assertNotIn(command, GROUPS)
                used = {w for w in words if w.startswith('--')}
                self.assertLessEqual(used, set(uroce_cli.long_options(COMMANDS[command])))

    def test_typesets_without_warnings(self):
        commands = [['groff', '-ww', '-z', '-man', '-Tutf8', PAGE], ['mandoc', '-Tlint', '-Wwarning', PAGE],
                    ['man', '--warnings', '-E', 'UTF-8', '-l', '-Tutf8', '-Z', PAGE]]
        ran = 0
        for command in commands:
            if shutil.which(command[0]):
                r = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                                   env={'LC_ALL': 'C.UTF-8', 'MANWIDTH': '80', 'PATH': '/usr/bin:/bin'})
                if command[0] == 'man' and 'minimized' in r.stdout:
                    continue  # a container's stand-in for man
                self.assertEqual((r.returncode, r.stderr, r.stdout if command[0] == 'mandoc' else ''), (0, '', ''), command[0])
                ran += 1
        if not ran:
            self.skipTest('neither groff, mandoc nor man here')


class Completion(unittest.TestCase):
    def complete(self, *words):
        """What bash offers for the last word, which may be empty."""
        script = (f'source {shlex.quote(str(COMPLETION))}; COMP_WORDS=(uroce "$@"); COMP_CWORD=$#; _uroce; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        r = subprocess.run(['bash', '-uc', script, 'bash', *words], capture_output=True, text=True, timeout=60, check=False, cwd=SOURCE)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        return r.stdout.split('\n')[:-1] if r.stdout != '\n' else []

    def test_is_registered(self):
        r = subprocess.run(['bash', '-c', f'source {shlex.quote(str(COMPLETION))}; complete -p uroce'], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout), (0, 'complete -F _uroce uroce\n'))

    def test_commands(self):
        for group in GROUPS:
            want = sorted(words[-1] for words in COMMANDS if len(words) == len(group) + 1 and words[:-1] == group)
            self.assertEqual(sorted(self.complete(*group, '')), want)

    def test_options_of_every_command(self):
        for words, text in COMMANDS.items():
            with self.subTest(words):
                self.assertEqual(sorted(self.complete(*words, '--')), sorted(uroce_cli.long_options(text)))

    def test_beginnings(self):
        self.assertEqual(self.complete('d'), ['devices', 'doctor'])
        self.assertEqual(self.complete('pcap', 'sh'), ['show'])
        self.assertEqual(self.complete('perf', 'localhost', '--oo'), ['--oob-port'])
        self.assertEqual(self.complete('nonsense', ''), self.complete(''))

    def test_values(self):
        self.assertEqual(self.complete('perf', '--op', 'w'), ['write'])
        self.assertEqual(self.complete('perf', '--op', 'send,fe'), ['send,fetch_add'])
        self.assertEqual(self.complete('perf', '--op', '=', 're'), ['read'])  # --op=re, as bash splits it
        self.assertEqual(self.complete('pcap', 'replay', '--as', ''), ['responder', 'requester'])
        self.assertIn('net_null0', self.complete('devices', '-d', 'net_n'))
        self.assertEqual(self.complete('perf', '--size', ''), [])  # numbers: nothing to offer, least of all commands

    def test_every_choice_that_help_names(self):
        seen = 0
        for words, text in COMMANDS.items():
            for option, choices in re.findall(r'^  (--[a-z-]+) TEXT:\{([a-z,]+)\}', text, re.MULTILINE):
                self.assertEqual(sorted(self.complete(*words, option, '')), sorted(choices.split(',')))
                seen += 1
        self.assertGreaterEqual(seen, 3)

    def test_options_with_values_are_not_taken_for_flags(self):
        # After an option that takes a number no command line word may be offered.
        for words, text in COMMANDS.items():
            for names in re.findall(r'^  (-\S+) N\b', text, re.MULTILINE):
                for name in names.split(','):
                    with self.subTest(words=words, option=name):
                        offered = self.complete(*words, name, '')
                        self.assertTrue(all(o.isdigit() for o in offered), offered)

    def test_files(self):
        self.assertEqual(self.complete('pcap', 'check', 'README'), ['README.md'])
        self.assertEqual(self.complete('pcap', 'show', '--json', 'docs/man/ur'), ['docs/man/uroce.1'])
        self.assertEqual(self.complete('bench', '--pcap', 'README'), ['README.md'])
        self.assertEqual(self.complete('bench', '--hugepages', 'README'), [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
