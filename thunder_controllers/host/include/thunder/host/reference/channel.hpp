// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thunder/host/library/signals.hpp"
#include "thunder/host/motion/player.hpp"
#include "thunder/host/triple_buffer.hpp"

namespace thunder {

/// What the configuring thread asks of the reference: the newest request, and what was written until then.
struct ReferenceMessage {
  enum class Request { write, move, stop };

  Request request = Request::write;
  std::uint64_t number = 0;  ///< of the request
  std::vector<double> values;
  std::optional<double> due;  ///< [s] of the values
  std::uint64_t given = 0;    ///< bit i: entry i was written since the last hold or motion
  std::uint64_t holds = 0;    ///< how many holds were asked for
  Motion motion;              ///< what it points to is copied and reset by the configuring thread alone
};

/// What the updating thread shows of it.
struct ReferenceInEffect {
  std::vector<double> values;
  std::vector<double> q;
};

/// Between the two threads: ReferenceWriter and ReferenceFollower.
struct ReferenceChannel {
  ReferenceChannel(const thunder_law& law, int n_joints)
      : messages(first_message(law)),
        in_effect({default_values(law.reference), std::vector<double>(static_cast<std::size_t>(n_joints), 0.0)}) {}

  static ReferenceMessage first_message(const thunder_law& law) {
    ReferenceMessage message;
    message.values = default_values(law.reference);
    return message;
  }

  TripleBuffer<ReferenceMessage> messages;
  TripleBuffer<ReferenceInEffect> in_effect;
};

}  // namespace thunder
