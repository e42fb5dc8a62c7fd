// SPDX-License-Identifier: BSD-3-Clause
// The opcode table against one typed out from the IBTA tables of opcodes and header sizes.
#include "wire/opcode.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace uroce::wire::test {
namespace {

struct Row {
  std::uint8_t opcode;
  std::string_view name;
  Service service;
  Place place;
  PayloadRule payload;
  bool request;
  std::uint8_t header_length;  // BTH and extension headers
  const char* headers;         // the extension headers in wire order
};

// clang-format off
const std::vector<Row> kRows{
    {0x00, "RC_SEND_FIRST", Service::rc, Place::first, PayloadRule::full, true, 12, ""},
    {0x01, "RC_SEND_MIDDLE", Service::rc, Place::middle, PayloadRule::full, true, 12, ""},
    {0x02, "RC_SEND_LAST", Service::rc, Place::last, PayloadRule::last, true, 12, ""},
    {0x03, "RC_SEND_LAST_IMM", Service::rc, Place::last, PayloadRule::last, true, 16, "imm"},
    {0x04, "RC_SEND_ONLY", Service::rc, Place::only, PayloadRule::only, true, 12, ""},
    {0x05, "RC_SEND_ONLY_IMM", Service::rc, Place::only, PayloadRule::only, true, 16, "imm"},
    {0x06, "RC_WRITE_FIRST", Service::rc, Place::first, PayloadRule::full, true, 28, "reth"},
    {0x07, "RC_WRITE_MIDDLE", Service::rc, Place::middle, PayloadRule::full, true, 12, ""},
    {0x08, "RC_WRITE_LAST", Service::rc, Place::last, PayloadRule::last, true, 12, ""},
    {0x09, "RC_WRITE_LAST_IMM", Service::rc, Place::last, PayloadRule::last, true, 16, "imm"},
    {0x0a, "RC_WRITE_ONLY", Service::rc, Place::only, PayloadRule::only, true, 28, "reth"},
    {0x0b, "RC_WRITE_ONLY_IMM", Service::rc, Place::only, PayloadRule::only, true, 32, "reth imm"},
    {0x0c, "RC_READ_REQ", Service::rc, Place::only, PayloadRule::none, true, 28, "reth"},
    {0x0d, "RC_RRESP_FIRST", Service::rc, Place::first, PayloadRule::full, false, 16, "aeth"},
    {0x0e, "RC_RRESP_MIDDLE", Service::rc, Place::middle, PayloadRule::full, false, 12, ""},
    {0x0f, "RC_RRESP_LAST", Service::rc, Place::last, PayloadRule::last, false, 16, "aeth"},
    {0x10, "RC_RRESP_ONLY", Service::rc, Place::only, PayloadRule::only, false, 16, "aeth"},
    {0x11, "RC_ACK", Service::rc, Place::only, PayloadRule::none, false, 16, "aeth"},
    {0x12, "RC_ATOMIC_ACK", Service::rc, Place::only, PayloadRule::none, false, 24, "aeth atomic_ack"},
    {0x13, "RC_CMP_SWAP", Service::rc, Place::only, PayloadRule::none, true, 40, "atomic"},
    {0x14, "RC_FETCH_ADD", Service::rc, Place::only, PayloadRule::none, true, 40, "atomic"},
    {0x16, "RC_SEND_LAST_INV", Service::rc, Place::last, PayloadRule::last, true, 16, "ieth"},
    {0x17, "RC_SEND_ONLY_INV", Service::rc, Place::only, PayloadRule::only, true, 16, "ieth"},
    {0x1c, "RC_FLUSH", Service::rc, Place::only, PayloadRule::none, true, 32, "feth reth"},
    {0x1d, "RC_ATOMIC_WRITE", Service::rc, Place::only, PayloadRule::eight, true, 28, "reth"},
    {0x20, "UC_SEND_FIRST", Service::uc, Place::first, PayloadRule::full, true, 12, ""},
    {0x21, "UC_SEND_MIDDLE", Service::uc, Place::middle, PayloadRule::full, true, 12, ""},
    {0x22, "UC_SEND_LAST", Service::uc, Place::last, PayloadRule::last, true, 12, ""},
    {0x23, "UC_SEND_LAST_IMM", Service::uc, Place::last, PayloadRule::last, true, 16, "imm"},
    {0x24, "UC_SEND_ONLY", Service::uc, Place::only, PayloadRule::only, true, 12, ""},
    {0x25, "UC_SEND_ONLY_IMM", Service::uc, Place::only, PayloadRule::only, true, 16, "imm"},
    {0x26, "UC_WRITE_FIRST", Service::uc, Place::first, PayloadRule::full, true, 28, "reth"},
    {0x27, "UC_WRITE_MIDDLE", Service::uc, Place::middle, PayloadRule::full, true, 12, ""},
    {0x28, "UC_WRITE_LAST", Service::uc, Place::last, PayloadRule::last, true, 12, ""},
    {0x29, "UC_WRITE_LAST_IMM", Service::uc, Place::last, PayloadRule::last, true, 16, "imm"},
    {0x2a, "UC_WRITE_ONLY", Service::uc, Place::only, PayloadRule::only, true, 28, "reth"},
    {0x2b, "UC_WRITE_ONLY_IMM", Service::uc, Place::only, PayloadRule::only, true, 32, "reth imm"},
    {0x64, "UD_SEND_ONLY", Service::ud, Place::only, PayloadRule::only, true, 20, "deth"},
    {0x65, "UD_SEND_ONLY_IMM", Service::ud, Place::only, PayloadRule::only, true, 24, "deth imm"},
    {0x81, "CNP", Service::cnp, Place::only, PayloadRule::none, false, 28, "cnp"},
    {0xa0, "XRC_SEND_FIRST", Service::xrc, Place::first, PayloadRule::full, true, 16, "xrc"},
    {0xa1, "XRC_SEND_MIDDLE", Service::xrc, Place::middle, PayloadRule::full, true, 16, "xrc"},
    {0xa2, "XRC_SEND_LAST", Service::xrc, Place::last, PayloadRule::last, true, 16, "xrc"},
    {0xa3, "XRC_SEND_LAST_IMM", Service::xrc, Place::last, PayloadRule::last, true, 20, "xrc imm"},
    {0xa4, "XRC_SEND_ONLY", Service::xrc, Place::only, PayloadRule::only, true, 16, "xrc"},
    {0xa5, "XRC_SEND_ONLY_IMM", Service::xrc, Place::only, PayloadRule::only, true, 20, "xrc imm"},
    {0xa6, "XRC_WRITE_FIRST", Service::xrc, Place::first, PayloadRule::full, true, 32, "xrc reth"},
    {0xa7, "XRC_WRITE_MIDDLE", Service::xrc, Place::middle, PayloadRule::full, true, 16, "xrc"},
    {0xa8, "XRC_WRITE_LAST", Service::xrc, Place::last, PayloadRule::last, true, 16, "xrc"},
    {0xa9, "XRC_WRITE_LAST_IMM", Service::xrc, Place::last, PayloadRule::last, true, 20, "xrc imm"},
    {0xaa, "XRC_WRITE_ONLY", Service::xrc, Place::only, PayloadRule::only, true, 32, "xrc reth"},
    {0xab, "XRC_WRITE_ONLY_IMM", Service::xrc, Place::only, PayloadRule::only, true, 36, "xrc reth imm"},
    {0xac, "XRC_READ_REQ", Service::xrc, Place::only, PayloadRule::none, true, 32, "xrc reth"},
    {0xad, "XRC_RRESP_FIRST", Service::xrc, Place::first, PayloadRule::full, false, 16, "aeth"},
    {0xae, "XRC_RRESP_MIDDLE", Service::xrc, Place::middle, PayloadRule::full, false, 12, ""},
    {0xaf, "XRC_RRESP_LAST", Service::xrc, Place::last, PayloadRule::last, false, 16, "aeth"},
    {0xb0, "XRC_RRESP_ONLY", Service::xrc, Place::only, PayloadRule::only, false, 16, "aeth"},
    {0xb1, "XRC_ACK", Service::xrc, Place::only, PayloadRule::none, false, 16, "aeth"},
    {0xb2, "XRC_ATOMIC_ACK", Service::xrc, Place::only, PayloadRule::none, false, 24, "aeth atomic_ack"},
    {0xb3, "XRC_CMP_SWAP", Service::xrc, Place::only, PayloadRule::none, true, 44, "xrc atomic"},
    {0xb4, "XRC_FETCH_ADD", Service::xrc, Place::only, PayloadRule::none, true, 44, "xrc atomic"},
    {0xb6, "XRC_SEND_LAST_INV", Service::xrc, Place::last, PayloadRule::last, true, 20, "xrc ieth"},
    {0xb7, "XRC_SEND_ONLY_INV", Service::xrc, Place::only, PayloadRule::only, true, 20, "xrc ieth"},
};
// clang-format on

struct Extension {
  Ext ext;
  std::uint8_t length;
};
const std::map<std::string, Extension> kExtensions{{"deth", {Ext::deth, 8}},
                                                   {"reth", {Ext::reth, 16}},
                                                   {"atomic", {Ext::atomic_eth, 28}},
                                                   {"aeth", {Ext::aeth, 4}},
                                                   {"atomic_ack", {Ext::atomic_ack_eth, 8}},
                                                   {"imm", {Ext::imm_dt, 4}},
                                                   {"ieth", {Ext::ieth, 4}},
                                                   {"xrc", {Ext::xrc_eth, 4}},
                                                   {"feth", {Ext::feth, 4}},
                                                   {"cnp", {Ext::cnp, 16}}};

TEST(Opcode, EveryKnownRowIsAsTheStandardHasIt) {
  ASSERT_EQ(kRows.size(), 63u);
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const OpcodeInfo& info = kOpcodes[row.opcode];
    EXPECT_TRUE(info.known());
    EXPECT_EQ(info.name, row.name);
    EXPECT_EQ(info.service, row.service);
    EXPECT_EQ(info.place, row.place);
    EXPECT_EQ(info.payload, row.payload);
    EXPECT_EQ(info.request, row.request);
    EXPECT_EQ(info.header_length, row.header_length);
    EXPECT_EQ(info.starts(), row.place == Place::first || row.place == Place::only);
    EXPECT_EQ(info.ends(), row.place == Place::last || row.place == Place::only);
  }
}

