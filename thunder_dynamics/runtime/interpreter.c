/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of thunder_abi.h that interprets instead of being compiled: this object and, behind it in the same file, the
 * image of one robot that codegen/targets/interpreter.py writes. The image holds the metadata as the C structures that
 * they are, with offsets for pointers, and a program for each function. It is read when the object is loaded, once;
 * nothing is read, allocated or locked after that, and calls share nothing that they write.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thunder/thunder_abi.h"

#define EXPORTED __attribute__((visibility("default")))

/* A function: its constants are the first values of w, its code is runs of one operation: what it is, how many times,
 * and for each time three places, w[to] = operation(w[a], w[b]). A branch takes as long as several operations: by runs a
 * Panda's law takes a quarter of the time that it takes one by one. */
typedef struct {
  const uint32_t* code;
  const double* constants;
  int n_constants;
} program;

typedef struct {
  uint64_t n_pointers, n_calls;
  const uint64_t* pointers; /* offsets in the image of those that are offsets in the image */
  const uint64_t* calls;    /* and of those that are numbers of programs */
  const thunder_library* library;
  const program* programs;
} image;

static image* loaded;

static int run(const program* p, const double** arg, double** res, double* w) {
  static const void* const labels[] = {
#define THUNDER_OPERATION(name, value) &&code_##name,
#include "operations.h"
#undef THUNDER_OPERATION
      &&code_input, &&code_output, &&code_skip, &&code_end};
  const uint32_t *i = p->code, *end;
  memcpy(w, p->constants, (size_t)p->n_constants * sizeof(double));
#define NEXT                    \
  end = i + 2 + 3 * (size_t)i[1]; \
  i += 2;                       \
  goto* labels[i[-2]]
#define EACH_TIME for (; i < end; i += 3)
  NEXT;
#define THUNDER_OPERATION(name, value)       \
  code_##name : EACH_TIME {                  \
    const double x = w[i[1]], y = w[i[2]]; \
    (void)y;                                 \
    w[i[0]] = (value);                       \
  }                                          \
  NEXT;
#include "operations.h"
#undef THUNDER_OPERATION
code_input: /* element b of argument a */
  EACH_TIME w[i[0]] = arg[i[1]][i[2]];
  NEXT;
code_output: /* element to of result b */
  EACH_TIME res[i[2]][i[0]] = w[i[1]];
  NEXT;
code_skip: /* where a is false, the next `to` numbers of the code */
  i = w[i[1]] == 0.0 ? end + i[0] : end;
  NEXT;
code_end:
  return 0;
}

/* A thunder_eval is given nothing that says which function it is: there is one for each program that an image can have. */
#define CALL(k)                                                                                     \
  static int call_##k(const double** arg, double** res, long long* iw, double* w, int mem) {       \
    (void)iw;                                                                                       \
    (void)mem;                                                                                      \
    return run(loaded->programs + 0x##k, arg, res, w);                                              \
  }
#define EACH_OF_16(each, k)                                                                                            \
  each(k##0) each(k##1) each(k##2) each(k##3) each(k##4) each(k##5) each(k##6) each(k##7) each(k##8) each(k##9)        \
  each(k##a) each(k##b) each(k##c) each(k##d) each(k##e) each(k##f)
#define EACH_OF_256(each, k)                                                                                           \
  EACH_OF_16(each, k##0) EACH_OF_16(each, k##1) EACH_OF_16(each, k##2) EACH_OF_16(each, k##3) EACH_OF_16(each, k##4)   \
  EACH_OF_16(each, k##5) EACH_OF_16(each, k##6) EACH_OF_16(each, k##7) EACH_OF_16(each, k##8) EACH_OF_16(each, k##9)   \
  EACH_OF_16(each, k##a) EACH_OF_16(each, k##b) EACH_OF_16(each, k##c) EACH_OF_16(each, k##d) EACH_OF_16(each, k##e)   \
  EACH_OF_16(each, k##f)
#define EACH(each) EACH_OF_256(each, 0) EACH_OF_256(each, 1) EACH_OF_256(each, 2) EACH_OF_256(each, 3)
#define NAME(k) call_##k,

EACH(CALL)
static const thunder_eval calls[] = {EACH(NAME)};

/* The file ends with the size of the image and this name, which tells it from an object without one. */
static const char kind[8] = {'t', 'h', 'u', 'n', 'd', 'e', 'r', '1'};

static char* read_image(FILE* file) {
  char end[16];
  uint64_t size;
  char* base;
  if (fseek(file, -(long)sizeof end, SEEK_END) != 0 || fread(end, sizeof end, 1, file) != 1) return NULL;
  if (memcmp(end + 8, kind, sizeof kind) != 0) return NULL;
  memcpy(&size, end, sizeof size);
  if (fseek(file, -(long)(size + sizeof end), SEEK_END) != 0 || !(base = malloc(size))) return NULL;
  if (fread(base, size, 1, file) == 1) return base;
  free(base);
  return NULL;
}

/* On loading, when the path that the object came from, which may be that of a descriptor, still means this file. */
__attribute__((constructor)) static void load(void) {
  Dl_info own;
  uint64_t k, value;
  char* base;
  FILE* file;
  if (!dladdr(&loaded, &own) || !(file = fopen(own.dli_fname, "rbe"))) return;
  base = read_image(file);
  fclose(file);
  if (!base) return;
  loaded = (image*)base;
  loaded->pointers = (const uint64_t*)(base + (uintptr_t)loaded->pointers);
  loaded->calls = (const uint64_t*)(base + (uintptr_t)loaded->calls);
  loaded->library = (const thunder_library*)(base + (uintptr_t)loaded->library);
  loaded->programs = (const program*)(base + (uintptr_t)loaded->programs);
  for (k = 0; k < loaded->n_pointers; ++k) {
    memcpy(&value, base + loaded->pointers[k], sizeof value);
    value += (uintptr_t)base;
    memcpy(base + loaded->pointers[k], &value, sizeof value);
  }
  for (k = 0; k < loaded->n_calls; ++k) {
    memcpy(&value, base + loaded->calls[k], sizeof value);
    memcpy(base + loaded->calls[k], calls + value, sizeof *calls);
  }
}

__attribute__((destructor)) static void unload(void) { free(loaded); }

EXPORTED const thunder_library* thunder_library_get(void) { return loaded ? loaded->library : NULL; }
