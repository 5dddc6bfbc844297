/* Copyright 2026 Thunder controllers contributors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A small robot library written by hand against thunder_abi.h, so that the host can be tested without the generator.
 *
 * Two point masses on massless rods hanging in the vertical x-z plane, lengths L1 and L2, angles from the downward
 * vertical, gravity along -z. With s1 = sin q1, s12 = sin(q1 + q2):
 *   p = [L1 s1 + L2 s12, 0, -(L1 c1 + L2 c12)],   R = Rot_y(-(q1 + q2))
 *   G = Y_g [m1 m2]^T,   Y_g = g [[L1 s1, L1 s1 + L2 s12], [0, L2 s12]]
 * The macros named BREAK_* each spoil one thing that the host must notice.
 */
#include <math.h>
#include <stddef.h>

#include <thunder/thunder_abi.h>

#define N 2
#define L1 0.5
#define L2 0.4
#define M1 1.2
#define M2 0.8
#define GRAVITY 9.81
#define INF INFINITY
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const double zeros[24] = {0};
static const double minus_infinite[24] = {-INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF,
                                          -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF, -INF};
static const double infinite[24] = {INF, INF, INF, INF, INF, INF, INF, INF, INF, INF, INF, INF,
                                    INF, INF, INF, INF, INF, INF, INF, INF, INF, INF, INF, INF};
static const double masses[2] = {M1, M2};
static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
static const double ones[2] = {1, 1};
static const double fives[2] = {5, 5};
static const double fours[2] = {4, 4};
static const double twos[2] = {2, 2};
static const double tens[2] = {10, 10};
static const double hundreds[3] = {100, 100, 100};
static const double stiffness[3] = {50, 50, 50};
static const double stiffness_upper[3] = {500, 500, 500};
static const double largest_error[1] = {1.5};
static const double largest_distance[1] = {0.3};

#ifdef BREAK_GAP
#define SECOND_OFFSET 3
#else
#define SECOND_OFFSET 2
#endif
#ifdef BREAK_BOUNDS
#define GAMMA_LOWER hundreds
#define GAMMA_UPPER zeros
#else
#define GAMMA_LOWER zeros
#define GAMMA_UPPER hundreds
#endif
#ifdef BREAK_DEFAULT
#define GAMMA_DEFAULT minus_ones
static const double minus_ones[1] = {-1};
#else
#define GAMMA_DEFAULT twos
#endif
#ifdef BREAK_SIZE
#define S_ROWS 0
#elif defined(BREAK_LARGE)
#define S_ROWS 0x7fffffff
#else
#define S_ROWS N
#endif

static void positions(const double* q, double* s1, double* c1, double* s12, double* c12) {
  *s1 = sin(q[0]);
  *c1 = cos(q[0]);
  *s12 = sin(q[0] + q[1]);
  *c12 = cos(q[0] + q[1]);
}

static void gravity_regressor(const double* q, double* y) {
  double s1, c1, s12, c12;
  positions(q, &s1, &c1, &s12, &c12);
  y[0] = GRAVITY * L1 * s1;
  y[1] = 0;
  y[2] = GRAVITY * (L1 * s1 + L2 * s12);
  y[3] = GRAVITY * L2 * s12;
}

static void gravity(const double* q, const double* mass, double* tau) {
  double y[4];
  gravity_regressor(q, y);
  tau[0] = y[0] * mass[0] + y[2] * mass[1];
  tau[1] = y[1] * mass[0] + y[3] * mass[1];
}

static int eval_G(const double** arg, double** res, long long* iw, double* w, int mem) {
  (void)iw, (void)w, (void)mem;
  gravity(arg[0], masses, res[0]);
  return 0;
}

/* The work vector is used on purpose: the host must provide it. */
static int eval_M(const double** arg, double** res, long long* iw, double* w, int mem) {
  (void)mem;
#ifdef BREAK_INSTRUCTION
  __builtin_trap();
#endif
  const double* m = arg[1];
  w[0] = L1 * L2 * cos(arg[0][1]);
  iw[0] = 1;
  res[0][0] = (m[0] + m[1]) * L1 * L1 + m[1] * (L2 * L2 + 2 * w[0]);
  res[0][iw[0]] = m[1] * (L2 * L2 + w[0]);
  res[0][2] = res[0][1];
  res[0][3] = m[1] * L2 * L2;
#ifdef BREAK_INERTIA
  if (arg[0][1] > 1.0) res[0][0] = BREAK_INERTIA;
#endif
  return 0;
}

