// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "thunder/host/motion/circles.hpp"
#include "thunder/host/motion/motion.hpp"
#include "thunder/host/motion/sample.hpp"
#include "thunder/host/motion/spline.hpp"

namespace thunder {

/// A point at time zero may be this far from the sample in effect [m, rad, quaternion elements].
inline constexpr double kStartTolerance = 0.01;

/// The unit quaternion x, y, z, w. Throws HostError(law) unless it is finite and of norm 1 to 1e-3.
Quaternion checked_orientation(const double* orientation, const char* where);

/// Check timed points and prepare the spline through them; `start` is the flat sample in effect, null if unknown.
///
/// Columns are [p; quaternion], every quaternion being the nearer one to the one before, or q, joints on a circle at the
/// turn nearest to the point before, the first one to the start. Throws as
/// ReferenceWriter::plan does. The points' values are not compared with bounds here.
std::shared_ptr<const SplineKnots> prepare_knots(const std::vector<TimedPose>& points, const SampleLayout& layout,
                                                 const double* start);
std::shared_ptr<const SplineKnots> prepare_knots(const std::vector<TimedJoints>& points, const SampleLayout& layout,
                                                 const Circles& circles, const double* start);

}  // namespace thunder
