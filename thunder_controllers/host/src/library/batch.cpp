// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/batch.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "thunder/host/library/aligned.hpp"
#include "thunder/host/library/signals.hpp"

namespace thunder {
namespace {

constexpr std::size_t kStatesPerThread = 512;

/// [bytes] Results that are larger leave the caches before anybody reads them.
constexpr std::size_t kCached = std::size_t{1} << 23;

/// Write without reading the line of the cache first, where the processor can: half of the traffic.
void store_past_cache(double* to, double value) {
#if defined(__x86_64__)
  long long bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  _mm_stream_si64(reinterpret_cast<long long*>(to), bits);
#else
  *to = value;
#endif
}

/// to[c * height + r] = from[r * width + c], two by two in whole registers: a fourth of the time of one after the other.
void transpose(const double* from, std::size_t rows, std::size_t cols, std::size_t width, double* to,
               std::size_t height) {
  typedef double Pair __attribute__((vector_size(16)));
  const std::size_t even_rows = rows - rows % 2;
  const std::size_t even_cols = cols - cols % 2;
  for (std::size_t r = 0; r < even_rows; r += 2) {
    for (std::size_t c = 0; c < even_cols; c += 2) {
      Pair above;
      Pair below;
      std::memcpy(&above, from + r * width + c, sizeof above);
      std::memcpy(&below, from + (r + 1) * width + c, sizeof below);
      const Pair left = {above[0], below[0]};
      const Pair right = {above[1], below[1]};
      std::memcpy(to + c * height + r, &left, sizeof left);
      std::memcpy(to + (c + 1) * height + r, &right, sizeof right);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = r < even_rows ? even_cols : 0; c < cols; ++c) to[c * height + r] = from[r * width + c];
  }
}

std::size_t size_of(const thunder_entry& entry) { return static_cast<std::size_t>(entry_size(entry)); }

/// A part of the states, and what evaluating there needs: scratch of its own.
class Range {
 public:
  Range(const thunder_function& function, const std::vector<Rows>& in, const std::vector<double*>& out, bool is_large)
      : function_(function), in_(in), out_(out), is_large_(is_large), arg_(in.size()), res_(out.size()),
        iw_(static_cast<std::size_t>(function.size_iw)) {}

  /// One state after the other, from `first` to before `last`.
  bool singly(std::size_t first, std::size_t last) {
    const Aligned w = aligned(static_cast<std::size_t>(function_.size_w));
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t k = 0; k < in_.size(); ++k) arg_[k] = in_[k].data + i * in_[k].stride;
      for (std::size_t k = 0; k < out_.size(); ++k) res_[k] = out_[k] + i * size_of(function_.out[k]);
      if (function_.eval(arg_.data(), res_.data(), iw_.data(), w.get(), 0) != 0) return false;
    }
    return true;
  }

  /// As many at once as there are lanes; the rest, which does not fill them, singly.
  bool in_lanes(std::size_t lanes, std::size_t first, std::size_t last) {
    const Aligned w = aligned(lanes * static_cast<std::size_t>(function_.size_w));
    std::vector<Aligned> taken;
    std::vector<Aligned> given;
    for (std::size_t k = 0; k < in_.size(); ++k) {
      arg_[k] = taken.emplace_back(aligned(lanes * size_of(function_.in[k]))).get();
      if (in_[k].stride == 0) spread(k, lanes, first, taken[k].get());
    }
    for (std::size_t k = 0; k < out_.size(); ++k) {
      res_[k] = given.emplace_back(aligned(lanes * size_of(function_.out[k]))).get();
    }
    for (; last - first >= lanes; first += lanes) {
      for (std::size_t k = 0; k < in_.size(); ++k) {
        if (in_[k].stride != 0) spread(k, lanes, first, taken[k].get());
      }
      if (function_.eval_lanes(arg_.data(), res_.data(), iw_.data(), w.get(), 0) != 0) return false;
      for (std::size_t k = 0; k < out_.size(); ++k) gather(k, lanes, first, given[k].get());
    }
#if defined(__x86_64__)
    _mm_sfence();
#endif
    return singly(first, last);
  }

 private:
  void spread(std::size_t k, std::size_t lanes, std::size_t first, double* to) const {
    const auto& [data, stride] = in_[k];
    transpose(data + first * stride, lanes, size_of(function_.in[k]), stride, to, lanes);
  }

  void gather(std::size_t k, std::size_t lanes, std::size_t first, const double* from) const {
    const std::size_t size = size_of(function_.out[k]);
    double* to = out_[k] + first * size;
    if (!is_large_) return transpose(from, size, lanes, lanes, to, size);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::size_t i = 0; i < size; ++i) store_past_cache(to++, from[i * lanes + lane]);
    }
  }

  const thunder_function& function_;
  const std::vector<Rows>& in_;
  const std::vector<double*>& out_;
  const bool is_large_;
  std::vector<const double*> arg_;
  std::vector<double*> res_;
  std::vector<long long> iw_;
};

}  // namespace

bool evaluate_batch(const thunder_function& function, int lanes, const std::vector<Rows>& in,
                    const std::vector<double*>& out, std::size_t count, std::size_t threads) {
  threads = std::max<std::size_t>(1, std::min(threads, count / kStatesPerThread));
  std::size_t size = 0;
  for (std::size_t k = 0; k < out.size(); ++k) size += size_of(function.out[k]);
  const bool is_large = count * size * sizeof(double) > kCached;
  std::atomic<bool> succeeded = true;
  const auto work = [&](std::size_t k) {
    const std::size_t first = count * k / threads;
    const std::size_t last = count * (k + 1) / threads;
    Range range(function, in, out, is_large);
    const bool in_lanes = lanes > 0 && function.eval_lanes != nullptr;
    if (!(in_lanes ? range.in_lanes(static_cast<std::size_t>(lanes), first, last) : range.singly(first, last))) {
      succeeded = false;
    }
  };
  std::vector<std::thread> others;
  for (std::size_t k = 1; k < threads; ++k) others.emplace_back(work, k);
  work(0);
  for (auto& other : others) other.join();
  return succeeded;
}

StepFunction::StepFunction(const thunder_law& law, int n_joints) {
  in_ = {zeros("q", n_joints), zeros("qd", n_joints), zeros("applied_effort", n_joints),
         flat("measurements", law.measurements), flat("reference", law.reference), flat("state", law.state),
         flat("gains", law.gains), zeros("dt", 1)};
  out_ = {zeros("effort", n_joints), flat("state", law.state), flat("telemetry", law.telemetry)};
  function_ = {law.name, law.description, static_cast<int>(in_.size()), static_cast<int>(out_.size()), in_.data(),
               out_.data(), law.step, law.size_iw, law.size_w, law.step_lanes};
}

thunder_entry StepFunction::flat(const char* name, const thunder_signal& signal) {
  std::vector<double> defaults;
  for (const thunder_entry& one : Entries{signal}) defaults.insert(defaults.end(), one.defaults, one.defaults + entry_size(one));
  return entry(name, std::move(defaults));
}

thunder_entry StepFunction::zeros(const char* name, int size) {
  return entry(name, std::vector<double>(static_cast<std::size_t>(size)));
}

thunder_entry StepFunction::entry(const char* name, std::vector<double> defaults) {
  const int size = static_cast<int>(defaults.size());
  const double* values = values_.emplace_back(std::move(defaults)).data();
  return {name, "SI", name, size, 1, 0, 0, values, values, values};
}

}  // namespace thunder
