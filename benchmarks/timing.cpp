// SPDX-License-Identifier: Apache-2.0
#include "timing.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Results must be taken to be read, and arguments to have changed, whatever the compiler knows of the call.
void forget() { asm volatile("" ::: "memory"); }

double since(Clock::time_point begin) { return std::chrono::duration<double, std::nano>(Clock::now() - begin).count(); }

/// Processor time of this thread, [ns]: time that other processes take from it does not count.
double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

/// Mean processor time of a call over `rounds` cycles through the states.
double time_batch(const Row& row, int rounds) {
  const double begin = processor_time();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < kStates; ++k) {
      row.call(k);
      forget();
    }
  }
  return (processor_time() - begin) / (static_cast<double>(rounds) * kStates);
}

void touch(std::vector<std::uint64_t>& buffer) {
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < buffer.size(); i += kLine) ++buffer[i];
  forget();
}

double time_once(const Row& row, std::size_t state) {
  const auto begin = Clock::now();
  row.call(state);
  forget();
  return since(begin);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<std::vector<double>> time_warm(const std::vector<Row>& rows, int batches, double batch_ns) {
  std::vector<int> rounds;
  for (const Row& row : rows) {
    time_batch(row, 1);
    rounds.push_back(std::max(1, static_cast<int>(std::ceil(batch_ns / (kStates * time_batch(row, 1))))));
  }
  std::vector<std::vector<double>> times(rows.size());
  for (int batch = 0; batch < batches; ++batch) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      time_batch(rows[i], 1);  // the row before has its code and data in the caches
      times[i].push_back(time_batch(rows[i], rounds[i]));
    }
  }
  return times;
}

std::vector<std::vector<double>> time_cold(const std::vector<Row>& rows, int samples, std::size_t buffer_bytes) {
  std::vector<std::uint64_t> buffer(buffer_bytes / sizeof(std::uint64_t));
  const Row empty{"", [](std::size_t) {}};
  std::vector<double> overhead;
  std::vector<std::vector<double>> times(rows.size());
  for (int sample = 0; sample < samples; ++sample) {
    const std::size_t state = (37 * static_cast<std::size_t>(sample)) % kStates;
    touch(buffer);
    overhead.push_back(time_once(empty, state));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      touch(buffer);
      times[i].push_back(time_once(rows[i], state));
    }
  }
  const double own = median(overhead);
  for (auto& row : times) {
    for (double& value : row) value -= own;
  }
  return times;
}

}  // namespace bench
