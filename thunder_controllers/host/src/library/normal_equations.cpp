// SPDX-License-Identifier: Apache-2.0
#include "thunder/host/library/normal_equations.hpp"

#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "blocks.hpp"

namespace thunder {
namespace {

/// States whose values are side by side: enough that a tile's sums are read and written seldom, few enough for the cache.
constexpr std::size_t kChunk = 64;

/// Chunks after which the sums of a tile are added to those of before: many small numbers to a large one lose digits.
constexpr std::size_t kChunksPerSum = 256;

/// Columns of a panel: the sums of a tile of two panels, and what is multiplied, fill the registers of AVX-512.
constexpr std::size_t kPanel = 5;

/// Columns with values in the same rows, at most kPanel of them: values of row r begin with series `first` + r-th × cols.
struct Panel {
  std::vector<std::size_t> cols;
  std::vector<std::size_t> rows;
  std::size_t first;
};

/// One of two panels that have rows in common: pairs of the first series of each row.
struct Tile {
  const Panel* left;
  const Panel* right;
  std::vector<std::pair<std::size_t, std::size_t>> series;
  double* sums;
};

/// sums[p][q] += Σ left series p · right series q, over all rows and the states of a chunk, `Width` of them at once.
#define THUNDER_TILE(name, attributes, Width)                                                                        \
  template <std::size_t P, std::size_t Q>                                                                            \
  attributes void name(const Tile& tile, const double* left, const double* right) {                                  \
    typedef double Vector __attribute__((vector_size(8 * Width), aligned(8), may_alias));                            \
    Vector* const kept = reinterpret_cast<Vector*>(tile.sums);                                                       \
    Vector sums[P][Q];                                                                                               \
    for (std::size_t p = 0; p < P; ++p) {                                                                            \
      for (std::size_t q = 0; q < Q; ++q) sums[p][q] = kept[p * Q + q];                                              \
    }                                                                                                                \
    for (const auto& [first_left, first_right] : tile.series) {                                                      \
      const double* a = left + first_left * kChunk;                                                                  \
      const double* b = right + first_right * kChunk;                                                                \
      for (std::size_t i = 0; i < kChunk; i += Width) {                                                              \
        Vector y[Q];                                                                                                 \
        for (std::size_t q = 0; q < Q; ++q) y[q] = *reinterpret_cast<const Vector*>(b + q * kChunk + i);             \
        for (std::size_t p = 0; p < P; ++p) {                                                                        \
          const Vector x = *reinterpret_cast<const Vector*>(a + p * kChunk + i);                                     \
          for (std::size_t q = 0; q < Q; ++q) sums[p][q] += x * y[q];                                                \
        }                                                                                                            \
      }                                                                                                              \
    }                                                                                                                \
    for (std::size_t p = 0; p < P; ++p) {                                                                            \
      for (std::size_t q = 0; q < Q; ++q) kept[p * Q + q] = sums[p][q];                                              \
    }                                                                                                                \
  }

#if defined(__x86_64__)
THUNDER_TILE(add_by_eight, __attribute__((target("avx512f,fma"), optimize("O3"))), 8)
THUNDER_TILE(add_by_four, __attribute__((target("avx2,fma"), optimize("O3"))), 4)
#endif
THUNDER_TILE(add_by_two, , 2)

using Add = void (*)(const Tile&, const double*, const double*);
using Adds = std::array<Add, kPanel * kPanel>;

struct ByTwo {
  template <std::size_t P, std::size_t Q>
  static constexpr Add add = add_by_two<P, Q>;
};
#if defined(__x86_64__)
struct ByFour {
  template <std::size_t P, std::size_t Q>
  static constexpr Add add = add_by_four<P, Q>;
};
struct ByEight {
  template <std::size_t P, std::size_t Q>
  static constexpr Add add = add_by_eight<P, Q>;
};
#endif

template <class Kind, std::size_t... I>
constexpr Adds adds_of(std::index_sequence<I...>) {
  return {Kind::template add<I / kPanel + 1, I % kPanel + 1>...};
}

/// For tiles of every size, what this processor does fastest, and how many states it takes at once.
struct Kernel {
  Adds adds;
  std::size_t width;
};

Kernel kernel() {
  constexpr auto all = std::make_index_sequence<kPanel * kPanel>();
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {adds_of<ByEight>(all), 8};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {adds_of<ByFour>(all), 4};
#endif
  return {adds_of<ByTwo>(all), 2};
}

/// Which columns go together, and where each value of a state has its series.
class Structure {
 public:
  /// `places` with b as a further column if there is one.
  explicit Structure(const Places& places) : series(places.row.size()) {
    std::vector<std::map<std::size_t, std::size_t>> values(places.cols);
    for (std::size_t k = 0; k < places.row.size(); ++k) values[places.col[k]][places.row[k]] = k;
    std::map<std::vector<std::size_t>, std::vector<std::size_t>> alike;
    for (std::size_t col = 0; col < places.cols; ++col) {
      std::vector<std::size_t> rows;
      for (const auto& [row, _] : values[col]) rows.push_back(row);
      if (!rows.empty()) alike[rows].push_back(col);
    }
    std::size_t first = 0;
    for (const auto& of_rows : alike) {  // no structured binding: clang 14 gives lambdas none
      const auto& rows = of_rows.first;
      const auto& cols = of_rows.second;
      const std::size_t parts = (cols.size() + kPanel - 1) / kPanel;
      for (std::size_t part = 0; part < parts; ++part) {
        const auto at = [&](std::size_t k) { return cols.begin() + static_cast<std::ptrdiff_t>(cols.size() * k / parts); };
        panels.push_back({{at(part), at(part + 1)}, rows, first});
        for (const std::size_t row : rows) {
          for (const std::size_t col : panels.back().cols) series[values[col].at(row)] = first++;
        }
      }
    }
  }

