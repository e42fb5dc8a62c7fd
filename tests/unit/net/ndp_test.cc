// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery for IPv6: RFC 4861, sections named where they matter.
#include "station.h"

namespace uroce::net::test {
namespace {

const std::string kUsText = "20010db8000000000000000000000001";
const std::string kPeerText = "20010db8000000000000000000000002";
const std::string kUsGroup = "ff0200000000000000000001ff000001";
const std::string kPeerGroup = "ff0200000000000000000001ff000002";
const std::string kEverybody = "ff020000000000000000000000000001";
const std::string kNobody = "00000000000000000000000000000000";

// Ethernet, IPv6 with next header 58 and hop limit 255, and the ICMPv6 message with its checksum.
Frame icmpv6(const std::string& macs, const std::string& addresses, const std::string& message) {
  return seal_v6(hex(macs + "86dd  60000000 0000 3a ff" + addresses + message));
}
// Section 4.3: type 135, code, checksum, reserved, target, options.
Frame solicitation(const std::string& target = kUsText, const std::string& options = "0101 020000000002",
                   const std::string& from = kPeerText, const std::string& to = kUsGroup) {
  return icmpv6("3333ff000001 020000000002", from + to, "87 00 0000 00000000" + target + options);
}
// Section 4.4: type 136, code, checksum, R S O and reserved, target, options.
Frame advertisement(const std::string& flags, const std::string& options, const std::string& target = kPeerText,
                    const std::string& to = kUsText, const std::string& from = kPeerText) {
  return icmpv6("021122334455 020000000002", from + to, "88 00 0000" + flags + target + options);
}
const std::string kSolicited = "60000000", kSolicitedOnly = "40000000", kOverride = "20000000", kNone = "00000000";
const std::string kAtPeer = "0201 020000000002", kAtElsewhere = "0201 020000000099";

const std::string kOurQuestion = show(
    icmpv6("3333ff000002 021122334455", kUsText + kPeerGroup, "87 00 0000 00000000" + kPeerText + "0101 021122334455"));
const std::string kOurProbe = show(
    icmpv6("020000000002 021122334455", kUsText + kPeerText, "87 00 0000 00000000" + kPeerText + "0101 021122334455"));
// S and O are set (section 7.2.4).
const std::string kOurAnswer = show(
    icmpv6("020000000002 021122334455", kUsText + kPeerText, "88 00 0000 60000000" + kUsText + "0201 021122334455"));

void resolve_peer(Station& s) {
  s.net.resolve(kPeer6);
  s.drain();
  s.receive(advertisement(kSolicited, kAtPeer));
  ASSERT_TRUE(s.net.poll_change());
  ASSERT_EQ(s.net.resolve(kPeer6), kPeer);
}

TEST(Ndp, ASolicitationForUsIsAnswered) {
  Station s;
  s.receive(solicitation());
  EXPECT_EQ(s.sent(), kOurAnswer);
  EXPECT_EQ(s.count(Counter::rx_solicitations), 1u);
  EXPECT_EQ(s.count(Counter::neighbours_learned), 1u);
  EXPECT_EQ(s.net.resolve(kPeer6), kPeer);
  EXPECT_EQ(s.sent(), kOurProbe) << "STALE: tried out when it is used (section 7.3.3)";
}

TEST(Ndp, AQuestionToUsAloneMayComeWithoutAMac) {  // section 4.3: the option is for groups
  Station s;
  Frame f = solicitation(kUsText, "", kPeerText, kUsText);
  s.receive(f);
  EXPECT_EQ(s.sent(), kOurAnswer);
  EXPECT_EQ(s.net.neighbour_count(), 0u);
}

TEST(Ndp, TheLinkLocalAddressIsAnsweredForToo) {
  Station s;
  const std::string own = "fe80000000000000001122fffe334455", peer = "fe800000000000000000000000000002";
  s.receive(icmpv6("3333ff334455 020000000002", peer + "ff0200000000000000000001ff334455",
                   "87 00 0000 00000000" + own + "0101 020000000002"));
  EXPECT_EQ(s.sent(),
            show(icmpv6("020000000002 021122334455", own + peer, "88 00 0000 60000000" + own + "0201 021122334455")));
  EXPECT_EQ(s.net.resolve(v6(peer)), kPeer);
}

// RFC 4862 section 5.4: duplicate address detection. The answer goes to all nodes, S clear (RFC 4861 section 7.2.4).
TEST(Ndp, AProbeForOurAddressIsAnsweredToEverybody) {
  Station s;
  s.receive(solicitation(kUsText, "", kNobody));
  EXPECT_EQ(s.sent(), show(icmpv6("333300000001 021122334455", kUsText + kEverybody,
                                  "88 00 0000 20000000" + kUsText + "0201 021122334455")));
  EXPECT_EQ(s.net.neighbour_count(), 0u);
}

TEST(Ndp, ASolicitationMustObeySection711) {
  Station s;
  Frame f = solicitation();
  f[kIp + 7] = 254;
  EXPECT_TRUE(s.drops(f, Counter::ndp_hop_limit));
  f = solicitation();
  f[kIcmpV6 + 1] = 1;
  EXPECT_TRUE(s.drops(seal_v6(f), Counter::ndp_malformed)) << "code";
  f = solicitation();
  f[kIcmpV6 + 3] ^= 1;
  EXPECT_TRUE(s.drops(f, Counter::icmp_checksum));
  f = solicitation(kUsText, "");
  f.pop_back();
  EXPECT_TRUE(s.drops(seal_v6(f), Counter::ndp_malformed)) << "23 bytes";
  EXPECT_TRUE(s.drops(solicitation(kUsGroup), Counter::ndp_malformed)) << "a group as target";
  EXPECT_TRUE(s.drops(solicitation(kNobody), Counter::ndp_malformed));
  EXPECT_TRUE(s.drops(solicitation("00000000000000000000ffff0a000001"), Counter::ndp_malformed))
      << "our IPv4 address is not to be had this way";
  EXPECT_TRUE(s.drops(solicitation(kUsText, "", kNobody, kUsText), Counter::ndp_malformed)) << "a probe to us alone";
  EXPECT_TRUE(s.drops(solicitation(kUsText, "0101 020000000002", kNobody), Counter::ndp_malformed))
      << "a probe with MAC";
  EXPECT_TRUE(s.drops(solicitation(kUsText, "", "00000000000000000000000000000001"), Counter::ndp_malformed));
  EXPECT_TRUE(s.drops(solicitation(kPeerText), Counter::ndp_other_target));
  EXPECT_TRUE(s.drops(solicitation(kUsText, "", kPeerText, kEverybody), Counter::other_station));
  EXPECT_TRUE(s.drops(solicitation(kUsText, "", kUsText), Counter::address_conflicts));
  EXPECT_EQ(s.net.neighbour_count(), 0u);
}

TEST(Ndp, OptionsMustBeWellFormed) {
  Station s;
  for (const char* options : {
           "01",                                      // no length
           "0100 020000000002",                       // length 0 (section 4.6)
           "0101 0200000000",                         // cut
           "0102 020000000002",                       // longer than what is there
           "0102 020000000002 0000000000000000",      // not Ethernet's length (RFC 2464 section 6)
           "0101 020000000002 0e00",                  // the next one's length is 0
           "0101 020000000002 0e",                    // ... is missing
           "0101 010000000002",                       // a group's MAC
           "0101 000000000000", "0101 021122334455",  // none, and ours
       }) {
    EXPECT_TRUE(s.drops(solicitation(kUsText, options), Counter::ndp_bad_option)) << options;
  }
  for (const std::string options :
       {"0201 010000000002", "0201 021122334455", "0200", "0202 020000000002 0000000000000000"}) {
    EXPECT_TRUE(s.drops(advertisement(kSolicited, options), Counter::ndp_bad_option)) << options;
  }
}

TEST(Ndp, UnknownOptionsArePassedOver) {  // section 4.6: silently ignored; a nonce (RFC 3971) is common
  Station s;
  s.receive(solicitation(kUsText, "0e01 112233445566  0101 020000000002"));
  EXPECT_EQ(s.sent(), kOurAnswer);
  EXPECT_EQ(s.net.resolve(kPeer6), kPeer);
}

TEST(Ndp, ResolvesByTheSolicitedNodeGroup) {  // section 7.2.2
  Station s;
  EXPECT_EQ(s.net.resolve(kPeer6), std::nullopt);
  EXPECT_EQ(s.sent(), kOurQuestion);
  EXPECT_EQ(s.count(Counter::tx_solicitations), 1u);
  s.receive(advertisement(kSolicited, kAtPeer));
  EXPECT_EQ(s.net.resolve(kPeer6), kPeer);
  const auto change = s.net.poll_change();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->neighbour, kPeer6);
  EXPECT_EQ(change->mac, kPeer);
  EXPECT_EQ(s.count(Counter::rx_advertisements), 1u);
}

TEST(Ndp, ALinkLocalNeighbourIsAskedFromTheLinkLocalAddress) {
  Station s;
  EXPECT_EQ(s.net.resolve(v6("20010db8000000010000000000000009")), std::nullopt);  // by the gateway, fe80::fe
  EXPECT_EQ(s.sent(), show(icmpv6("3333ff0000fe 021122334455",
                                  "fe80000000000000001122fffe334455 ff0200000000000000000001ff0000fe",
                                  "87 00 0000 00000000 fe8000000000000000000000000000fe 0101 021122334455")));
}

TEST(Ndp, AnAdvertisementMustObeySection712) {
  Station s;
  s.net.resolve(kPeer6);
  s.drain();
  Frame f = advertisement(kSolicited, kAtPeer);
  f[kIp + 7] = 64;
  EXPECT_TRUE(s.drops(f, Counter::ndp_hop_limit));
  f = advertisement(kSolicited, kAtPeer);
  f[kIcmpV6 + 1] = 1;
  EXPECT_TRUE(s.drops(seal_v6(f), Counter::ndp_malformed));
  f = advertisement(kSolicited, kAtPeer);
  f.back() ^= 0x40;
  EXPECT_TRUE(s.drops(f, Counter::icmp_checksum));
  f = advertisement(kSolicited, "");
  f.pop_back();
  EXPECT_TRUE(s.drops(seal_v6(f), Counter::ndp_malformed));
  EXPECT_TRUE(s.drops(advertisement(kSolicited, kAtPeer, kPeerGroup), Counter::ndp_malformed));
  EXPECT_TRUE(s.drops(advertisement(kSolicited, kAtPeer, kPeerText, kEverybody), Counter::ndp_malformed))
      << "solicited, but to a group";
  EXPECT_TRUE(s.drops(advertisement(kSolicited, kAtPeer, "00000000000000000000ffff0a000002"), Counter::ndp_malformed));
  EXPECT_TRUE(s.drops(advertisement(kSolicited, kAtPeer, kPeerText, kUsText, kNobody), Counter::ndp_malformed));
  EXPECT_TRUE(s.drops(advertisement(kSolicited, kAtPeer, kPeerText, kPeerText), Counter::other_station));
  EXPECT_TRUE(s.drops(advertisement(kOverride, kAtPeer, kUsText), Counter::address_conflicts));
  EXPECT_EQ(s.net.resolution(kPeer6), Resolution::resolving);
  s.receive(advertisement(kSolicited, kAtPeer));
  EXPECT_EQ(s.net.resolution(kPeer6), Resolution::resolved) << "and it was none of the usual fields";
}

// Section 7.2.5, for an entry that is INCOMPLETE.
TEST(Ndp, WithoutAMacAnAdvertisementResolvesNothing) {
  Station s;
  s.net.resolve(kPeer6);
  s.drain();
  s.receive(advertisement(kSolicited, ""));
  EXPECT_EQ(s.net.resolution(kPeer6), Resolution::resolving);
  s.receive(advertisement(kNone, kAtPeer));  // neither solicited nor override: STALE, but known
  EXPECT_EQ(s.net.resolve(kPeer6), kPeer);
  EXPECT_EQ(s.sent(), kOurProbe);
}

TEST(Ndp, UnknownNeighboursAreNotEntered) {  // section 7.2.5: silently discarded
  Station s;
  s.receive(advertisement(kOverride, kAtPeer, kPeerText, kEverybody));
  s.receive(advertisement(kSolicited, kAtPeer));
  EXPECT_EQ(s.net.neighbour_count(), 0u);
  EXPECT_EQ(s.count(Counter::neighbour_unknown), 2u);
}

// Section 7.2.5, point I: another MAC without the override flag makes REACHABLE into STALE, and does nothing else.
TEST(Ndp, WithoutOverrideAMacIsKeptButDoubted) {
  Station s;
  resolve_peer(s);
  s.receive(advertisement(kSolicitedOnly, kAtElsewhere));
  EXPECT_EQ(s.net.poll_change(), std::nullopt);
  EXPECT_FALSE(s.net.owes_frames());
  EXPECT_EQ(s.net.resolve(kPeer6), kPeer);
  EXPECT_EQ(s.sent(), kOurProbe);
  s.receive(advertisement(kSolicitedOnly, kAtElsewhere));
  EXPECT_EQ(s.net.resolve(kPeer6), kPeer) << "not REACHABLE: ignored";
  EXPECT_FALSE(s.net.owes_frames());
}

// Section 7.2.5, point II.
TEST(Ndp, WithOverrideAMacIsReplaced) {
  Station s;
  resolve_peer(s);
  s.receive(advertisement(kOverride, kAtElsewhere, kPeerText, kEverybody));
  EXPECT_EQ(s.net.poll_change()->mac, kElsewhere);
  EXPECT_EQ(s.net.resolve(kPeer6), kElsewhere);
  ASSERT_EQ(s.drain().size(), 1u) << "unsolicited: STALE, tried out when it is used";
  s.receive(advertisement(kSolicited, kAtPeer));
  EXPECT_EQ(s.net.poll_change()->mac, kPeer);
  EXPECT_EQ(s.net.resolve(kPeer6), kPeer);
  EXPECT_FALSE(s.net.owes_frames()) << "solicited: REACHABLE";
}

TEST(Ndp, ASolicitedAnswerWithoutAMacConfirmsWhatIsKnown) {
  Station s;
  s.receive(solicitation());
  s.drain();
  s.net.resolve(kPeer6);
  EXPECT_EQ(s.sent(), kOurProbe);
  s.receive(advertisement(kSolicitedOnly, ""));
  s.pass(seconds(29));
  EXPECT_FALSE(s.net.owes_frames()) << "REACHABLE";
  EXPECT_EQ(s.count(Counter::neighbours_failed), 0u);
}

TEST(Ndp, OurAddressesAreAnnouncedAtTheStart) {  // section 7.2.6: to all nodes, S clear, O set
  Station s(usual_config(), false);
  const auto all = s.drain();
  ASSERT_EQ(all.size(), 3u);
  const std::string local = "fe80000000000000001122fffe334455";
  EXPECT_EQ(show(all[0]), show(icmpv6("333300000001 021122334455", local + kEverybody,
                                      "88 00 0000 20000000" + local + "0201 021122334455")));
  EXPECT_EQ(all[1][12], 0x08);  // IPv4: see ARP
  EXPECT_EQ(show(all[2]), show(icmpv6("333300000001 021122334455", kUsText + kEverybody,
                                      "88 00 0000 20000000" + kUsText + "0201 021122334455")));
  EXPECT_EQ(s.count(Counter::tx_advertisements), 2u);
}

TEST(Ndp, BrokenIpv6HeadersAreDropped) {
  Station s;
  const Frame good = solicitation();
  const auto changed = [&](std::size_t at, std::uint8_t v) {
    Frame f = good;
    f[at] = v;
    return f;
  };
  EXPECT_TRUE(s.drops(changed(kIp, 0x40), Counter::ip_malformed));
  EXPECT_TRUE(s.drops(changed(kIp + 8, 0xff), Counter::ip_malformed)) << "a group as source";
  EXPECT_TRUE(s.drops(solicitation(kUsText, "", "00000000000000000000ffff0a000002"), Counter::ip_malformed));
  EXPECT_TRUE(s.drops(solicitation(kUsText, "", kPeerText, "00000000000000000000ffff0a000001"), Counter::ip_malformed));
  EXPECT_TRUE(s.drops(changed(kIp + 5, 33), Counter::frame_truncated));
  EXPECT_TRUE(s.drops(changed(kIp + 6, 44), Counter::ip_fragment));
  EXPECT_TRUE(s.drops(changed(kIp + 6, 0), Counter::other_protocol)) << "hop-by-hop options";
  EXPECT_TRUE(s.drops(changed(kIp + 6, 17), Counter::other_protocol));
  Frame router = good;
  router[kIcmpV6] = 134;
  EXPECT_TRUE(s.drops(seal_v6(router), Counter::other_protocol)) << "a router advertisement";
  Frame runt = good;
  runt.resize(kIcmpV6 + 7);
  EXPECT_TRUE(s.drops(seal_v6(runt), Counter::icmp_malformed));
  EXPECT_EQ(s.net.neighbour_count(), 0u);
}

}  // namespace
}  // namespace uroce::net::test
