// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "thunder/host/library/batch.hpp"
#include "thunder/thunder_abi.h"

namespace thunder {

/// Rows and columns of the values that a packed function gives; all other elements of the matrix Y are zero.
struct Places {
  std::size_t rows;
  std::size_t cols;
  std::vector<std::size_t> row;
  std::vector<std::size_t> col;
};

/// The sums over all states that least squares need.
struct NormalEquations {
  std::vector<double> matrix;  ///< Σ Yᵀ W Y, cols × cols.
  std::vector<double> vector;  ///< Σ Yᵀ W b, cols; empty without b.
};

/// Sum up over `count` states, in threads; Y is stored at none. Of each pair of columns the rows are multiplied that both
/// have: for a chain of joints a fifth of the products of a dense Y.
///
/// `packed` is the function that gives the values of Y at `places`, `in` its arguments and `lanes` the library's. `weights`
/// is the diagonal of W, rows values, and `b` has as many; null for W = 1 and no b. Throws std::bad_alloc; false if the
/// function failed.
bool sum_normal_equations(const thunder_function& packed, int lanes, const std::vector<Rows>& in, const Places& places,
                          const Rows* weights, const Rows* b, std::size_t count, std::size_t threads,
                          NormalEquations& sums);

}  // namespace thunder
