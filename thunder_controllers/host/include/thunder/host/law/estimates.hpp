// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thunder/thunder_abi.h>

#include <string>
#include <vector>

namespace thunder {

/// Inertial parameters of one link.
inline constexpr int kInertialParameters = 10;

/// State entry of adaptive laws: inertial parameters of the adapted links, REG order, one link after the other.
inline constexpr const char* kEstimateEntry = "pi_hat";

/// Telemetry of what was picked up or put down at the last change, REG order, and of its kind.
inline constexpr const char* kPickedUpEntry = "picked_up";
inline constexpr const char* kChangeEntry = "change";

/// [kg] Below this an estimate has no centre of mass.
inline constexpr double kSmallestMass = 1e-6;

/// The place of a link among those of the library; as many as there are joints if it is none of them.
int find_link(const thunder_library& library, const std::string& name) noexcept;

/// The links whose parameters the law estimates, in the order of its state; none if it estimates none.
///
/// The state entry's description ends with their names, "… of link_a, link_b."; a law whose description does not gets
/// body_1, body_2, ….
std::vector<std::string> estimated_links(const thunder_library& library, const thunder_law& law);

/// The link that carries what is picked up, by the law's telemetry `picked_up` of ten parameters, whose description ends
/// with its name; empty if the law does not tell, or of several links.
std::string carrying_link(const thunder_library& library, const thunder_law& law);

/// Topics of the estimates of links, relative to their controller: `estimates/<link>`.
///
/// ROS names hold letters, digits, _ and /, and no part begins with a digit: anything else becomes _, and one stands before
/// such a digit. link-3.0 has estimates/link_3_0.
///
/// @throws HostError if two links would share one.
std::vector<std::string> estimate_topics(const std::vector<std::string>& links);

/// Convert parameters about the frame origin, [m, m·c, I], to [m, c, I about the centre of mass].
///
/// I_com = I − m (cᵀc 1 − c cᵀ), elements Ixx Ixy Ixz Iyy Iyz Izz; [kg, kg·m or m, kg·m²], link frame, 10 values each,
/// which may be the same. An estimate on its way may have a mass near zero, where there is no centre of mass: then
/// c = 0 and I stays about the origin.
void about_com(const double* pi, double* dyn) noexcept;

}  // namespace thunder
