// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/batch.hpp"

#include <utility>

#include "blocks.hpp"

namespace thunder {
namespace {

/// [bytes] Results that are larger leave the caches before anybody reads them.
constexpr std::size_t kCached = std::size_t{1} << 23;

/// One state after the other, where they are.
bool evaluate_singly(const thunder_function& function, const std::vector<Rows>& in, const std::vector<double*>& out,
                     std::size_t first, std::size_t last) {
  const Aligned w = aligned(static_cast<std::size_t>(function.size_w));
  std::vector<long long> iw(static_cast<std::size_t>(function.size_iw));
  std::vector<const double*> arg(in.size());
  std::vector<double*> res(out.size());
  for (std::size_t i = first; i < last; ++i) {
    for (std::size_t k = 0; k < in.size(); ++k) arg[k] = in[k].data + i * in[k].stride;
    for (std::size_t k = 0; k < out.size(); ++k) res[k] = out[k] + i * size_of(function.out[k]);
    if (function.eval(arg.data(), res.data(), iw.data(), w.get(), 0) != 0) return false;
  }
  return true;
}

/// Copies results of blocks to where they belong.
template <class Real>
class Writer {
 public:
  Writer(const thunder_function& function, const std::vector<Real*>& out, std::size_t count, BatchLayout layout)
      : function_(function), out_(out), layout_(layout) {
    std::size_t size = 0;
    for (std::size_t k = 0; k < out.size(); ++k) size += size_of(function.out[k]);
    is_large_ = count * size * sizeof(Real) > kCached;
  }

  /// The results of a block that begins with state `first`, of which `count` are wanted.
  void write(const Blocks<Real>& blocks, std::size_t first, std::size_t count, AlignedOf<Real>& rows) const {
    for (std::size_t k = 0; k < out_.size(); ++k) {
      const std::size_t size = size_of(function_.out[k]);
      const Real* from = blocks.result(k);
      Real* const to = out_[k] + first * size;
      if (layout_ == BatchLayout::rows) {
        // Rows of a block follow one another: those of large results are put together in the cache first.
        Real* const transposed = is_large_ ? rows.get() : to;
        transpose(from, size, count, blocks.width(), transposed, size);
        if (is_large_) copy_past_cache(transposed, count * size, to);
      } else if (is_large_) {
        copy_past_cache(from, blocks.width() * size, to);
      } else {
        std::copy_n(from, blocks.width() * size, to);
      }
    }
  }

 private:
  const thunder_function& function_;
  const std::vector<Real*>& out_;
  const BatchLayout layout_;
  bool is_large_;
};

template <class Real>
bool evaluate_in_blocks(const thunder_function& function, int lanes, const std::vector<RowsOf<Real>>& in,
                        const std::vector<Real*>& out, std::size_t count, std::size_t threads, BatchLayout layout) {
  const Writer<Real> writer(function, out, count, layout);
  const auto width = static_cast<std::size_t>(lanes);
  return in_threads(count, width, threads, [&](std::size_t, std::size_t first, std::size_t last) {
    Blocks<Real> blocks(function, lanes, in);
    std::size_t largest = 0;
    for (std::size_t k = 0; k < out.size(); ++k) largest = std::max(largest, size_of(function.out[k]));
    AlignedOf<Real> rows = aligned<Real>(width * largest);
    for (; first < last; first += width) {
      const std::size_t wanted = std::min(width, last - first);
      if (!blocks.evaluate(first, wanted)) return false;
      writer.write(blocks, first, wanted, rows);
    }
    finish_copies();
    return true;
  });
}

}  // namespace

bool evaluate_batch(const thunder_function& function, int lanes, const std::vector<Rows>& in,
                    const std::vector<double*>& out, std::size_t count, std::size_t threads, BatchLayout layout) {
  threads = worth(threads, count);
  if (function.eval_lanes == nullptr) lanes = 0;
  if (lanes == 0) {
    return in_threads(count, 1, threads, [&](std::size_t, std::size_t first, std::size_t last) {
      return evaluate_singly(function, in, out, first, last);
    });
  }
  return evaluate_in_blocks(function, lanes, in, out, count, threads, layout);
}

bool evaluate_batch(const thunder_function& function, int lanes, const std::vector<RowsOf<float>>& in,
                    const std::vector<float*>& out, std::size_t count, std::size_t threads, BatchLayout layout) {
  return evaluate_in_blocks(function, lanes, in, out, count, worth(threads, count), layout);
}

StepFunction::StepFunction(const thunder_law& law, int n_joints) {
  in_ = {zeros("q", n_joints), zeros("qd", n_joints), zeros("applied_effort", n_joints),
         flat("measurements", law.measurements), flat("reference", law.reference), flat("state", law.state),
         flat("gains", law.gains), zeros("dt", 1)};
  out_ = {zeros("effort", n_joints), flat("state", law.state), flat("telemetry", law.telemetry)};
  function_ = {law.name, law.description, static_cast<int>(in_.size()), static_cast<int>(out_.size()), in_.data(),
               out_.data(), law.step, law.size_iw, law.size_w, law.step_lanes,
               law.step_single_lanes};
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
