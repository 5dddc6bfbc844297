// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace thunder {
namespace {

void transpose_singly(const double* from, std::size_t rows, std::size_t cols, std::size_t width, double* to,
                      std::size_t height) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) to[c * height + r] = from[r * width + c];
  }
}

#if defined(__x86_64__)
/// Four by four in whole registers; the last four of a direction may be some of those before again.
__attribute__((target("avx"))) void transpose_by_four(const double* from, std::size_t rows, std::size_t cols,
                                                      std::size_t width, double* to, std::size_t height) {
  for (std::size_t i = 0; i < rows; i += 4) {
    const std::size_t r = std::min(i, rows - 4);
    for (std::size_t j = 0; j < cols; j += 4) {
      const std::size_t c = std::min(j, cols - 4);
      const double* source = from + r * width + c;
      const __m256d a = _mm256_loadu_pd(source);
      const __m256d b = _mm256_loadu_pd(source + width);
      const __m256d d = _mm256_loadu_pd(source + 2 * width);
      const __m256d e = _mm256_loadu_pd(source + 3 * width);
      const __m256d ab_even = _mm256_unpacklo_pd(a, b);
      const __m256d ab_odd = _mm256_unpackhi_pd(a, b);
      const __m256d de_even = _mm256_unpacklo_pd(d, e);
      const __m256d de_odd = _mm256_unpackhi_pd(d, e);
      double* target = to + c * height + r;
      _mm256_storeu_pd(target, _mm256_permute2f128_pd(ab_even, de_even, 0x20));
      _mm256_storeu_pd(target + height, _mm256_permute2f128_pd(ab_odd, de_odd, 0x20));
      _mm256_storeu_pd(target + 2 * height, _mm256_permute2f128_pd(ab_even, de_even, 0x31));
      _mm256_storeu_pd(target + 3 * height, _mm256_permute2f128_pd(ab_odd, de_odd, 0x31));
    }
  }
}

const bool kHasAvx = __builtin_cpu_supports("avx") != 0;
const bool kHasAvx512 = __builtin_cpu_supports("avx512f") != 0;

__attribute__((target("avx512f"))) void stream_lines(const double* from, std::size_t size, double* to) {
  for (std::size_t i = 0; i < size; i += 8) _mm512_stream_pd(to + i, _mm512_loadu_pd(from + i));
}
#endif

}  // namespace

void transpose(const double* from, std::size_t rows, std::size_t cols, std::size_t width, double* to,
               std::size_t height) {
#if defined(__x86_64__)
  if (kHasAvx && rows >= 4 && cols >= 4) return transpose_by_four(from, rows, cols, width, to, height);
#endif
  transpose_singly(from, rows, cols, width, to, height);
}

void copy_past_cache(const double* from, std::size_t size, double* to) {
#if defined(__x86_64__)
  const double* const end = from + size;
  const auto single = [&] {
    long long bits = 0;
    std::memcpy(&bits, from++, sizeof bits);
    _mm_stream_si64(reinterpret_cast<long long*>(to++), bits);
  };
  while (from != end && reinterpret_cast<std::uintptr_t>(to) % 64 != 0) single();
  const std::size_t whole = static_cast<std::size_t>(end - from) / 8 * 8;
  if (kHasAvx512) {
    stream_lines(from, whole, to);
  } else {
    for (std::size_t i = 0; i < whole; i += 2) _mm_stream_pd(to + i, _mm_loadu_pd(from + i));
  }
  from += whole;
  to += whole;
  while (from != end) single();
#else
  std::memcpy(to, from, size * sizeof(double));
#endif
}

void finish_copies() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace thunder
