// SPDX-License-Identifier: BSD-3-Clause
// Script commands about frames, memory, state and counters.
#include <cstring>

#include "packet.h"
#include "runner.h"

namespace uroce::script {
namespace {

// A timer fires no earlier than its time and at most one tick of 1 us late.
constexpr std::int64_t kTick = 1000;

std::string in_us(std::int64_t ns) {
  return std::to_string(ns / 1000) + "." + std::to_string(ns % 1000 / 100) + " us";
}

AccessFlags parse_access(const Line& line, std::string_view text) {
  AccessFlags out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('|'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part == "write") {
      out |= Access::remote_write;
    } else if (part == "read") {
      out |= Access::remote_read;
    } else if (part == "atomic") {
      out |= Access::remote_atomic;
    } else if (part != "none") {
      line.bad_word(part, "write, read and atomic joined by |, or none");
    }
  }
  return out;
}

QpState parse_state(const Line& line, std::string_view text) {
  for (unsigned i = 0; i <= static_cast<unsigned>(QpState::err); ++i) {
    if (text == to_string(static_cast<QpState>(i))) return static_cast<QpState>(i);
  }
  line.bad_word(text, "RESET, INIT, RTR, RTS, SQD, SQE, ERR");
}

}  // namespace

void Runner::setup(const Line& line) {
  if (world_ != nullptr) line.fail("setup comes before the first timed line");
  const Args a{line,
               std::span(line.words).subspan(1),
               {"mtu", "window", "send_depth", "recv_depth", "cq", "recv_cq", "shared_cq", "credits", "signal_all",
                "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "max_rd_atomic", "max_dest_rd_atomic", "sq_psn",
                "rq_psn", "access", "state", "cc"},
               names_};
  const auto set = [&](const char* key, auto& field) {
    using T = std::remove_reference_t<decltype(field)>;
    if (const auto v = a.number(key)) {
      if (static_cast<T>(*v) != *v) line.fail(std::string(key) + "=" + std::to_string(*v) + " is too large");
      field = static_cast<T>(*v);
    }
  };
  Options& s = setup_;
  set("mtu", s.mtu), set("window", s.window), set("send_depth", s.send_depth), set("recv_depth", s.recv_depth);
  set("cq", s.cq), set("recv_cq", s.recv_cq), set("timeout", s.timeout), set("retry_cnt", s.retry_cnt);
  set("rnr_retry", s.rnr_retry), set("min_rnr_timer", s.min_rnr_timer), set("max_rd_atomic", s.max_rd_atomic);
  set("max_dest_rd_atomic", s.max_dest_rd_atomic), set("sq_psn", s.sq_psn), set("rq_psn", s.rq_psn);
  s.shared_cq |= a.number_or("shared_cq", 0) != 0;
  s.credits |= a.number_or("credits", 0) != 0;
  s.signal_all |= a.number_or("signal_all", 0) != 0;
  if (const auto t = a.text("access")) s.access = parse_access(line, *t);
  if (const auto t = a.text("cc")) {
    const auto profile = congestion::make_profile(*t, 100'000'000'000);
    if (!profile) line.fail(profile.error().message);
    s.congestion = *profile;
  }
  if (const auto t = a.text("state")) s.state = parse_state(line, *t);
}

void Runner::receive(const Line& line, bool with_next) {
  if (line.words.size() < 3) line.fail("expected: < PACKET psn=N ...");
  world().port.arriving.push_back(build_packet(world(), line.words[2], args(line, 3, peer_fields())));
  if (!with_next) world().run();
}

void Runner::expect_sent(const Line& line, std::int64_t earliest, std::int64_t latest) {
  ++assertions_;
  if (line.words.size() < 3) line.fail("expected: > nothing, or > PACKET psn=N ...");
  const Args a = args(line, 3, expected_fields());
  opcode_of(line, line.words[2]);
  World& w = world();
  if (!w.advance_to_frame({clock_.ns + latest + kTick})) {
    line.fail("nothing was sent within " + in_us(latest) + " of the line before");
  }
  const Sent sent = std::move(w.port.sent.front());
  w.port.sent.pop_front();
  const std::int64_t after = sent.at.ns - clock_.ns;
  const std::string got = ": sent was " + describe_frame(sent.bytes);
  if (after < earliest || after > latest + kTick) {
    line.fail(after < 0 ? "sent " + in_us(-after) + " before the line before, where no line expects it" + got
                        : "sent " + in_us(after) + " after the line before" + got);
  }
  const std::string difference = compare_packet(w, line.words[2], a, sent.bytes);
  if (!difference.empty()) line.fail(difference + got);
  clock_ = sent.at;
}

void Runner::expect_nothing(const Line& line) {
  ++assertions_;
  const auto& sent = world().port.sent;
  if (sent.empty()) return;
  line.fail("sent " + in_us(clock_.ns - sent.front().at.ns) + " ago: " + describe_frame(sent.front().bytes));
}

void Runner::event(const Line& line) {
  ++assertions_;
  if (line.words.size() != 3) line.fail("expected: event NAME, or event none");
  const std::string& want = line.words[2];
  auto& events = world().events;
  if (want == "none") {
    if (!events.empty()) line.fail(std::string("there was the event ") + to_string(events.front().type));
    return;
  }
  bool fits = false;
  for (std::string_view rest = want; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    bool known = false;
    for (unsigned i = 0; i <= static_cast<unsigned>(AsyncEventType::gid_change); ++i) {
      known |= part == to_string(static_cast<AsyncEventType>(i));
    }
    if (!known) line.bad_word(part, "none, a name as QP_ACCESS_ERR, or several joined by |");
    fits |= !events.empty() && part == to_string(events.front().type);
  }
  if (events.empty()) line.fail("there was no event");
  if (!fits) line.fail(std::string("the event was ") + to_string(events.front().type));
  events.pop_front();
}

void Runner::state(const Line& line) {
  ++assertions_;
  if (line.words.size() != 3) line.fail("expected: state NAME");
  const QpState want = parse_state(line, line.words[2]), got = world().qp().state();
  if (want != got) line.fail(std::string("the queue pair is in ") + to_string(got));
}

// memory AT len=N pattern=P | zero | u64=N
void Runner::memory(const Line& line) {
  ++assertions_;
  if (line.words.size() < 4) line.fail("expected: memory AT len=N pattern=P or zero, or memory AT u64=N");
  const Args a = args(line, 3, {"len", "pattern", "zero", "u64"});
  const std::uint64_t at = evaluate(line, line.words[2], names_);
  if (const auto want = a.number("u64")) {
    std::uint64_t got = 0;
    std::memcpy(&got, place(line, at, 8), 8);
    if (got != *want) line.fail("there is " + std::to_string(got));
    return;
  }
  const std::uint64_t length = a.need("len");
  const std::uint8_t* p = place(line, at, length);
  const bool zero = a.has("zero");
  if (zero == a.has("pattern")) line.fail("expected one of pattern=P, zero, u64=N");
  const Pattern pattern = zero ? Pattern{} : parse_pattern(line, *a.text("pattern"), names_);
  for (std::uint64_t i = 0; i < length; ++i) {
    const unsigned want = zero ? 0u : pattern.at(i);
    if (p[i] != want)
      line.fail("byte " + std::to_string(i) + " is " + std::to_string(p[i]) + ", expected " + std::to_string(want));
  }
}

void Runner::fill(const Line& line) {
  if (line.words.size() < 4) line.fail("expected: fill AT len=N pattern=P, or fill AT u64=N");
  const Args a = args(line, 3, {"len", "pattern", "u64"});
  const std::uint64_t at = evaluate(line, line.words[2], names_);
  if (const auto v = a.number("u64")) {
    std::memcpy(place(line, at, 8), &*v, 8);
    return;
  }
  const std::uint64_t length = a.need("len");
  std::uint8_t* p = place(line, at, length);
  const Pattern pattern = parse_pattern(line, a.text("pattern").value_or("a"), names_);
  for (std::uint64_t i = 0; i < length; ++i) p[i] = pattern.at(i);
}

void Runner::counter(const Line& line) {
  ++assertions_;
  if (line.words.size() != 4) line.fail("expected: counter NAME VALUE");
  std::string known;
  for (std::size_t i = 0; i < transport::kCounterCount; ++i) {
    known += std::string(transport::kCounterInfo[i].name) + " ";
    if (transport::kCounterInfo[i].name != line.words[2]) continue;
    const std::uint64_t got = world().worker().counters()[static_cast<transport::Counter>(i)];
    if (got != evaluate(line, line.words[3], names_)) line.fail(line.words[2] + " is " + std::to_string(got));
    return;
  }
  line.bad_word(line.words[2], known);
}

void Runner::drop(const Line& line) {
  ++assertions_;
  if (line.words.size() != 4) line.fail("expected: drop REASON VALUE, or drop total VALUE");
  std::string known = "total ";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < wire::kDropCount; ++i)
    total += world().worker().ingress().drops(static_cast<wire::Drop>(i));
  if (line.words[2] == "total") {
    if (total != evaluate(line, line.words[3], names_))
      line.fail("in total " + std::to_string(total) + " were dropped");
    return;
  }
  for (std::size_t i = 0; i < wire::kDropCount; ++i) {
    known += std::string(wire::kDropInfo[i].name) + " ";
    if (wire::kDropInfo[i].name != line.words[2]) continue;
    const std::uint64_t got = world().worker().ingress().drops(static_cast<wire::Drop>(i));
    if (got != evaluate(line, line.words[3], names_)) line.fail(line.words[2] + " is " + std::to_string(got));
    return;
  }
  line.bad_word(line.words[2], known);
}