  std::vector<std::size_t> series;
  std::vector<Panel> panels;
};

/// The sums of one thread.
class Sums {
 public:
  Sums(const Structure& structure, const Places& places, bool is_weighted)
      : structure_(structure), places_(places), kernel_(kernel()), total_(places.cols * places.cols),
        series_(aligned(places.row.size() * kChunk)), weighted_(aligned(is_weighted ? places.row.size() * kChunk : 0)),
        is_weighted_(is_weighted) {
    for (const Panel& left : structure.panels) {
      for (const Panel& right : structure.panels) {
        if (&right < &left) continue;
        Tile tile{&left, &right, {}, nullptr};
        for (std::size_t i = 0; i < left.rows.size(); ++i) {
          const auto found = std::find(right.rows.begin(), right.rows.end(), left.rows[i]);
          if (found == right.rows.end()) continue;
          const auto j = static_cast<std::size_t>(found - right.rows.begin());
          tile.series.emplace_back(left.first + i * left.cols.size(), right.first + j * right.cols.size());
        }
        if (!tile.series.empty()) tiles_.push_back(std::move(tile));
      }
    }
    std::size_t size = 0;
    for (const Tile& tile : tiles_) size += size_of(tile);
    sums_.resize(size);
    double* next = sums_.data();
    for (Tile& tile : tiles_) next = (tile.sums = next) + size_of(tile);
  }

  /// Take `count` states of a block, value k of state i at values[k * width + i], to `at` in the chunk; `first_value` is
  /// the number of the first value. `weights` likewise, of every row.
  void take(const double* values, std::size_t first_value, std::size_t size, std::size_t width, std::size_t at,
            std::size_t count, const double* weights) {
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t value = first_value + k;
      const std::size_t to = structure_.series[value] * kChunk + at;
      const double* from = values + k * width;
      if (count == 8) {
        std::memcpy(series_.get() + to, from, 8 * sizeof(double));  // no call of libc
      } else {
        std::copy_n(from, count, series_.get() + to);
      }
      if (!is_weighted_) continue;
      const double* weight = weights + places_.row[value] * width;
      for (std::size_t i = 0; i < count; ++i) weighted_[to + i] = weight[i] * from[i];
    }
  }

  /// Sum up the chunk, of which so many states were taken.
  void add(std::size_t taken) {
    for (std::size_t k = 0; k < places_.row.size(); ++k) {
      std::fill(series_.get() + k * kChunk + taken, series_.get() + (k + 1) * kChunk, 0.0);
      if (is_weighted_) std::fill(weighted_.get() + k * kChunk + taken, weighted_.get() + (k + 1) * kChunk, 0.0);
    }
    const double* const left = is_weighted_ ? weighted_.get() : series_.get();
    for (const Tile& tile : tiles_) {
      kernel_.adds[(tile.left->cols.size() - 1) * kPanel + tile.right->cols.size() - 1](tile, left, series_.get());
    }
    if (++chunks_ % kChunksPerSum == 0) finish();
  }

