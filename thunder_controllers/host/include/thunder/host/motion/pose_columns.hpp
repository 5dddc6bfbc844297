// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "thunder/host/motion/sample.hpp"

namespace thunder {

/// A pose as seven numbers, each with two derivatives: position [m], then a quaternion x y z w of any norm.
using PoseColumns = std::array<ScalarSample, 7>;

/// ṗ, p̈ as they are, q̇ = ½ ω q and q̈ = ½ (ω̇ q + ω q̇).
PoseColumns to_columns(const PoseSample& sample) noexcept;

/// The pose of the normalised quaternion. With N = ‖q‖²: ω = 2 vec(q̇ q̄)/N and ω̇ = 2 vec(q̈ q̄)/N − ω Ṅ/N exactly, so ω̇
/// is as continuous as q̈. False, and nothing written, where N is so small that q says little.
bool from_columns(const PoseColumns& columns, PoseSample& sample) noexcept;

}  // namespace thunder
