// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace thunder {

/// Hands the newest value from one writer thread to one reader thread; neither ever waits, retries or allocates.
///
/// Of three slots the writer owns one, the reader owns one, and the third is exchanged atomically: publishing swaps
/// the writer's slot with it and marks it new, fetching swaps the reader's slot with it if it is new. A value that is
/// overwritten before it is fetched is lost, which is what a reference or a gain wants.
template <class Value>
class TripleBuffer {
 public:
  explicit TripleBuffer(const Value& initial) : slots_{initial, initial, initial} {}

  /// Writer: the slot to fill. It holds an old value.
  Value& slot() noexcept { return slots_[writing_]; }
  /// Writer: make the slot's value the newest.
  void publish() noexcept {
    const std::uint8_t given = static_cast<std::uint8_t>(writing_ | kNew);
    writing_ = shared_.exchange(given, std::memory_order_acq_rel) & kIndex;
  }

  /// Reader: take the newest value, if there is one that was not taken yet.
  bool fetch() noexcept {
    // Only the reader clears the mark, so a set mark is still set when the exchange follows.
    if ((shared_.load(std::memory_order_relaxed) & kNew) == 0) return false;
    reading_ = shared_.exchange(reading_, std::memory_order_acq_rel) & kIndex;
    return true;
  }
  /// Reader: the value taken last.
  const Value& value() const noexcept { return slots_[reading_]; }

 private:
  static constexpr std::uint8_t kIndex = 3;
  static constexpr std::uint8_t kNew = 4;

  std::array<Value, 3> slots_;
  std::uint8_t writing_ = 0;
  std::uint8_t reading_ = 1;
  std::atomic<std::uint8_t> shared_{2};
};

}  // namespace thunder