  /// The sums so far, column by column, of both triangles.
  const std::vector<double>& finish() {
    for (const Tile& tile : tiles_) {
      const double* sums = tile.sums;
      for (const std::size_t row : tile.left->cols) {
        for (const std::size_t col : tile.right->cols) {
          double sum = 0.0;
          for (std::size_t i = 0; i < kernel_.width; ++i) sum += *sums++;
          if (tile.left == tile.right && row > col) continue;  // there already, but for rounding
          total_[row + places_.cols * col] += sum;
          if (row != col) total_[col + places_.cols * row] += sum;
        }
      }
    }
    std::fill(sums_.begin(), sums_.end(), 0.0);
    return total_;
  }

 private:
  std::size_t size_of(const Tile& tile) const { return tile.left->cols.size() * tile.right->cols.size() * kernel_.width; }

  const Structure& structure_;
  const Places& places_;
  const Kernel kernel_;
  std::vector<Tile> tiles_;
  std::vector<double> sums_;
  std::vector<double> total_;
  Aligned series_;
  Aligned weighted_;
  const bool is_weighted_;
  std::size_t chunks_ = 0;
};

/// With b as a further column.
Places with_column(Places places) {
  for (std::size_t row = 0; row < places.rows; ++row) {
    places.row.push_back(row);
    places.col.push_back(places.cols);
  }
  ++places.cols;
  return places;
}

/// Rows of an argument in blocks, as of `Blocks`.
class Column {
 public:
  Column(const Rows* rows, std::size_t size, std::size_t width)
      : rows_(rows), size_(size), width_(width), values_(aligned(rows ? size * width : 0)) {}

  /// Those of `count` states from `first` on; null without rows.
  const double* read(std::size_t first, std::size_t count) {
    if (rows_ == nullptr) return nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      const double* row = rows_->data + (first + i) * rows_->stride;
      for (std::size_t k = 0; k < size_; ++k) values_[k * width_ + i] = row[k];
    }
    return values_.get();
  }

 private:
  const Rows* const rows_;
  const std::size_t size_;
  const std::size_t width_;
  Aligned values_;
};

}  // namespace

bool sum_normal_equations(const thunder_function& packed, int lanes, const std::vector<Rows>& in, const Places& places,
                          const Rows* weights, const Rows* b, std::size_t count, std::size_t threads,
                          NormalEquations& sums) {
  const Places all = b == nullptr ? places : with_column(places);
  const Structure structure(all);
  if (packed.eval_lanes == nullptr) lanes = 0;
  threads = worth(threads, count);
  std::vector<std::vector<double>> parts(threads);
  const bool succeeded = in_threads(count, kChunk, threads, [&](std::size_t part, std::size_t first, std::size_t last) {
    Blocks<double> blocks(packed, lanes, in);
    Sums own(structure, all, weights != nullptr);
    const std::size_t width = blocks.width();
    const std::size_t values = places.row.size();
    Column weight(weights, places.rows, width);
    Column target(b, places.rows, width);
    std::size_t taken = 0;
    for (; first < last; first += width) {
      const std::size_t wanted = std::min(width, last - first);
      if (!blocks.evaluate(first, wanted)) return false;
      const double* const w = weight.read(first, wanted);
      own.take(blocks.result(0), 0, values, width, taken, wanted, w);
      if (b != nullptr) own.take(target.read(first, wanted), values, places.rows, width, taken, wanted, w);
      taken += wanted;
      if (taken + width <= kChunk && first + width < last) continue;
      own.add(taken);
      taken = 0;
    }
    parts[part] = own.finish();
    return true;
  });
  if (!succeeded) return false;
  std::vector<double> total(all.cols * all.cols);
  for (const auto& part : parts) {
    for (std::size_t k = 0; k < total.size(); ++k) total[k] += part[k];
  }
  sums.matrix.resize(places.cols * places.cols);
  for (std::size_t col = 0; col < places.cols; ++col) {
    std::copy_n(total.begin() + static_cast<std::ptrdiff_t>(col * all.cols), places.cols,
                sums.matrix.begin() + static_cast<std::ptrdiff_t>(col * places.cols));
  }
  sums.vector.assign(total.begin() + static_cast<std::ptrdiff_t>(all.cols * places.cols),
                     total.begin() + static_cast<std::ptrdiff_t>(all.cols * places.cols + (b ? places.cols : 0)));
  return true;
}

}  // namespace thunder
