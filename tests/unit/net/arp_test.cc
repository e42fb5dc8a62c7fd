// SPDX-License-Identifier: BSD-3-Clause
// ARP as RFC 826 has it: hardware 1, protocol 0800, lengths 6 and 4, operation, then sender and target.
#include "station.h"

namespace uroce::net::test {
namespace {

constexpr const char* kPadding = "0000 0000 0000 0000 0000 0000 0000 0000 0000";  // 42 bytes to 60

Frame padded_hex(const std::string& text) {
  return hex(text + kPadding);
}

const Frame kRequestForUs =
    hex("ffffffffffff 020000000002 0806  0001 0800 06 04 0001"
        "020000000002 0a000002  000000000000 0a000001");
const Frame kReplyToUs =
    hex("021122334455 020000000002 0806  0001 0800 06 04 0002"
        "020000000002 0a000002  021122334455 0a000001");
// RFC 5227 section 3: sender and target address are the announced one.
const Frame kAnnouncement =
    hex("ffffffffffff 020000000099 0806  0001 0800 06 04 0001"
        "020000000099 0a000002  000000000000 0a000002");
const Frame kAnnouncingReply =
    hex("ffffffffffff 020000000099 0806  0001 0800 06 04 0002"
        "020000000099 0a000002  ffffffffffff 0a000002");
const std::string kOurQuestion =
    show(padded_hex("ffffffffffff 021122334455 0806  0001 0800 06 04 0001"
                    "021122334455 0a000001  000000000000 0a000002"));
const std::string kOurProbe =
    show(padded_hex("020000000002 021122334455 0806  0001 0800 06 04 0001"
                    "021122334455 0a000001  000000000000 0a000002"));
const std::string kOurReply =
    show(padded_hex("020000000002 021122334455 0806  0001 0800 06 04 0002"
                    "021122334455 0a000001  020000000002 0a000002"));

Frame with(Frame f, std::size_t at, const std::string& bytes) {
  const Frame b = hex(bytes);
  std::copy(b.begin(), b.end(), f.begin() + static_cast<std::ptrdiff_t>(at));
  return f;
}

TEST(Arp, ARequestForUsIsAnswered) {
  Station s;
  s.receive(kRequestForUs);
  EXPECT_TRUE(s.net.owes_frames());
  EXPECT_EQ(s.sent(), kOurReply);
  EXPECT_FALSE(s.net.owes_frames());
  EXPECT_EQ(s.count(Counter::rx_arp_requests), 1u);
  EXPECT_EQ(s.count(Counter::tx_arp_replies), 1u);
}

TEST(Arp, PaddingBehindThePacketIsIgnored) {
  Station s;
  s.receive(padded(kRequestForUs));
  EXPECT_EQ(s.sent(), kOurReply);
}

TEST(Arp, WhoAsksForUsIsLearned) {
  Station s;
  s.receive(kRequestForUs);
  s.drain();
  EXPECT_EQ(s.count(Counter::neighbours_learned), 1u);
  EXPECT_EQ(s.net.resolve(kPeer4), kPeer);
  EXPECT_EQ(s.net.poll_change(), std::nullopt) << "nobody had asked for it";
  // What it said about itself is tried out once it is used (RFC 4861 section 7.3.2, STALE).
  EXPECT_EQ(s.sent(), kOurProbe);
}

TEST(Arp, ASenderOfAnotherLinkIsAnsweredButNotLearned) {
  Station s;
  s.receive(with(kRequestForUs, 28, "0a000102"));
  EXPECT_EQ(s.sent(), show(padded_hex("020000000002 021122334455 0806  0001 0800 06 04 0002"
                                      "021122334455 0a000001  020000000002 0a000102")));
  EXPECT_EQ(s.count(Counter::neighbour_off_link), 1u);
  EXPECT_EQ(s.net.neighbour_count(), 0u);
}

// RFC 5227 section 2.1.1: the sender address of a probe is zero. The answer is what tells it that the address is taken.
TEST(Arp, AProbeForOurAddressIsAnsweredAndTeachesNothing) {
  Station s;
  s.receive(with(kRequestForUs, 28, "00000000"));
  EXPECT_EQ(s.sent(), show(padded_hex("020000000002 021122334455 0806  0001 0800 06 04 0002"
                                      "021122334455 0a000001  020000000002 00000000")));
  EXPECT_EQ(s.net.neighbour_count(), 0u);
  const Frame of_nobody = with(with(kRequestForUs, 28, "00000000"), 38, "00000000");
  EXPECT_TRUE(s.drops(of_nobody, Counter::arp_other_target)) << "no announcement";
}

TEST(Arp, ResolvesByAQuestionToEverybody) {
  Station s;
  EXPECT_EQ(s.net.resolution(kPeer4), Resolution::unknown);
  EXPECT_EQ(s.net.resolve(kPeer4), std::nullopt);
  EXPECT_EQ(s.net.resolution(kPeer4), Resolution::resolving);
  EXPECT_EQ(s.net.resolve(kPeer4), std::nullopt);
  EXPECT_EQ(s.sent(), kOurQuestion) << "once, however often it is wanted";
  EXPECT_EQ(s.net.poll_change(), std::nullopt);
  s.receive(kReplyToUs);
  EXPECT_EQ(s.net.resolution(kPeer4), Resolution::resolved);
  EXPECT_EQ(s.net.resolve(kPeer4), kPeer);
  const auto change = s.net.poll_change();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->neighbour, kPeer4);
  EXPECT_EQ(change->mac, kPeer);
  EXPECT_EQ(s.net.poll_change(), std::nullopt);
  EXPECT_FALSE(s.net.owes_frames());
  EXPECT_EQ(s.count(Counter::neighbours_resolved), 1u);
  EXPECT_EQ(s.count(Counter::rx_arp_replies), 1u);
}

TEST(Arp, TheQuestionOfOneWeAskForIsAnAnswerToo) {
  Station s;
  s.net.resolve(kPeer4);
  s.receive(kRequestForUs);
  EXPECT_EQ(s.net.resolve(kPeer4), kPeer);
  ASSERT_TRUE(s.net.poll_change());
}

TEST(Arp, BeyondTheLinkTheGatewayIsAsked) {
  Station s;
  const auto far = IpAddress::v4(8, 8, 8, 8);
  EXPECT_EQ(s.net.resolve(far), std::nullopt);
  EXPECT_EQ(s.sent(), show(padded_hex("ffffffffffff 021122334455 0806  0001 0800 06 04 0001"
                                      "021122334455 0a000001  000000000000 0a0000fe")));
  s.receive(with(kReplyToUs, 28, "0a0000fe"));
  EXPECT_EQ(s.net.resolve(far), kPeer);
  EXPECT_EQ(s.net.resolution(far), Resolution::resolved);
  EXPECT_EQ(s.net.poll_change()->neighbour, kGateway4);
}

TEST(Arp, WithoutARouteNobodyIsAsked) {
  InterfaceConfig c = usual_config();
  c.gateway_v4.reset();
  Station s(c);
  const auto far = IpAddress::v4(8, 8, 8, 8);
  EXPECT_EQ(s.net.resolve(far), std::nullopt);
  EXPECT_EQ(s.net.resolution(far), Resolution::no_route);
  EXPECT_FALSE(s.net.hold(far));
  s.net.release(far);
  EXPECT_EQ(s.count(Counter::no_route), 2u);
  EXPECT_FALSE(s.net.owes_frames());
}

TEST(Arp, GroupsAndOurselvesNeedNoAnswer) {
  Station s;
  const auto group = IpAddress::v4(239, 129, 2, 3);
  EXPECT_EQ(s.net.resolve(group), mac("01 00 5e 01 02 03"));
  EXPECT_EQ(s.net.resolve(kUs4), kUs);
  EXPECT_TRUE(s.net.hold(group) && s.net.hold(kUs4));
  s.net.release(group);
  s.net.release(kUs4);
  EXPECT_EQ(s.net.resolution(group), Resolution::resolved);
  EXPECT_EQ(s.net.resolution(kUs4), Resolution::resolved);
  EXPECT_EQ(s.net.neighbour_count(), 0u);
  EXPECT_FALSE(s.net.owes_frames());
}

TEST(Arp, AnAnnouncementMovesAKnownNeighbour) {
  for (const Frame& news : {kAnnouncement, kAnnouncingReply}) {
    Station s;
    s.net.resolve(kPeer4);
    s.drain();
    s.receive(kReplyToUs);
    ASSERT_TRUE(s.net.poll_change());
    s.receive(news);
    const auto change = s.net.poll_change();
    ASSERT_TRUE(change);
    EXPECT_EQ(change->neighbour, kPeer4);
    EXPECT_EQ(change->mac, kElsewhere);
    EXPECT_FALSE(s.net.owes_frames());
    EXPECT_EQ(s.net.resolve(kPeer4), kElsewhere);
    EXPECT_EQ(s.drain().size(), 1u) << "anybody can announce: tried out when it is used";
    EXPECT_EQ(s.count(Counter::neighbours_changed), 1u);
    s.receive(news);
    EXPECT_EQ(s.net.poll_change(), std::nullopt) << "no news";
    EXPECT_EQ(s.count(Counter::neighbours_changed), 1u);
  }
}

TEST(Arp, AnAnswerFromElsewhereMovesAKnownNeighbour) {  // RFC 826, packet reception: the table is updated
  Station s;
  s.net.resolve(kPeer4);
  s.drain();
  s.receive(kReplyToUs);
  s.receive(with(kReplyToUs, 22, "020000000099"));
  EXPECT_EQ(s.net.resolve(kPeer4), kElsewhere);
  EXPECT_FALSE(s.net.owes_frames());
}

TEST(Arp, ADestinationIsHeldByItsNextHop) {
  Station s;
  const auto far = IpAddress::v4(8, 8, 8, 8);
  ASSERT_TRUE(s.net.hold(far));
  s.drain();
  s.receive(with(kReplyToUs, 28, "0a0000fe"));
  s.pass(seconds(30));
  EXPECT_EQ(s.drain().size(), 1u) << "probed";
  s.receive(with(kReplyToUs, 28, "0a0000fe"));
  s.net.release(far);
  s.pass(seconds(30));
  EXPECT_TRUE(s.drain().empty()) << "and no more";
}

TEST(Arp, NothingIsEverEnteredByAnnouncementsAndAnswers) {
  Station s;
  for (const Frame& f : {kAnnouncement, kAnnouncingReply, kReplyToUs}) s.receive(f);
  EXPECT_EQ(s.net.neighbour_count(), 0u);
  EXPECT_EQ(s.count(Counter::neighbour_unknown), 3u);
  EXPECT_FALSE(s.net.owes_frames());
}

TEST(Arp, OnlyAnAnswerToUsConfirms) {
  Station s;
  s.net.resolve(kPeer4);
  s.drain();
  const Frame to_another = with(kReplyToUs, 38, "0a000009");
  EXPECT_TRUE(s.drops(to_another, Counter::arp_other_target));
  EXPECT_EQ(s.net.resolution(kPeer4), Resolution::resolving);
  EXPECT_TRUE(s.drops(with(kRequestForUs, 38, "0a000009"), Counter::arp_other_target));
  EXPECT_EQ(s.net.resolution(kPeer4), Resolution::resolving);
}

TEST(Arp, WhoClaimsOurAddressIsCountedAndNotBelieved) {
  Station s;
  EXPECT_TRUE(s.drops(with(kRequestForUs, 28, "0a000001"), Counter::address_conflicts));
  EXPECT_TRUE(s.drops(with(kReplyToUs, 28, "0a000001"), Counter::address_conflicts));
  EXPECT_EQ(s.net.neighbour_count(), 0u);
  EXPECT_EQ(s.net.resolve(kUs4), kUs);
}

TEST(Arp, BrokenHeadersAreDropped) {
  Station s;
  for (const auto& [at, bytes] :
       {std::pair{14, "0006"}, {16, "86dd"}, {18, "08"}, {19, "10"}, {20, "0000"}, {20, "0003"}, {20, "0101"}}) {
    EXPECT_TRUE(s.drops(with(kRequestForUs, static_cast<std::size_t>(at), bytes), Counter::arp_malformed))
        << at << bytes;
  }
}

TEST(Arp, SendersThatCanNotBeAreDropped) {
  Station s;
  for (const char* sender : {"ffffffffffff", "01005e000001", "000000000000", "021122334455"}) {
    EXPECT_TRUE(s.drops(with(kRequestForUs, 22, sender), Counter::arp_bad_sender)) << sender;
  }
  for (const char* sender : {"e0000001", "ffffffff", "7f000001", "00000001"}) {
    EXPECT_TRUE(s.drops(with(kRequestForUs, 28, sender), Counter::arp_bad_sender)) << sender;
  }
  // Zero is a prober's: no reply comes from it.
  EXPECT_TRUE(s.drops(with(kReplyToUs, 28, "00000000"), Counter::arp_bad_sender));
}

TEST(Arp, FramesThatAreNotForUsAreDropped) {
  Station s;
  EXPECT_TRUE(s.drops(with(kRequestForUs, 0, "021122334456"), Counter::other_station));
  EXPECT_TRUE(s.drops(with(kRequestForUs, 0, "01005e000001"), Counter::other_station)) << "a group we are not in";
  EXPECT_TRUE(s.drops(with(kRequestForUs, 6, "030000000002"), Counter::bad_source_mac));
  EXPECT_TRUE(s.drops(with(kRequestForUs, 6, "000000000000"), Counter::bad_source_mac));
  EXPECT_TRUE(s.drops(with(kRequestForUs, 6, "021122334455"), Counter::own_frames));
  EXPECT_TRUE(s.drops(hex("021122334455 020000000002 8915"), Counter::other_protocol)) << "all of a header";
  EXPECT_TRUE(s.drops(with(kRequestForUs, 12, "8915"), Counter::other_protocol));
  EXPECT_TRUE(s.drops(with(kRequestForUs, 12, "8100"), Counter::other_protocol));
}

TEST(Arp, OurAddressesAreAnnouncedAtTheStart) {
  InterfaceConfig c = usual_config();
  c.addresses = {{kUs4, 24}, {IpAddress::v4(10, 0, 9, 1), 24}};
  c.gateway_v6.reset();
  Station s(c, false);
  EXPECT_TRUE(s.net.owes_frames());
  for (int round = 0; round < 2; ++round) {
    const auto all = s.drain();
    ASSERT_EQ(all.size(), 3u);  // the link-local address by NDP
    EXPECT_EQ(show(all[1]), show(padded_hex("ffffffffffff 021122334455 0806  0001 0800 06 04 0001"
                                            "021122334455 0a000001  000000000000 0a000001")));
    EXPECT_EQ(show(all[2]), show(padded_hex("ffffffffffff 021122334455 0806  0001 0800 06 04 0001"
                                            "021122334455 0a000901  000000000000 0a000901")));
    EXPECT_FALSE(s.net.owes_frames());
    EXPECT_EQ(s.count(Counter::tx_arp_requests), 2u * (static_cast<unsigned>(round) + 1));
    s.net.announce();
  }
}

TEST(Arp, RepliesThatWaitAreBoundedAndInOrder) {
  Station s;
  for (int i = 0; i < 70; ++i) {
    s.receive(with(kRequestForUs, 28,
                   std::string("0a0000") + "0123456789abcdef"[(i + 16) / 16] + "0123456789abcdef"[i % 16]));
  }
  EXPECT_EQ(s.count(Counter::reply_queue_full), 6u);
  const auto all = s.drain();
  ASSERT_EQ(all.size(), 64u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i][41], 16 + i);
  s.receive(kRequestForUs);  // and on it goes
  EXPECT_EQ(s.sent(), kOurReply);
}

// What strangers want of us does not keep us from asking.
TEST(Arp, QuestionsGoBeforeReplies) {
  Station s;
  s.receive(kRequestForUs);
  s.net.resolve(IpAddress::v4(10, 0, 0, 7));
  const auto all = s.drain();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0][21], 1);
  EXPECT_EQ(show(all[1]), kOurReply);
}

TEST(Arp, WithoutRoomForItAFrameStaysOwed) {
  Station s;
  s.receive(kRequestForUs);
  Frame small(Interface::kControlFrameLength - 1);
  EXPECT_EQ(s.net.poll_transmit(small, s.now), 0u);
  EXPECT_TRUE(s.net.owes_frames());
  EXPECT_EQ(s.sent(), kOurReply);
}

}  // namespace
}  // namespace uroce::net::test
