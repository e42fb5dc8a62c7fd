#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the test cases of one meson test run: a gtest program counts by its cases, a script as one.

usage: count_tests.py BUILD_DIR | --self-test

Prints "PASSED FAILED SKIPPED"; names what failed on stderr. testlog.json says how each program ended,
testlog.junit.xml which cases it ran: a program that died, timed out or failed in a sanitizer's exit check counts
as a failure even when every case it reported is well.
"""
import argparse
import collections
import json
import pathlib
import sys
import tempfile
import xml.etree.ElementTree as et

GOOD = ('OK', 'EXPECTEDFAIL')
Case = collections.namedtuple('Case', 'name result')


def junit_cases(path, programs):
    """Per program name, the cases it reported. A suite is PROJECT.PROGRAM.SUITE, for TAP PROJECT.PROGRAM."""
    cases = collections.defaultdict(list)
    if not path.is_file():
        return cases
    for suite in et.parse(path).getroot().iter('testsuite'):
        _, _, rest = suite.get('name', '').partition('.')
        owners = [p for p in programs if rest == p or rest.startswith(p + '.')]
        if not owners:
            continue  # the scripts: testlog.json has their results
        for case in suite.findall('testcase'):
            failed = case.find('failure') is not None or case.find('error') is not None
            skipped = case.find('skipped') is not None or case.get('status') == 'notrun'
            name = f'{rest}.{case.get("name")}'
            cases[max(owners, key=len)].append(Case(name, 'failed' if failed else 'skipped' if skipped else 'passed'))
    return cases


def count(build):
    """(Counter of passed, failed, skipped; lines that say what failed)"""
    logs = build / 'meson-logs'
    total, complaints = collections.Counter(passed=0, failed=0, skipped=0), []
    log = logs / 'testlog.json'
    if not log.is_file():
        return total, complaints
    records = [json.loads(line) for line in log.read_text(encoding='utf-8').splitlines() if line.strip()]
    cases = junit_cases(logs / 'testlog.junit.xml', {r['name'] for r in records})
    for record in records:
        name, result = record['name'], record['result']
        mine = cases.get(name, [])
        total.update(c.result for c in mine)
        failed = [c.name for c in mine if c.result == 'failed']
        complaints += failed
        gtest = any(str(word).startswith('--gtest_output') for word in record.get('command', []))
        if result == 'SKIP':
            total['skipped'] += not mine
        elif result not in GOOD:
            if not failed:
                total['failed'] += 1
                complaints.append(f'{name}: {result}')
        elif gtest and not mine:
            total['failed'] += 1
            complaints.append(f'{name}: ended well, but ran no case')
        else:
            total['passed'] += not mine
    return total, complaints


def self_test():
    script, gtest = ['x.py'], ['./x', '--gtest_output=xml:x.xml']
    ended = (('script', 'OK', script), ('broken', 'FAIL', script), ('slow', 'TIMEOUT', script),
             ('later', 'SKIP', script), ('wire', 'FAIL', gtest), ('wire.icrc', 'OK', gtest), ('leaks', 'FAIL', gtest),
             ('crash', 'ERROR', gtest), ('empty', 'OK', gtest))
    records = [{'name': f'u:s / {name}', 'result': result, 'command': command} for name, result, command in ended]
    junit = '''<testsuites>
      <testsuite name="uroce"><testcase name="script"/><testcase name="broken"><failure/></testcase></testsuite>
      <testsuite name="uroce.u:s / wire.Bth"><testcase name="a" status="run"/><testcase name="b"><failure/></testcase>
        <testcase name="c"><skipped/></testcase><testcase name="d" status="notrun"/></testsuite>
      <testsuite name="uroce.u:s / wire.icrc.V4"><testcase name="a"/><testcase name="b"/></testsuite>
      <testsuite name="uroce.u:s / leaks.X"><testcase name="a"/></testsuite></testsuites>'''
    with tempfile.TemporaryDirectory() as d:
        empty = count(pathlib.Path(d))[0]
        logs = pathlib.Path(d) / 'meson-logs'
        logs.mkdir()
        (logs / 'testlog.json').write_text('\n'.join(json.dumps(r) for r in records), encoding='utf-8')
        (logs / 'testlog.junit.xml').write_text(junit, encoding='utf-8')
        total, complaints = count(pathlib.Path(d))
    # passed: script, wire a, icrc a and b, leaks a; failed: broken, slow, wire b, leaks, crash, empty
    good = (total == {'passed': 5, 'failed': 6, 'skipped': 3} and len(complaints) == 6 and sum(empty.values()) == 0)
    print('self-test: as wanted' if good else f'self-test: got {total} {complaints}')
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description='count the test cases of a meson test run')
    parser.add_argument('build', type=pathlib.Path, nargs='?')
    parser.add_argument('--self-test', action='store_true')
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if args.build is None:
        parser.error('a build directory is wanted')
    total, complaints = count(args.build)
    for line in complaints:
        print(f'  failed: {line}', file=sys.stderr)
    print(total['passed'], total['failed'], total['skipped'])
    return 0


if __name__ == '__main__':
    sys.exit(main())
