// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace thunder {

/// [bytes] Of the most lanes that a library may have.
constexpr std::align_val_t kAlignment{512};

struct Release {
  void operator()(double* values) const { ::operator delete[](values, kAlignment); }
};
using Aligned = std::unique_ptr<double[], Release>;

/// Memory for `size` values of all lanes, not set to anything.
inline Aligned aligned(std::size_t size) {
  return Aligned(static_cast<double*>(::operator new[](sizeof(double) * (size > 0 ? size : 1), kAlignment)));
}

}  // namespace thunder
