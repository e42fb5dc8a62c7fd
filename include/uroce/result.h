// SPDX-License-Identifier: BSD-3-Clause
// Set-up and control calls answer with a Result: the value, or an Error whose message names the object, the value it
// was given and what is allowed. Nothing on the packet path allocates or builds one.
#pragma once
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace uroce {

enum class ErrorCode {
  invalid_argument,  // a value outside what the call allows
  wrong_state,       // the object is in a state that does not allow the call
  not_found,         // no such object, file, device or address
  no_room,           // a queue, table or quota is full
  busy,              // something still uses the object
  unsupported,       // legal, but not offered here
  system,            // the operating system or DPDK refused; the message carries its words
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

// return fail(ErrorCode::no_room, "cq: capacity 0 is not in 1..65536");
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace uroce
