// SPDX-License-Identifier: Apache-2.0
//
// Counts what a thread allocates and frees. For one source file of a program.
#pragma once

#include <cstddef>

// Interposed for the whole process, shared libraries included; operator new and delete end here as well.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

static thread_local long g_calls = 0;  // threads of a middleware allocate as they like

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
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++g_calls;
  return __libc_memalign(alignment, size);
}
void free(void* pointer) {
  ++g_calls;
  __libc_free(pointer);
}
}