// modify state=S [notify] [attribute=N ...] [fails]: moves to INIT, RTR and RTS carry all attributes that they need.
void Runner::modify(const Line& line) {
  using B = QpAttrBit;
  const Args a = args(line, 2,
                      {"state", "notify", "access", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer",
                       "max_rd_atomic", "max_dest_rd_atomic", "sq_psn", "rq_psn", "fails"});
  if (!a.has("state")) line.fail("'state=' is missing");
  const QpState to = parse_state(line, *a.text("state"));
  transport::QpAttributes& q = world().attributes;
  QpAttrMask mask = B::state;
  const auto take = [&](const char* key, B bit, auto& field) {
    if (const auto v = a.number(key)) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(*v);
      mask |= bit;
    }
  };
  take("timeout", B::timeout, q.timeout), take("retry_cnt", B::retry_cnt, q.retry_cnt);
  take("rnr_retry", B::rnr_retry, q.rnr_retry), take("min_rnr_timer", B::min_rnr_timer, q.min_rnr_timer);
  take("max_rd_atomic", B::max_rd_atomic, q.max_rd_atomic), take("sq_psn", B::sq_psn, q.sq_psn);
  take("max_dest_rd_atomic", B::max_dest_rd_atomic, q.max_dest_rd_atomic), take("rq_psn", B::rq_psn, q.rq_psn);
  if (const auto t = a.text("access")) q.access = parse_access(line, *t), mask |= B::access_flags;
  if (a.has("notify")) q.sqd_notify = true, mask |= B::en_sqd_async_notify;
  q.state = to;
  World& w = world();
  const bool up = to == QpState::init || to == QpState::rtr || to == QpState::rts;
  const auto r = up && w.qp().state() < to ? w.bring_up(to) : w.modify(q, mask);
  if (r.has_value() == a.has("fails"))
    line.fail(r ? "the move was allowed" : "the move was refused: " + r.error().message);
}

void Runner::kill(const Line& line) {
  if (line.words.size() != 3) line.fail("expected: kill KEY");
  const auto key = static_cast<std::uint32_t>(evaluate(line, line.words[2], names_));
  if (const auto r = world().memory.kill(key); !r) line.fail(r.error().message);
}

void Runner::port(const Line& line) {
  const std::string what = line.words.size() == 3 ? line.words[2] : "";
  if (what != "open" && what != "closed") line.fail("expected: port open, or port closed");
  world().port.open = what == "open";
}

}  // namespace uroce::script