static int eval_T_0_ee(const double** arg, double** res, long long* iw, double* w, int mem) {
  (void)iw, (void)w, (void)mem;
  double s1, c1, s12, c12;
  positions(arg[0], &s1, &c1, &s12, &c12);
  const double x = L1 * s1 + L2 * s12, z = -(L1 * c1 + L2 * c12);
  const double columns[16] = {c12, 0, s12, 0, 0, 1, 0, 0, -s12, 0, c12, 0, x, 0, z, 1};
  for (int i = 0; i < 16; ++i) res[0][i] = columns[i];
  return 0;
}

static int eval_J_ee(const double** arg, double** res, long long* iw, double* w, int mem) {
  (void)iw, (void)w, (void)mem;
  double s1, c1, s12, c12;
  positions(arg[0], &s1, &c1, &s12, &c12);
  const double columns[12] = {L1 * c1 + L2 * c12, 0, L1 * s1 + L2 * s12, 0, -1, 0, L2 * c12, 0, L2 * s12, 0, -1, 0};
  for (int i = 0; i < 12; ++i) res[0][i] = columns[i];
  return 0;
}

static int eval_state_rate(const double** arg, double** res, long long* iw, double* w, int mem) {
  (void)iw, (void)w, (void)mem;
  for (int i = 0; i < N; ++i) {
    res[0][i] = arg[1][i];
    res[1][i] = -arg[0][i];
  }
  return 0;
}

static double clamp(double value, double lower, double upper) {
  return value < lower ? lower : (value > upper ? upper : value);
}

/* tau = Y_g pi_hat + K_d s,  s = qd_d + Lambda (q_d - q) - qd,  d/dt pi_hat = Gamma Y_g^T s. */
static int step_joint_adaptive(const double** arg, double** res, long long* iw, double* w, int mem) {
  (void)iw, (void)mem;
  const double *q = arg[0], *qd = arg[1], *reference = arg[4], *state = arg[5], *gains = arg[6];
  const double dt = *arg[7];
  double *s = w, *y = w + N;
  gravity_regressor(q, y);
  double squared = 0;
  for (int i = 0; i < N; ++i) {
    const double error = reference[i] - q[i];
    squared += error * error;
    s[i] = reference[N + i] + gains[i] * error - qd[i];
  }
  for (int i = 0; i < N; ++i) {
    res[0][i] = y[i] * state[0] + y[N + i] * state[1] + gains[N + i] * s[i];
    res[1][i] = clamp(state[i] + dt * gains[2 * N] * (y[2 * i] * s[0] + y[2 * i + 1] * s[1]), 0, 10);
    res[1][N + i] = state[N + i] + dt * 10 * (s[i] - state[N + i]);
    res[2][i] = s[i];
  }
  res[2][N] = sqrt(squared);
  return 0;
}

/* tau = J^T K_p (p_d - p) - D qd + G(q). */
static int step_cartesian_spring(const double** arg, double** res, long long* iw, double* w, int mem) {
  (void)iw, (void)w, (void)mem;
  const double *q = arg[0], *qd = arg[1], *reference = arg[4], *gains = arg[6];
  double s1, c1, s12, c12;
  positions(q, &s1, &c1, &s12, &c12);
  const double e[3] = {reference[0] - (L1 * s1 + L2 * s12), reference[1], reference[2] + L1 * c1 + L2 * c12};
  const double f[3] = {gains[0] * e[0], gains[1] * e[1], gains[2] * e[2]};
  gravity(q, masses, res[0]);
  res[0][0] += (L1 * c1 + L2 * c12) * f[0] + (L1 * s1 + L2 * s12) * f[2] - gains[3] * qd[0];
  res[0][1] += L2 * c12 * f[0] + L2 * s12 * f[2] - gains[3] * qd[1];
  res[1][0] = arg[5][0] + *arg[7];
  res[2][0] = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
  return 0;
}

#define FREE(name, unit, text, rows, cols, offset, defaults) \
  {name, unit, text, rows, cols, offset, 0, defaults, minus_infinite, infinite}

static const thunder_entry in_q[] = {FREE("q", "rad", "Joint position.", N, 1, 0, zeros)};
static const thunder_entry in_q_qd[] = {FREE("q", "rad", "Joint position.", N, 1, 0, zeros),
                                        FREE("qd", "rad/s", "Joint velocity.", N, 1, 0, zeros)};
