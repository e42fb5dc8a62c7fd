// SPDX-License-Identifier: BSD-3-Clause
#include "net/routes.h"

#include "station.h"

namespace uroce::net::test {
namespace {

TEST(Address, TheLinkLocalAddressOfAMac) {
  // RFC 2464 section 4: 34-56-78-9A-BC-DE has the identifier 36-56-78-FF-FE-9A-BC-DE.
  EXPECT_EQ(link_local_of(mac("34 56 78 9a bc de")), v6("fe80 0000 0000 0000 3656 78ff fe9a bcde"));
  EXPECT_EQ(link_local_of(kUs), kUsLocal);
}

TEST(Address, TheSolicitedNodeGroup) {
  // RFC 4291 section 2.7.1: 4037::01:800:200E:8C6C joins FF02::1:FF0E:8C6C.
  EXPECT_EQ(solicited_node(v6("4037 0000 0000 0000 0001 0800 200e 8c6c")),
            v6("ff02 0000 0000 0000 0000 0001 ff0e 8c6c"));
}

TEST(Address, TheMacsOfGroups) {
  // RFC 1112 section 6.4: the low 23 bits of the group under 01-00-5E-00-00-00.
  EXPECT_EQ(group_mac(IpAddress::v4(224, 0, 0, 251)), mac("01 00 5e 00 00 fb"));
  EXPECT_EQ(group_mac(IpAddress::v4(239, 255, 2, 3)), mac("01 00 5e 7f 02 03"));
  // RFC 2464 section 7: 33-33 and the last four bytes.
  EXPECT_EQ(group_mac(kAllNodes), mac("33 33 00 00 00 01"));
  EXPECT_EQ(group_mac(v6("ff0e 0000 0000 0000 0000 0000 89ab cdef")), mac("33 33 89 ab cd ef"));
}

TEST(Address, WhatMayBeAHost) {
  EXPECT_TRUE(is_host(IpAddress::v4(1, 0, 0, 0)));
  EXPECT_TRUE(is_host(IpAddress::v4(223, 255, 255, 255)));
  EXPECT_TRUE(is_host(kUs6));
  EXPECT_TRUE(is_host(kUsLocal));
  for (const auto& no : {IpAddress::v4(0, 0, 0, 0), IpAddress::v4(0, 1, 2, 3), IpAddress::v4(127, 0, 0, 1),
                         IpAddress::v4(224, 0, 0, 1), IpAddress::v4(240, 0, 0, 1), IpAddress::v4(255, 255, 255, 255),
                         IpAddress{}, v6("00000000000000000000000000000001"), kAllNodes}) {
    EXPECT_FALSE(is_host(no)) << show(no.bytes);
  }
}

TEST(Address, TheEdgesOfLinkLocal) {  // fe80::/10
  EXPECT_TRUE(is_link_local(v6("febf ffff ffff ffff ffff ffff ffff ffff")));
  EXPECT_FALSE(is_link_local(v6("fec0 0000 0000 0000 0000 0000 0000 0000")));
  EXPECT_FALSE(is_link_local(v6("fe7f ffff ffff ffff ffff ffff ffff ffff")));
  EXPECT_TRUE(is_link_scope_group(v6("ff12 0000 0000 0000 0000 0000 0000 0001")));
  EXPECT_FALSE(is_link_scope_group(v6("ff05 0000 0000 0000 0000 0000 0000 0001")));
}

TEST(Address, CommonPrefixCountsBits) {
  EXPECT_EQ(common_prefix(kUs6, kUs6), 128u);
  EXPECT_EQ(common_prefix(kUs6, kPeer6), 126u);  // ...01 and ...10
  EXPECT_EQ(common_prefix(IpAddress{}, v6("80000000000000000000000000000000")), 0u);
  EXPECT_EQ(common_prefix(IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 1, 1)), 96u + 23u);
}

// Linux: the link-local GID of the MAC at 0, then the addresses in the order in which they were given.
TEST(Gids, TheLinkLocalOneFirstThenAsConfigured) {
  const Routes r(usual_config());
  ASSERT_EQ(r.gids().size(), 3u);
  EXPECT_EQ(r.gids()[0].gid, kUsLocal);
  EXPECT_EQ(r.gids()[1].gid, v6("0000 0000 0000 0000 0000 ffff 0a00 0001"));
  EXPECT_EQ(r.gids()[2].gid, kUs6);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(r.gids()[i].type, GidType::roce_v2);
  EXPECT_EQ(r.gids().find(kUs6), 2u);
  EXPECT_EQ(r.gids().find(kPeer6), std::nullopt);
}

TEST(Gids, AConfiguredLinkLocalAddressIsThereOnce) {
  InterfaceConfig c = usual_config();
  c.addresses = {{kUs6, 64}, {kUsLocal, 64}, {kUs4, 24}};
  ASSERT_TRUE(Routes::check(c));
  const Routes r(c);
  ASSERT_EQ(r.gids().size(), 3u);
  EXPECT_EQ(r.gids()[1].gid, kUs6);
  EXPECT_EQ(r.gids()[2].gid, kUs4);
  EXPECT_EQ(r.addresses().size(), 3u);
}

TEST(Routes, GroupsToListenTo) {
  const Routes r(usual_config());
  const std::vector<MacAddress> groups(r.multicast_groups().begin(), r.multicast_groups().end());
  EXPECT_EQ(groups, (std::vector{mac("33 33 00 00 00 01"), mac("33 33 ff 33 44 55"), mac("33 33 ff 00 00 01")}));
  InterfaceConfig c = usual_config();
  c.addresses.push_back({v6("20010db8000100000000000000000001"), 64});  // the same low 24 bits
  EXPECT_EQ(Routes(c).multicast_groups().size(), 3u);
}

TEST(Routes, OwnsItsAddressesOnly) {
  const Routes r(usual_config());
  for (const auto& a : {kUs4, kUs6, kUsLocal}) EXPECT_TRUE(r.owns(a));
  for (const auto& a : {kPeer4, kPeer6, kGateway6, kAllNodes, IpAddress{}}) EXPECT_FALSE(r.owns(a));
}

TEST(Routes, NextHop) {
  const Routes r(usual_config());
  EXPECT_EQ(r.next_hop(kPeer4), kPeer4);
  EXPECT_EQ(r.next_hop(IpAddress::v4(10, 0, 0, 255)), IpAddress::v4(10, 0, 0, 255));
  EXPECT_EQ(r.next_hop(IpAddress::v4(10, 0, 1, 0)), kGateway4);
  EXPECT_EQ(r.next_hop(kPeer6), kPeer6);
  EXPECT_EQ(r.next_hop(v6("20010db8000000010000000000000002")), kGateway6);
  EXPECT_EQ(r.next_hop(v6("fe80000000000000000000000000beef")), v6("fe80000000000000000000000000beef"));
  for (const auto& a : {IpAddress{}, IpAddress::v4(127, 0, 0, 1), kAllNodes}) EXPECT_EQ(r.next_hop(a), std::nullopt);
}

TEST(Routes, WithoutAGatewayThereIsNoWayOffTheLink) {
  InterfaceConfig c = usual_config();
  c.gateway_v4.reset();
  c.gateway_v6.reset();
  const Routes r(c);
  const auto far4 = IpAddress::v4(10, 0, 1, 1), far6 = v6("20010db8000000010000000000000002");
  EXPECT_EQ(r.next_hop(far4), std::nullopt);
  EXPECT_EQ(r.next_hop(far6), std::nullopt);
  EXPECT_EQ(r.source_for(far4), std::nullopt);
  EXPECT_EQ(r.source_for(far6), std::nullopt);
  EXPECT_EQ(r.next_hop(kPeer4), kPeer4);
}

// Hosts with a /32 (or /128) and a gateway beside it are common in clouds.
TEST(Routes, AGatewayIsOnLinkEvenIfNoSubnetHoldsIt) {
  InterfaceConfig c = usual_config();
  c.addresses = {{kUs4, 32}, {kUs6, 128}};
  c.gateway_v6 = v6("20010db8000000000000000000ff0001");
  ASSERT_TRUE(Routes::check(c));
  const Routes r(c);
  EXPECT_TRUE(r.on_link(kGateway4));
  EXPECT_FALSE(r.on_link(kPeer4));
  EXPECT_EQ(r.next_hop(kGateway4), kGateway4);
  EXPECT_EQ(r.next_hop(kPeer4), kGateway4);
  EXPECT_EQ(r.source_for(kGateway4), kUs4);
  EXPECT_EQ(r.next_hop(kPeer6), c.gateway_v6);
  EXPECT_EQ(r.source_for(*c.gateway_v6), kUs6);
}

TEST(Routes, SourceAddresses) {
  InterfaceConfig c = usual_config();
  const auto other4 = IpAddress::v4(192, 168, 0, 1), other6 = v6("20010db9000000000000000000000001");
  const auto narrow4 = IpAddress::v4(192, 168, 0, 200);
  c.addresses = {{other4, 16}, {kUs4, 24}, {narrow4, 25}, {other6, 64}, {kUs6, 64}};
  const Routes r(c);
  EXPECT_EQ(r.source_for(kUs6), kUs6);                                // to ourselves
  EXPECT_EQ(r.source_for(kPeer4), kUs4);                              // the same subnet
  EXPECT_EQ(r.source_for(IpAddress::v4(192, 168, 9, 9)), other4);     // ... the only one
  EXPECT_EQ(r.source_for(IpAddress::v4(192, 168, 0, 129)), narrow4);  // ... the smallest
  EXPECT_EQ(r.source_for(IpAddress::v4(8, 8, 8, 8)), kUs4);           // the gateway's subnet
  EXPECT_EQ(r.source_for(kPeer6), kUs6);
  EXPECT_EQ(r.source_for(v6("20010db9000000000000000000000009")), other6);
  // The gateway is link-local: the address most like the destination (RFC 6724 section 5, rule 8).
  EXPECT_EQ(r.source_for(v6("20010db8000000090000000000000009")), kUs6);
  EXPECT_EQ(r.source_for(v6("20010db9000000090000000000000009")), other6);
  EXPECT_EQ(r.source_for(v6("80000000000000000000000000000000")), other6);  // no difference: the first
  EXPECT_EQ(r.source_for(kGateway6), kUsLocal);
  EXPECT_EQ(r.source_for(kAllNodes), kUsLocal);
  EXPECT_EQ(r.source_for(v6("ff0e0000000000000000000000000001")), other6);
  EXPECT_EQ(r.source_for(IpAddress::v4(239, 0, 0, 1)), other4);
  EXPECT_EQ(r.source_for(IpAddress{}), std::nullopt);
  EXPECT_EQ(r.source_for(IpAddress::v4(255, 255, 255, 255)), std::nullopt);
}

void expect_refused(const InterfaceConfig& c, ErrorCode code, const char* words) {
  const auto r = Routes::check(c);
  ASSERT_FALSE(r) << words;
  EXPECT_EQ(r.error().code, code);
  EXPECT_NE(r.error().message.find(words), std::string::npos) << r.error().message;
}

TEST(Routes, WrongConfigurationsAreRefusedByName) {
  EXPECT_TRUE(Routes::check(usual_config()));
  const auto refused = [](auto&& change, const char* words) {
    InterfaceConfig c = usual_config();
    change(c);
    expect_refused(c, ErrorCode::invalid_argument, words);
  };
  refused([](auto& c) { c.mac = MacAddress{}; }, "MAC");
  refused([](auto& c) { c.mac = mac("33 33 00 00 00 01"); }, "MAC");
  refused([](auto& c) { c.mtu = 575; }, "MTU 575");
  refused([](auto& c) { c.mtu = 65536; }, "MTU 65536");
  refused([](auto& c) { c.mtu = 1279; }, "1280");
  refused([](auto& c) { c.addresses[0].prefix_length = 33; }, "prefix length 33 of address 10.0.0.1 is not in 0..32");
  refused([](auto& c) { c.addresses[1].prefix_length = 129; }, "0..128");
  refused([](auto& c) { c.addresses[0].address = IpAddress::v4(224, 0, 0, 1); }, "224.0.0.1");
  refused([](auto& c) { c.addresses.push_back(c.addresses[0]); }, "given twice");
  refused([](auto& c) { c.gateway_v4 = kUs4; }, "our own");
  refused([](auto& c) { c.gateway_v6 = kUsLocal; }, "our own");
  refused([](auto& c) { c.gateway_v4 = kGateway6; }, "IPv4");
  refused([](auto& c) { c.gateway_v6 = kGateway4; }, "IPv6");
  refused([](auto& c) { c.gateway_v6 = kAllNodes; }, "IPv6");
  refused([](auto& c) { c.addresses.erase(c.addresses.begin()); }, "needs an IPv4 address");
  refused([](auto& c) { c.addresses[1].address = kUsLocal; }, "needs an IPv6 address");
}

TEST(Routes, SixteenAddressesAreTheMost) {
  InterfaceConfig c = usual_config();
  for (std::uint8_t i = 0; c.addresses.size() < 16; ++i) c.addresses.push_back({IpAddress::v4(10, 1, 0, i), 24});
  ASSERT_TRUE(Routes::check(c));
  EXPECT_EQ(Routes(c).gids().size(), 17u);
  c.addresses.push_back({IpAddress::v4(10, 2, 0, 1), 24});
  expect_refused(c, ErrorCode::no_room, "17 addresses");
  EXPECT_DEATH(Interface(c, 1, Instant{0}), "check");
}

TEST(Routes, WithoutIpv6ASmallMtuWillDo) {
  InterfaceConfig c = usual_config();
  c.addresses.pop_back();
  c.gateway_v6.reset();
  c.mtu = 576;
  EXPECT_TRUE(Routes::check(c));
}

}  // namespace
}  // namespace uroce::net::test
