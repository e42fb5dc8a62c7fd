# SPDX-License-Identifier: BSD-3-Clause
"""Running the uroce program, for the tests beside this file."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile


def run(program, *args, timeout=60, **more):
    """Its result, text decoded; a death by signal is an error."""
    r = subprocess.run([program, *map(str, args)], capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, **more)
    r.stdout, r.stderr = r.stdout.decode(errors='replace'), r.stderr.decode(errors='replace')
    assert r.returncode in (0, 1, 2), f'{args}: exit {r.returncode}: {r.stderr}'
    return r


def commands(program, words=()):
    """{command as a tuple of words: its --help}, of every command and group; () is the program itself."""
    text = run(program, *words, '--help').stdout
    found = {words: text}
    section = text.partition('Subcommands:\n')[2]
    for name in re.findall(r'^  ([a-z][a-z0-9-]*) ', section, re.MULTILINE):
        found |= commands(program, (*words, name))
    return found


def long_options(help_text):
    """The --options that a --help lists, in order."""
    out = []
    for line in help_text.splitlines():
        if re.match(r'^  -', line):
            out += re.findall(r'(--[a-z][a-z0-9-]*)', line.split('  ', 2)[1])
    return out


class Nobody:
    """Runs a copy of the program without any privilege; only root can."""

    def __init__(self, program, test):
        if os.geteuid() != 0:
            test.skipTest('only root can give privileges up')
        self.folder = tempfile.TemporaryDirectory()
        test.addCleanup(self.folder.cleanup)
        os.chmod(self.folder.name, 0o755)
        self.program = pathlib.Path(self.folder.name) / 'uroce'
        shutil.copy(program, self.program)
        os.chmod(self.program, 0o755)

    def run(self, *args, **more):
        environment = {k: v for k, v in os.environ.items() if k not in ('HOME', 'XDG_RUNTIME_DIR')} | more.pop('env', {})
        return run(self.program, *args, user=65534, group=65534, extra_groups=[], cwd='/', env=environment, **more)
