# SPDX-License-Identifier: BSD-3-Clause
"""An independent reading of RoCEv2 captures, to judge `uroce pcap` by.

Shares nothing with the C++ code: written from the InfiniBand specification's opcode table and the ICRC rule of annex A17
(CRC-32 over eight bytes of ones and the IP datagram, what routers may change replaced by ones, least significant byte
first on the wire). Writes captures and packets as well, for tests of what no real capture holds.
"""
import collections
import struct
import zlib

ROCE_PORT = 4791

RC = {
    0: 'SEND_FIRST', 1: 'SEND_MIDDLE', 2: 'SEND_LAST', 3: 'SEND_LAST_IMM', 4: 'SEND_ONLY', 5: 'SEND_ONLY_IMM',
    6: 'WRITE_FIRST', 7: 'WRITE_MIDDLE', 8: 'WRITE_LAST', 9: 'WRITE_LAST_IMM', 10: 'WRITE_ONLY', 11: 'WRITE_ONLY_IMM',
    12: 'READ_REQ', 13: 'RRESP_FIRST', 14: 'RRESP_MIDDLE', 15: 'RRESP_LAST', 16: 'RRESP_ONLY', 17: 'ACK',
    18: 'ATOMIC_ACK', 19: 'CMP_SWAP', 20: 'FETCH_ADD', 22: 'SEND_LAST_INV', 23: 'SEND_ONLY_INV',
}
NAMES = {op: 'RC_' + name for op, name in RC.items()}
NAMES |= {0x20 + op: 'UC_' + name for op, name in RC.items() if op <= 11}
NAMES |= {0x64: 'UD_SEND_ONLY', 0x65: 'UD_SEND_ONLY_IMM'}
OPCODES = {name: op for op, name in NAMES.items()}
RC_RESPONSES = range(13, 19)
NAKS = {0: 'NAK_SEQ', 1: 'NAK_INVALID_REQ', 2: 'NAK_ACCESS', 3: 'NAK_OPERATIONAL', 4: 'NAK_INVALID_RD'}


def syndrome_name(s):
    kind, value = s >> 5 & 3, s & 31
    return {0: f'ACK(credit {value})', 1: f'RNR(timer {value})', 3: NAKS.get(value, f'NAK({value})')}[kind]


# --- captures

def read_pcap(path):
    """The frames of a little-endian microsecond pcap file."""
    with open(path, 'rb') as f:
        data = f.read()
    magic, _, _, _, _, _, link = struct.unpack_from('<IHHiIII', data)
    assert magic == 0xa1b2c3d4 and link == 1, path
    frames, at = [], 24
    while at < len(data):
        length = struct.unpack_from('<I', data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


def pcap_bytes(frames, link=1, snap=262144):
    out = [struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, snap, link)]
    for i, f in enumerate(frames):
        out.append(struct.pack('<IIII', 1700000000, i, min(snap, len(f)), len(f)) + f[:snap])
    return b''.join(out)


def pcapng_bytes(frames):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = struct.pack('<I', 12 + len(body))
        return struct.pack('<I', kind) + size + body + size
    out = [block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1)), block(1, struct.pack('<HHI', 1, 0, 0))]
    out += [block(6, struct.pack('<IIIII', 0, 0, i, len(f), len(f)) + f) for i, f in enumerate(frames)]
    return b''.join(out)


# --- packets

def icrc(ip, v6):
    """Of an IP datagram without its trailing ICRC."""
    header = 40 if v6 else 20
    ones = [header + 6, header + 7, header + 8 + 4]     # UDP checksum; BTH byte 4
    ones += [1, 2, 3, 7] if v6 else [1, 8, 10, 11]      # class, flow, hop limit; TOS, TTL, checksum
    masked = bytearray(ip)
    for i in ones:
        masked[i] = 0xff
    if v6:
        masked[0] |= 0x0f
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + masked))


def decode(frame):
    """A dict for a frame to UDP port 4791, None for any other. Only what real captures hold: no IP options."""
    at = 14
    ether = frame[12:14]
    if ether == b'\x81\x00':
        at, ether = 18, frame[16:18]
    if ether not in (b'\x08\x00', b'\x86\xdd'):
        return None
    v6 = ether == b'\x86\xdd'
    header = 40 if v6 else 20
    length = 40 + int.from_bytes(frame[at + 4:at + 6], 'big') if v6 else int.from_bytes(frame[at + 2:at + 4], 'big')
    if frame[at + (6 if v6 else 9)] != 17 or int.from_bytes(frame[at + header + 2:at + header + 4], 'big') != ROCE_PORT:
        return None
    ip = frame[at:at + length]
    bth = ip[header + 8:header + 20]
    return {
        'good': len(ip) == length and length >= header + 24 and icrc(ip[:-4], v6) == ip[-4:],
        'source': ip[8:24] if v6 else ip[12:16],
        'opcode': bth[0], 'dest_qp': int.from_bytes(bth[5:8], 'big'), 'psn': int.from_bytes(bth[9:12], 'big'),
        'syndrome': ip[header + 20],
    }


def summary(frames):
    """The same figures as `uroce pcap check --json`."""
    opcodes, acks, seen = collections.Counter(), collections.Counter(), set()
    ok, bad_frames, retransmitted, client = 0, [], 0, None
    for number, frame in enumerate(frames, 1):
        p = decode(frame)
        if p is None:
            continue
        if not p['good']:
            bad_frames.append(number)
            continue
        ok += 1
        opcodes[NAMES[p['opcode']]] += 1
        if p['opcode'] == 17:
            acks[syndrome_name(p['syndrome'])] += 1
        if p['opcode'] in RC_RESPONSES:
            continue
        client = client or p['source']
        key = p['source'], p['dest_qp'], p['opcode'], p['psn']
        retransmitted += p['source'] == client and key in seen
        seen.add(key)
    return {
        'packets': len(frames), 'opcodes': dict(opcodes), 'acks': dict(acks), 'retransmitted': retransmitted,
        'icrc': {'ok': ok, 'bad': len(bad_frames), 'bad_frames': bad_frames},
    }


def ipv4_sum(header):
    total = sum(struct.unpack(f'!{len(header) // 2}H', header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def packet(opcode, psn, after_bth=b'', source=2, destination=1, dest_qp=0x11, options=b'', fragment=0):
    """A whole frame from 10.0.0.`source` to 10.0.0.`destination`; `after_bth` has the extension headers and payload."""
    pad = -len(after_bth) % 4
    bth = struct.pack('!BBHII', opcode, 0x40 | pad << 4, 0xffff, dest_qp, psn)
    body = bth + after_bth + bytes(pad)
    udp = struct.pack('!HHHH', 0xc000, ROCE_PORT, 8 + len(body) + 4, 0)
    ihl = 5 + len(options) // 4
    ip = struct.pack('!BBHHHBBH4B4B', 0x40 | ihl, 0, ihl * 4 + 12 + len(body), 1, fragment or 0x4000, 64, 17, 0,
                     10, 0, 0, source, 10, 0, 0, destination) + options
    ip = ip[:10] + struct.pack('!H', ipv4_sum(ip)) + ip[12:]
    datagram = ip + udp + body
    ether = bytes.fromhex('020000000001020000000002' '0800')
    return ether + datagram + icrc(datagram, v6=False)
