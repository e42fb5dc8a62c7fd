// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

#include "base/text.h"
#include "wire/print.h"

namespace uroce::tools {

// What `print(writer)` writes, as a string. The longest packet line is about 300 characters.
template <class Print>
std::string text_of(Print print) {
  char room[512];
  base::TextWriter text(room);
  print(text);
  return std::string(text.view());
}

inline std::string address_text(const wire::IpAddress& a) {
  return text_of([&](base::TextWriter& out) { wire::print_address(out, a); });
}

inline std::string packet_text(const wire::RocePacket& p) {
  return text_of([&](base::TextWriter& out) { wire::print_packet(out, p); });
}

}  // namespace uroce::tools
