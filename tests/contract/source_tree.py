# SPDX-License-Identifier: BSD-3-Clause
"""What the contract tests know about the source tree: the level of each src folder, and how to read C++ text."""
import re

# A folder includes only folders of a strictly lower level, and itself. This is the one home of the order.
LEVELS = {
    'base': 0,
    'ring': 1, 'wire': 1, 'timer': 1,
    'memory': 2, 'congestion': 2,
    'transport': 3, 'net': 3,
    'cm': 4,
    'engine': 5,
    'platform': 6, 'sim': 6,
    'api': 7, 'verbs': 7, 'rdmacm': 7,
}

# Up to this level the code is the protocol core: no I/O, no clock, no allocation on the packet path.
CORE_LEVEL = 4

_TOKEN = re.compile(r'''
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw> \bR"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)" )
  | (?P<string> "(?:\\.|[^"\\\n])*" )
  | (?P<char> (?:\b(?:u8|[uUL])|(?<!\w))'(?:\\.|[^'\\\n])+' )
''', re.VERBOSE | re.DOTALL)


def _blanked(text):
    return re.sub(r'[^\n]', ' ', text)


def without_comments(text, strings=True):
    """The text with comments (and, when strings is false, literals) turned to spaces: line numbers stay."""
    def replace(m):
        return _blanked(m.group()) if m.lastgroup == 'comment' or not strings else m.group()
    return _TOKEN.sub(replace, text)


def line_of(text, position):
    return text.count('\n', 0, position) + 1