TEST(Opcode, ExtensionHeadersLieInTheOrderOfTheStandard) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    std::array<std::uint8_t, kExtCount> expected{};
    unsigned at = 12;
    std::istringstream words(row.headers);
    for (std::string word; words >> word;) {
      const Extension& h = kExtensions.at(word);
      expected[static_cast<std::size_t>(h.ext)] = static_cast<std::uint8_t>(at);
      at += h.length;
    }
    EXPECT_EQ(at, row.header_length);
    EXPECT_EQ(kOpcodes[row.opcode].offset, expected);
    for (std::size_t e = 0; e < kExtCount; ++e) {
      EXPECT_EQ(kOpcodes[row.opcode].has(static_cast<Ext>(e)), expected[e] != 0);
    }
  }
}

TEST(Opcode, EveryOtherOpcodeIsUnknown) {
  std::set<unsigned> known;
  for (const Row& row : kRows) known.insert(row.opcode);
  for (unsigned op = 0; op < 256; ++op) {
    if (!known.contains(op)) {
      EXPECT_FALSE(kOpcodes[op].known()) << "opcode " << op;
    }
  }
}

TEST(Opcode, TheClassIsBitsSevenToFive) {
  const std::map<Service, unsigned> classes{
      {Service::rc, 0}, {Service::uc, 1}, {Service::ud, 3}, {Service::cnp, 4}, {Service::xrc, 5}};
  for (unsigned op = 0; op < 256; ++op) {
    if (kOpcodes[op].known()) {
      EXPECT_EQ(classes.at(kOpcodes[op].service), op >> 5) << "opcode " << op;
    }
  }
}

TEST(Opcode, TheOperationOfEachIsNamed) {
  const std::map<std::string, Op> operations{
      {"SEND", Op::send}, {"WRITE", Op::write},  {"READ", Op::read_request}, {"RRESP", Op::read_response},
      {"ACK", Op::ack},   {"CMP", Op::cmp_swap}, {"FETCH", Op::fetch_add},   {"FLUSH", Op::flush}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const Op op = kOpcodes[row.opcode].op;
    const std::string name(row.name.substr(row.name.find('_') + 1));
    if (row.opcode == 0x81) {
      EXPECT_EQ(op, Op::cnp);
    } else if ((row.opcode & 0x1f) == 0x12) {
      EXPECT_EQ(op, Op::atomic_ack);
    } else if (row.opcode == 0x1d) {
      EXPECT_EQ(op, Op::atomic_write);
    } else {
      EXPECT_EQ(op, operations.at(name.substr(0, name.find('_'))));
    }
  }
}

TEST(Opcode, RoomForHeadersFitsEveryRow) {
  for (const Row& row : kRows) EXPECT_LE(row.header_length, kMaxHeaderLength) << row.name;
}

}  // namespace
}  // namespace uroce::wire::test