static const thunder_entry in_q_par[] = {
    FREE("q", "rad", "Joint position.", N, 1, 0, zeros),
    {"par_DYN", "kg", "Point masses.", 2, 1, 0, 0, masses, zeros, infinite},
};
static const thunder_entry out_G[] = {FREE("G", "N·m", "Gravity torque.", N, 1, 0, zeros)};
static const thunder_entry out_M[] = {FREE("M", "kg·m²", "Mass matrix.", N, N, 0, zeros)};
static const thunder_entry out_T[] = {FREE("T_0_ee", "1, m", "Pose of the tip.", 4, 4, 0, zeros)};
static const thunder_entry out_J[] = {FREE("J_ee", "m, 1", "Jacobian of the tip.", 6, N, 0, zeros)};
static const thunder_entry out_rate[] = {FREE("a", "rad/s", "Position rate.", N, 1, 0, zeros),
                                         FREE("b", "rad", "Velocity rate.", N, 1, 0, zeros)};

static const thunder_function functions[] = {
#ifndef BREAK_NO_GRAVITY
    {"G", "Gravity torque.", 1, 1, in_q, out_G, eval_G, 0, 0},
#endif
    {"M", "Mass matrix.", 2, 1, in_q_par, out_M, eval_M, 1, 1},
#ifndef BREAK_NO_POSE
    {"T_0_ee", "Pose of the tip in the world frame.", 1, 1, in_q, out_T, eval_T_0_ee, 0, 0},
#endif
#ifndef BREAK_NO_JACOBIAN
    {"J_ee", "Jacobian of the tip, world frame, linear part first.", 1, 1, in_q, out_J, eval_J_ee, 0, 0},
#endif
    {"state_rate", "Of a harmonic oscillator; two outputs.", 2, 2, in_q_qd, out_rate, eval_state_rate, 0, 0},
};

static const thunder_entry joint_reference[] = {
    FREE("q", "rad", "Wanted position.", N, 1, 0, zeros),
    FREE("qd", "rad/s", "Wanted velocity.", N, 1, N, zeros),
    FREE("qdd", "rad/s²", "Wanted acceleration.", N, 1, 2 * N, zeros),
};
static const thunder_entry joint_state[] = {
    {"pi_hat", "kg", "Estimated masses.", N, 1, 0, THUNDER_ENTRY_ADAPTED, ones, zeros, tens},
    FREE("s_filtered", "rad/s", "Low-passed s.", N, 1, SECOND_OFFSET, zeros),
};
static const thunder_entry joint_gains[] = {
    {"Lambda", "1/s", "Bandwidth of the position error.", N, 1, 0, THUNDER_ENTRY_JOINTS, fives, zeros, hundreds},
    {"K_d", "N·m·s/rad", "Feedback on s.", N, 1, N, THUNDER_ENTRY_JOINTS, fours, zeros, hundreds},
    {"Gamma", "kg/(N·m)²", "Adaptation gain.", 1, 1, 2 * N, 0, GAMMA_DEFAULT, GAMMA_LOWER, GAMMA_UPPER},
};
static const thunder_entry joint_telemetry[] = {
    FREE("s", "rad/s", "Sliding variable.", S_ROWS, 1, 0, zeros),
    {"position_error", "rad", "Norm of q_d - q.", 1, 1, N, THUNDER_ENTRY_ACTIVATION, zeros, zeros, largest_error},
};

static const thunder_entry cartesian_reference[] = {
    FREE("position", "m", "Of the tip, world frame.", 3, 1, 0, zeros),
    FREE("rotation", "1", "Of the tip, world frame.", 3, 3, 3, identity),
    FREE("twist", "m/s, rad/s", "Of the tip, linear first.", 6, 1, 12, zeros),
    FREE("acceleration", "m/s², rad/s²", "Of the tip, linear first.", 6, 1, 18, zeros),
};
static const thunder_entry cartesian_state[] = {FREE("elapsed", "s", "Time since activation.", 1, 1, 0, zeros)};
static const thunder_entry cartesian_gains[] = {
    {"K_p", "N/m", "Stiffness.", 3, 1, 0, 0, stiffness, zeros, stiffness_upper},
    {"D", "N·m·s/rad", "Damping.", 1, 1, 3, 0, ones, zeros, hundreds},
};
static const thunder_entry cartesian_telemetry[] = {
    {"distance", "m", "Norm of p_d - p.", 1, 1, 0, THUNDER_ENTRY_ACTIVATION, zeros, zeros, largest_distance},
};

#define SIGNAL(size, entries) {size, COUNT(entries), entries}
#define NOTHING {0, 0, NULL}

