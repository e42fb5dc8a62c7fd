// SPDX-License-Identifier: BSD-3-Clause
// What any software RoCE must do for a frame, and nothing else: build the headers, copy the payload with its ICRC, pass
// the frame through a port, parse it, check the ICRC, strip the headers. No connection, no acknowledgement, no memory
// keys, no placing, no completion. The distance of a whole stack from it is the price of the transport.
//
// It uses the stack's own kernels and builders. Stateless, it makes each frame's headers and their CRC from the addresses;
// a second figure is for the same loop when it remembers, as a connection does, what is the same in every frame.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include <uroce/result.h>

#include "engine/port.h"
#include "wire/build.h"

namespace uroce::bench {

class StatelessLoop {
 public:
  static constexpr unsigned kBurst = 32;

  enum class Headers { made_each_time, remembered };

  // Frames built into `out` come back from `in`; both outlive this.
  StatelessLoop(engine::Port& out, engine::Port& in, const wire::Path& path);

  // `frames` SEND-only frames of `size` payload bytes, taken in turn from `slots` of `stride` bytes at `source`. Returns ns
  // a frame. False in `ok` when a frame was lost or damaged.
  double run(Headers headers, std::uint64_t frames, std::uint32_t size, const std::uint8_t* source, std::uint32_t slots,
             std::uint32_t stride, bool& ok);

 private:
  engine::Port& out_;
  engine::Port& in_;
  wire::Path path_;
  wire::FrameTemplate template_;
};

}  // namespace uroce::bench
