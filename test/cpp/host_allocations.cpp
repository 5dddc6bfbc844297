// SPDX-License-Identifier: Apache-2.0
//
// No update allocates or frees, whatever path it takes. Usage: host_allocations <libpendulum2.so>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "check.hpp"
#include "thunder/host/controller.hpp"

// Interposed for the whole process, shared libraries included; operator new and delete end here as well.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);

static std::atomic<long> g_calls{0};

void* malloc(std::size_t size) {
  ++g_calls;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++g_calls;
  return __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) {
  ++g_calls;
  return __libc_realloc(pointer, size);
}
void free(void* pointer) {
  ++g_calls;
  __libc_free(pointer);
}
}

namespace {

constexpr int kUpdates = 10000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The update path of one situation; `spoil` makes every third measurement bad in one of several ways.
long calls_during_updates(thunder::Controller& controller, bool spoil, thunder::GuardBits& seen) {
  const double velocity[2] = {0.1, -0.2};
  double effort[2] = {0.0, 0.0};
  const long before = g_calls;
  for (int k = 0; k < kUpdates; ++k) {
    const bool bad = spoil && k % 3 == 0;
    const double position[2] = {0.1 + 0.05 * std::sin(1e-3 * k), bad && k % 2 == 0 ? kNan : 0.2};
    const double dt = bad && k % 5 == 0 ? -1.0 : 1e-3;
    const double t = bad && k % 7 == 0 ? 0.0 : 1e-3 * (k + 1);
    seen |= controller.update(t, position, velocity, dt, effort);
    CHECK(std::isfinite(effort[0]) && std::isfinite(effort[1]));
  }
  return g_calls - before;
}

void configure(thunder::Controller& controller, const std::shared_ptr<const thunder::Library>& library,
               const char* law, bool compensated) {
  thunder::Options options;
  options.gravity_compensated_by_robot = compensated;
  options.reference_timeout = 0.5;
  controller.configure(library, law, {}, {}, options);
}

void run(const std::shared_ptr<const thunder::Library>& library, const char* law, bool compensated, bool spoil) {
  const double start[2] = {0.1, 0.2};
  thunder::GuardBits seen = 0;
  thunder::Controller controller;
  configure(controller, library, law, compensated);
  controller.activate(start);
  const std::vector<double> reference = controller.reference();
  controller.set_reference(reference.data(), static_cast<int>(reference.size()));
  CHECK(calls_during_updates(controller, spoil, seen) == 0);
  CHECK((seen & thunder::kReferenceStale) != 0);
  CHECK(((seen & thunder::kMeasurementNonFinite) != 0) == spoil);
  controller.reset_state();
  controller.begin_stop();
  CHECK(calls_during_updates(controller, spoil, seen) == 0);
  CHECK((seen & thunder::kStopping) != 0);
}

void check_that_the_counter_counts() {
  const long before = g_calls;
  auto number = std::make_unique<std::vector<double>>(1000, 1.0);
  volatile double kept = number->back();
  CHECK(kept == 1.0);
  number.reset();
  CHECK(g_calls - before >= 4);
}

}  // namespace

int main(int, char** arguments) {
  check_that_the_counter_counts();
  const auto library = thunder::Library::load(arguments[1]);
  for (const char* law : {"joint_adaptive", "cartesian_spring"}) {
    for (const bool compensated : {false, true}) {
      for (const bool spoil : {false, true}) run(library, law, compensated, spoil);
    }
  }
  return 0;
}
