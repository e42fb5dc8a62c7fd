// SPDX-License-Identifier: BSD-3-Clause
// Script commands about work requests and completions.
#include <algorithm>
#include <iterator>

#include "runner.h"

namespace uroce::script {
namespace {

struct Verb {
  std::string_view name;
  WrOpcode opcode;
  WcOpcode completes_as;
};
constexpr Verb kVerbs[] = {{"send", WrOpcode::send, WcOpcode::send},
                           {"send_imm", WrOpcode::send_with_imm, WcOpcode::send},
                           {"send_inv", WrOpcode::send_with_inv, WcOpcode::send},
                           {"write", WrOpcode::rdma_write, WcOpcode::rdma_write},
                           {"write_imm", WrOpcode::rdma_write_with_imm, WcOpcode::rdma_write},
                           {"read", WrOpcode::rdma_read, WcOpcode::rdma_read},
                           {"cmp_swap", WrOpcode::cmp_swap, WcOpcode::cmp_swap},
                           {"fetch_add", WrOpcode::fetch_add, WcOpcode::fetch_add}};

SendFlags parse_flags(const Line& line, std::string_view text) {
  SendFlags out{SendFlag::signaled};
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('|'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part == "fence") {
      out |= SendFlag::fence;
    } else if (part == "solicited") {
      out |= SendFlag::solicited;
    } else if (part == "inline") {
      out |= SendFlag::inline_data;
    } else if (part == "unsignaled") {
      out = out - SendFlags{SendFlag::signaled};
    } else {
      line.bad_word(part, "fence, solicited, inline and unsignaled, joined by |");
    }
  }
  return out;
}

std::string describe(const Completion& w) {
  return "wr=" + std::to_string(w.wr_id) + " " + to_string(w.status) +
         " opcode=" + std::to_string(static_cast<unsigned>(w.opcode)) + " len=" + std::to_string(w.byte_length) +
         " psn=" + std::to_string(w.psn) + " syndrome=" + std::to_string(w.syndrome) +
         " retries=" + std::to_string(w.retries_used) + " age=" + std::to_string(w.last_ack_age_us) + "us";
}

// SUCCESS, or A|B|C where the standard leaves a choice.
bool status_fits(const Line& line, std::string_view text, WcStatus got) {
  bool fits = false;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('|'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    bool known = false;
    for (unsigned i = 0; i <= static_cast<unsigned>(WcStatus::general_err); ++i) {
      const auto s = static_cast<WcStatus>(i);
      if (part != to_string(s)) continue;
      known = true;
      fits |= s == got;
    }
    if (!known) line.bad_word(part, "a completion status as SUCCESS or WR_FLUSH_ERR, or several joined by |");
  }
  return fits;
}

}  // namespace

// sge=AT:LENGTH[:KEY],... or len=N from `base` on.
std::vector<Sge> Runner::parse_sges(const Args& a, std::uint64_t base, std::string_view usual_key) {
  std::vector<Sge> out;
  const auto key = static_cast<std::uint32_t>(a.number_or("lkey", world().key(usual_key)));
  const auto add = [&](std::uint64_t at, std::uint64_t length, std::uint64_t lkey) {
    out.push_back({at, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(lkey)});
  };
  const auto list = a.text("sge");
  if (!list) {
    if (const auto length = a.number("len")) add(a.number_or("at", base), *length, key);
    return out;
  }
  if (a.has("len") || a.has("at")) a.line().fail("sge= goes without len= and at=");
  for (std::string_view rest = *list; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t first = part.find(':');
    if (first == std::string_view::npos) a.line().bad_word(part, "AT:LENGTH or AT:LENGTH:KEY");
    const std::size_t second = part.find(':', first + 1);
    const std::string_view length =
        part.substr(first + 1, second == std::string_view::npos ? second : second - first - 1);
    add(evaluate(a.line(), part.substr(0, first), a.names()), evaluate(a.line(), length, a.names()),
        second == std::string_view::npos ? key : evaluate(a.line(), part.substr(second + 1), a.names()));
  }
  return out;
}

void Runner::post(const Line& line) {
  if (line.words.size() < 3) line.fail("expected: post send ..., post recv ... or another verb");
  if (line.words[2] == "recv") return post_recv(line);
  post_send(line);
}

