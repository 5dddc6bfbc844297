// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thunder/host/options.hpp"

namespace thunder {

/// T_total [s]: the delay with which an effort answers the velocity that it was computed from, to first order.
///
///     T_total = dead time + lag of the drives + 1/(2πf) + Δ/2 + Δ/2
///
/// f is the cut-off of the velocity's low-pass. The first half period Δ/2 is the age of a difference of positions, the
/// second one the mean age of an effort that is held for a period. A velocity by the model (see VelocityObserver) is not late
/// where the model is right. It counts as if it were: inertias that are off by 30 % cost what that gains. The one place where
/// delays are added up: whatever bounds a feedback on velocities (gains, margins, soft stops, brake) takes it from here
/// (theory, section 10).
double total_delay(const Options& options);

/// The part of it by which a measured velocity is late [s]: 1/(2πf) + Δ/2.
double velocity_delay(const Options& options);

}  // namespace thunder
