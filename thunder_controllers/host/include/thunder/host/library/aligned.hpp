// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace thunder {

struct Release {
  /// [bytes] Of the most lanes that a library may have.
  static constexpr std::align_val_t kAlignment{512};
  void operator()(void* values) const { ::operator delete[](values, kAlignment); }
};
template <class Real>
using AlignedOf = std::unique_ptr<Real[], Release>;
using Aligned = AlignedOf<double>;

/// Memory for `size` values of all lanes, not set to anything.
template <class Real = double>
AlignedOf<Real> aligned(std::size_t size) {
  const std::size_t bytes = sizeof(Real) * std::max<std::size_t>(size, 1);
  return AlignedOf<Real>(static_cast<Real*>(::operator new[](bytes, Release::kAlignment)));
}

}  // namespace thunder
