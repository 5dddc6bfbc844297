/* Copyright 2026 Thunder controllers contributors. SPDX-License-Identifier: Apache-2.0
 *
 * The interface every generated robot library offers: a plain C ABI and its own metadata, so that a host needs no
 * side file. One symbol is looked up, `thunder_library_get`; everything else is reached through what it returns.
 * All memory it points to is constant and lives as long as the library is loaded. No function allocates, locks or
 * does I/O. Matrices are dense and column-major. Units are SI.
 */
#ifndef THUNDER_ABI_H
#define THUNDER_ABI_H

#ifdef __cplusplus
extern "C" {
#endif

#define THUNDER_ABI_VERSION 7
#define THUNDER_LIBRARY_SYMBOL "thunder_library_get"

/* Flags of an entry. */
#define THUNDER_ENTRY_ADAPTED 1   /* state: an estimate; a host keeps it constant while adaptation is frozen     */
#define THUNDER_ENTRY_ACTIVATION 2 /* telemetry: a host refuses activation while it lies outside [lower, upper]  */
#define THUNDER_ENTRY_UNUSED 4     /* reference: neither effort nor state depends on it                               */
#define THUNDER_ENTRY_INITIAL 8    /* state: starts with what `initial` gives, unless a host is told otherwise        */
#define THUNDER_ENTRY_AGE 16       /* measurements: time [s] since the entry before it was measured; a host fills it in   */
#define THUNDER_ENTRY_MEASURED 32  /* telemetry: outside [lower, upper] a law goes without what it measures; a host says so */
#define THUNDER_ENTRY_JOINTS 64    /* gains: a value for each joint, in the order of joint_names                          */

/* One named, shaped, unit-bearing block of a flat vector. */
typedef struct thunder_entry {
  const char* name;
  const char* unit;
  const char* description;
  int rows;
  int cols;
  int offset;             /* of its first element in the flat vector; 0 for the arguments of a function            */
  int flags;
  const double* defaults; /* rows*cols values, column-major; never NULL                                            */
  const double* lower;    /* rows*cols bounds, -INFINITY where there is none; never NULL                           */
  const double* upper;
} thunder_entry;

/* arg and res hold one pointer per input and output, none of them NULL; they may not overlap.
 * Scratch: iw has size_iw elements, w has size_w. `mem` is 1 where the code may be in no cache, as in a control loop that
 * has slept: a long function then asks for all of it at once, which takes less time; else 0. Returns 0. */
typedef int (*thunder_eval)(const double** arg, double** res, long long* iw, double* w, int mem);

/* One in lanes computes as many states at once as thunder_library.lanes says: wherever thunder_eval has a double, in arg,
 * res and w, there are as many, one of each state, aligned to their size. In lanes of single precision these are floats,
 * as many as thunder_library.single_lanes says. */
typedef int (*thunder_eval_single)(const float** arg, float** res, long long* iw, float* w, int mem);

typedef struct thunder_function {
  const char* name;        /* as in get_<name> */
  const char* description;
  int n_in;
  int n_out;
  const thunder_entry* in;
  const thunder_entry* out;
  thunder_eval eval;
  int size_iw;
  int size_w;
  thunder_eval eval_lanes; /* NULL in a library without lanes */
  thunder_eval_single eval_single_lanes; /* NULL in one without lanes of single precision */
} thunder_function;

/* A flat vector and the entries that partition it, in order and without gaps. */
typedef struct thunder_signal {
  int size;
  int n_entries;
  const thunder_entry* entries;
} thunder_signal;

/* What the reference of a law means: the entries that it begins with. Further ones are the law's own. */
#define THUNDER_REFERENCE_JOINT 0     /* entries q (n), qd (n), qdd (n)                                            */
#define THUNDER_REFERENCE_CARTESIAN 1 /* entries position (3), rotation (3x3, column-major), twist (6), acceleration
                                         (6), of the end effector in the world frame, linear part first            */

/* Shape of all places of a joint: on a circle positions that differ by whole turns are one place, and have no limits. */
#define THUNDER_TOPOLOGY_LINE 0
#define THUNDER_TOPOLOGY_CIRCLE 1

/* A discrete-time controller:
 *   (effort, next_state, telemetry) = step(q, qd, applied_effort, measurements, reference, state, gains, dt)
 *   state = initial(q, qd, gains)
 * applied_effort is that of the joints in the step before, after all limits, with G(q) where the robot adds it. */
typedef struct thunder_law {
  const char* name;
  const char* description;
  int reference_kind;
  thunder_signal measurements;
  thunder_signal reference;
  thunder_signal state;
  thunder_signal gains;
  thunder_signal telemetry;
  thunder_eval step;
  thunder_eval initial; /* NULL where no state starts from what is measured */
  int size_iw;          /* enough for either */
  int size_w;
  thunder_eval step_lanes; /* NULL in a library without lanes */
  thunder_eval_single step_single_lanes;
} thunder_law;

/* A group of run-time parameters of the robot: only its symbolic entries. */
typedef struct thunder_parameter_group {
  const char* name;  /* par_DYN, par_DHtable, ... */
  thunder_entry entry;
} thunder_parameter_group;

typedef struct thunder_library {
  int abi_version;
  const char* robot;
  const char* generator; /* version of the generator */
  const char* hash;      /* content hash, lower-case hexadecimal */
  int n_joints;
  const char* const* joint_names;
  const char* const* link_names;
  const double* position_lower; /* n_joints values each, infinite where there is no limit */
  const double* position_upper;
  const double* velocity_limit;
  const double* acceleration_limit;
  const double* effort_limit;
  const double* effort_rate_limit;
  const double* pi;      /* 10*n_joints inertial parameters, REG order, as in the robot file */
  const double* rotor_inertia; /* n_joints values: what the rotors add to the diagonal of M, or of M_rigid where a joint is
                                  elastic, as in the robot file; NAN: unknown */
  const int* joint_topology; /* n_joints of THUNDER_TOPOLOGY_… */
  /* At distance d from the end of its range that a joint moves towards, its velocity limit v is
   * min(v, max(0, sqrt(2 velocity_deceleration d) - velocity_offset)); n_joints values each; INFINITY and 0: v everywhere. */
  const double* velocity_offset;
  const double* velocity_deceleration;
  /* What drives a joint is limited to the whole effort up to the first velocity, and from there linearly to zero at the
   * second one; n_joints values each; INFINITY: the whole effort at every velocity. */
  const double* effort_corner_velocity;
  const double* effort_no_load_velocity;
  int n_functions;
  const thunder_function* functions;
  int n_laws;
  const thunder_law* laws;
  int n_parameter_groups;
  const thunder_parameter_group* parameter_groups;
  int lanes; /* states that functions in lanes compute at once; 0: there are none */
  int single_lanes; /* the same of single precision */
} thunder_library;

typedef const thunder_library* (*thunder_library_getter)(void);

#ifdef __cplusplus
}
#endif

#endif
