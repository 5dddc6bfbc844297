// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace thunder {
namespace {

template <class Real>
void transpose_singly(const Real* from, std::size_t rows, std::size_t cols, std::size_t width, Real* to,
                      std::size_t height) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) to[c * height + r] = from[r * width + c];
  }
}

/// Two by two in whole registers: a fourth of the time of one after the other.
void transpose_by_two(const double* from, std::size_t rows, std::size_t cols, std::size_t width, double* to,
                      std::size_t height) {
  typedef double Pair __attribute__((vector_size(16)));
  for (std::size_t i = 0; i < rows; i += 2) {
    const std::size_t r = std::min(i, rows - 2);
    for (std::size_t j = 0; j < cols; j += 2) {
      const std::size_t c = std::min(j, cols - 2);
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

void transpose_by_four(const float* from, std::size_t rows, std::size_t cols, std::size_t width, float* to,
                       std::size_t height) {
  for (std::size_t i = 0; i < rows; i += 4) {
    const std::size_t r = std::min(i, rows - 4);
    for (std::size_t j = 0; j < cols; j += 4) {
      const std::size_t c = std::min(j, cols - 4);
      const float* source = from + r * width + c;
      __m128 a = _mm_loadu_ps(source);
      __m128 b = _mm_loadu_ps(source + width);
      __m128 d = _mm_loadu_ps(source + 2 * width);
      __m128 e = _mm_loadu_ps(source + 3 * width);
      _MM_TRANSPOSE4_PS(a, b, d, e);
      float* target = to + c * height + r;
      _mm_storeu_ps(target, a);
      _mm_storeu_ps(target + height, b);
      _mm_storeu_ps(target + 2 * height, d);
      _mm_storeu_ps(target + 3 * height, e);
    }
  }
}

const bool kHasAvx = __builtin_cpu_supports("avx") != 0;
const bool kHasAvx512 = __builtin_cpu_supports("avx512f") != 0;

__attribute__((target("avx512f"))) void stream_lines(const char* from, std::size_t bytes, char* to) {
  for (std::size_t i = 0; i < bytes; i += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
  }
}

void stream_numbers(const char* from, std::size_t bytes, char* to) {
  for (std::size_t i = 0; i < bytes; i += 4) {
    int bits = 0;
    std::memcpy(&bits, from + i, sizeof bits);
    _mm_stream_si32(reinterpret_cast<int*>(to + i), bits);
  }
}
#endif

}  // namespace

void transpose(const double* from, std::size_t rows, std::size_t cols, std::size_t width, double* to,
               std::size_t height) {
#if defined(__x86_64__)
  if (kHasAvx && rows >= 4 && cols >= 4) return transpose_by_four(from, rows, cols, width, to, height);
#endif
  if (rows >= 2 && cols >= 2) return transpose_by_two(from, rows, cols, width, to, height);
  transpose_singly(from, rows, cols, width, to, height);
}

void transpose(const float* from, std::size_t rows, std::size_t cols, std::size_t width, float* to, std::size_t height) {
#if defined(__x86_64__)
  if (rows >= 4 && cols >= 4) return transpose_by_four(from, rows, cols, width, to, height);
#endif
  transpose_singly(from, rows, cols, width, to, height);
}

template <class Real>
void copy_past_cache(const Real* from, std::size_t size, Real* to) {
#if defined(__x86_64__)
  constexpr std::size_t kLine = 64;
  const auto* source = reinterpret_cast<const char*>(from);
  auto* target = reinterpret_cast<char*>(to);
  const std::size_t bytes = size * sizeof(Real);
  const std::size_t before = std::min(bytes, (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine);
  const std::size_t whole = (bytes - before) / kLine * kLine;
  stream_numbers(source, before, target);
  if (kHasAvx512) {
    stream_lines(source + before, whole, target + before);
  } else {
    for (std::size_t i = before; i < before + whole; i += 16) {
      const auto* piece = reinterpret_cast<const __m128i*>(source + i);
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + i), _mm_loadu_si128(piece));
    }
  }
  stream_numbers(source + before + whole, bytes - before - whole, target + before + whole);
#else
  std::memcpy(to, from, size * sizeof(Real));
#endif
}

template void copy_past_cache(const double* from, std::size_t size, double* to);
template void copy_past_cache(const float* from, std::size_t size, float* to);

void finish_copies() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace thunder