static const thunder_law laws[] = {
    {"joint_adaptive", "Adaptive gravity compensation.", THUNDER_REFERENCE_JOINT, NOTHING,
     SIGNAL(3 * N, joint_reference), SIGNAL(2 * N, joint_state), SIGNAL(2 * N + 1, joint_gains),
     SIGNAL(N + 1, joint_telemetry), step_joint_adaptive, NULL, 0, 3 * N},
    {"cartesian_spring", "A spring at the tip.", THUNDER_REFERENCE_CARTESIAN, NOTHING,
     SIGNAL(24, cartesian_reference), SIGNAL(1, cartesian_state), SIGNAL(4, cartesian_gains),
     SIGNAL(1, cartesian_telemetry), step_cartesian_spring, NULL, 0, 0},
};

static const char* const joint_names[] = {"shoulder", "elbow"};
static const char* const link_names[] = {"upper", "lower"};
#ifdef WITHOUT_POSITION_LIMITS
static const double position_lower[] = {-INF, -INF};
static const double position_upper[] = {INF, INF};
#elif defined(ON_CIRCLE)
static const double position_lower[] = {-2.5, -INF};
static const double position_upper[] = {2.5, INF};
#else
static const double position_lower[] = {-2.5, -2.5};
static const double position_upper[] = {2.5, 2.5};
#endif
#ifdef WITHOUT_VELOCITY_LIMIT
static const double velocity_limit[] = {INF, INF};
#else
static const double velocity_limit[] = {4, 5};
#endif
static const double acceleration_limit[] = {INF, INF};
#if defined(BREAK_LIMIT)
static const double effort_limit[] = {30, -1};
#elif defined(WITHOUT_EFFORT_LIMIT)
static const double effort_limit[] = {30, INF};
#else
static const double effort_limit[] = {30, 15};
#endif
#ifdef WITHOUT_EFFORT_RATE_LIMIT
static const double effort_rate_limit[] = {1000, INF};
#else
static const double effort_rate_limit[] = {1000, 500};
#endif
static const double pi[20] = {M1, 0, 0, -L1 * M1, L1* L1* M1, 0, 0, L1* L1* M1, 0, 0,
                              M2, 0, 0, -L2 * M2, L2* L2* M2, 0, 0, L2* L2* M2, 0, 0};
#ifdef BREAK_ROTOR
static const double rotor_inertia[] = {0, -1};
#else
static const double rotor_inertia[] = {0, 0};
#endif
#ifdef BREAK_TOPOLOGY
static const int joint_topology[] = {0, 2};
#elif defined(ON_CIRCLE) || defined(BREAK_CIRCLE)
static const int joint_topology[] = {0, 1};
#else
static const int joint_topology[] = {0, 0};
#endif
static const double velocity_offset[] = {0, 0};
static const double velocity_deceleration[] = {INF, INF};
#ifdef BREAK_CORNER
static const double effort_corner_velocity[] = {INF, 3};
#else
static const double effort_corner_velocity[] = {INF, INF};
#endif
static const double effort_no_load_velocity[] = {INF, INF};
static const thunder_parameter_group groups[] = {
    {"par_DYN", {"par_DYN", "kg", "Point masses.", 2, 1, 0, 0, masses, zeros, infinite}},
};

#ifdef BREAK_NAME
#define ROBOT LONG LONG LONG LONG LONG
#define LONG "sixty-four letters and so on and so on and so on and so on and on"
#else
#define ROBOT "pendulum2"
#endif

#ifdef BREAK_COUNT
#define LAWS 0x7fffffff
#else
#define LAWS COUNT(laws)
#endif

static const thunder_library library = {
#ifdef BREAK_ABI
    THUNDER_ABI_VERSION + 1,
#else
    THUNDER_ABI_VERSION,
#endif
#ifdef BREAK_NULL
    NULL,
#else
    ROBOT,
#endif
    "by hand", "0123456789abcdef", N, joint_names, link_names, position_lower, position_upper, velocity_limit,
    acceleration_limit, effort_limit, effort_rate_limit, pi, rotor_inertia, joint_topology, velocity_offset,
    velocity_deceleration, effort_corner_velocity, effort_no_load_velocity, COUNT(functions), functions, LAWS, laws,
    COUNT(groups), groups,
#ifdef BREAK_LANES
    4,
#elif defined(BREAK_MANY_LANES)
    65,
#else
    0,
#endif
};

#ifndef BREAK_SYMBOL
const thunder_library* thunder_library_get(void);
const thunder_library* thunder_library_get(void) { return &library; }
#endif
