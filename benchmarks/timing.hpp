// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "robot.hpp"

namespace bench {

/// Mean processor time of a call in each batch, [ns], warm caches; one vector per row.
///
/// Rows take turns batch by batch, so what disturbs the machine for a while disturbs all of them alike. A batch cycles
/// through all states as often as it takes to last `batch_ns`.
std::vector<std::vector<double>> time_warm(const std::vector<Row>& rows, int batches, double batch_ns);

/// Wall time of single calls, [ns], cold caches; one vector per row, the median of an empty measurement subtracted.
///
/// Before each call a buffer of `buffer_bytes` (more than the last-level cache) is written, and the other rows run
/// between two calls of one row, so its code has left the first-level cache too.
std::vector<std::vector<double>> time_cold(const std::vector<Row>& rows, int samples, std::size_t buffer_bytes);

}  // namespace bench