void Runner::post_send(const Line& line) {
  const auto* verb =
      std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const Verb& v) { return v.name == line.words[2]; });
  if (verb == std::end(kVerbs)) {
    line.bad_word(line.words[2], "recv, send, send_imm, send_inv, write, write_imm, read, cmp_swap, fetch_add");
  }
  const Args a = args(
      line, 3,
      {"wr", "len", "at", "sge", "lkey", "va", "rkey", "imm", "inv", "compare", "swap", "add", "flags", "refused"});
  const bool fetches =
      verb->opcode == WrOpcode::rdma_read || verb->opcode == WrOpcode::cmp_swap || verb->opcode == WrOpcode::fetch_add;
  SendWr wr;
  wr.wr_id = a.need("wr");
  wr.opcode = verb->opcode;
  wr.flags = parse_flags(line, a.text("flags").value_or(""));
  auto sges = parse_sges(a, fetches ? World::kSink : World::kLocal, fetches ? "sinkkey" : "localkey");
  if (wr.flags.has(SendFlag::inline_data)) {  // then addresses are the caller's own
    for (Sge& s : sges) s.address = reinterpret_cast<std::uint64_t>(place(line, s.address, s.length));
  }
  wr.sges = sges;
  wr.remote_address = a.number_or("va", 0x10000);
  wr.rkey = static_cast<std::uint32_t>(a.number_or("rkey", 0x77));
  const auto imm = a.number_or("imm", 0);
  for (unsigned i = 0; i < 4; ++i) wr.immediate[i] = static_cast<std::uint8_t>(imm >> (24 - 8 * i));
  wr.invalidate_rkey = static_cast<std::uint32_t>(a.number_or("inv", 0));
  wr.compare_add = a.has("add") ? a.need("add") : a.number_or("compare", 0);
  wr.swap = a.number_or("swap", 0);
  const auto error = world().post(wr);
  if ((error != transport::PostError::none) != a.has("refused")) {
    line.fail(error == transport::PostError::none
                  ? "the post was taken"
                  : "the post was refused, error " + std::to_string(static_cast<int>(error)));
  }
  if (a.has("refused")) ++assertions_;
}

void Runner::post_recv(const Line& line) {
  const Args a = args(line, 3, {"wr", "len", "at", "sge", "lkey", "refused"});
  RecvWr wr;
  wr.wr_id = a.need("wr");
  const auto sges = parse_sges(a, World::kSink, "sinkkey");
  wr.sges = sges;
  const auto error = world().post(wr);
  if ((error != transport::PostError::none) != a.has("refused"))
    line.fail("the post was taken, or refused, against what was expected");
}

// complete none | complete send|recv wr=N STATUS [fields]
void Runner::complete(const Line& line) {
  ++assertions_;
  const auto& w = line.words;
  if (w.size() == 3 && w[2] == "none") {
    if (const auto c = world().poll_send()) line.fail("there was a completion of the send queue: " + describe(*c));
    if (const auto c = world().poll_recv()) line.fail("there was a completion of the receive queue: " + describe(*c));
    return;
  }
  if (w.size() < 5 || (w[2] != "send" && w[2] != "recv"))
    line.fail("expected: complete none, or complete send|recv wr=N STATUS ...");
  const bool receive = w[2] == "recv";
  const auto c = receive ? world().poll_recv() : world().poll_send();
  if (!c) line.fail("there was no completion");
  check_completion(line, *c, receive);
}

void Runner::check_completion(const Line& line, const Completion& c, bool receive) {
  const Args a{line,
               std::span(line.words).subspan(5),
               {"len", "opcode", "psn", "syndrome", "retries", "age", "imm", "inv"},
               names_};
  const Args id{line, std::span(line.words).subspan(3, 1), {"wr"}, names_};
  const auto differ = [&](const std::string& what) {
    line.fail(what + " is not what was expected: there was " + describe(c));
  };
  if (!status_fits(line, line.words[4], c.status)) differ("the status");
  const auto same = [&](const char* key, std::uint64_t got) {
    const auto want = (std::string_view(key) == "wr" ? id : a).number(key);
    if (want && *want != got) differ(key);
  };
  if (c.qpn != World::kQpn) differ("the QPN");
  same("wr", c.wr_id), same("len", c.byte_length), same("psn", c.psn), same("syndrome", c.syndrome);
  same("retries", c.retries_used);
  // A timer may be a tick late.
  if (const auto age = a.number("age"); age && (c.last_ack_age_us < *age || c.last_ack_age_us > *age + 1))
    differ("age");
  if (const auto t = a.text("opcode")) {
    const auto* verb = std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const Verb& v) { return v.name == *t; });
    const bool known = verb != std::end(kVerbs) || *t == "recv" || *t == "recv_imm";
    if (!known) line.bad_word(*t, "opcode=recv, recv_imm, send, write, read, cmp_swap, fetch_add");
    const WcOpcode want = *t == "recv"       ? WcOpcode::recv
                          : *t == "recv_imm" ? WcOpcode::recv_rdma_with_imm
                                             : verb->completes_as;
    if (c.opcode != want) differ("the opcode");
  }
  if (c.status != WcStatus::success || !receive) return;
  // A receive says whether there was an immediate or a key, and so must the script.
  const auto imm = std::uint64_t{c.immediate[0]} << 24 | std::uint64_t{c.immediate[1]} << 16 |
                   std::uint64_t{c.immediate[2]} << 8 | c.immediate[3];
  if (a.has("imm") != c.flags.has(WcFlag::with_imm)) differ("having an immediate");
  if (a.has("inv") != c.flags.has(WcFlag::with_inv)) differ("having an invalidated key");
  if (a.has("imm")) same("imm", imm);
  if (a.has("inv")) same("inv", c.invalidated_rkey);
}

}  // namespace uroce::script
