
/* Matrices of a large robot from tables of screws (one row per joint) and wrenches (one column of 6), all at one point. */
#define THUNDER_JOINTS $n

/* Joints that move link i, in runs of consecutive ones: those from thunder_first_run[i] on, before that of i + 1. */
$runs
static const casadi_real thunder_zero[THUNDER_JOINTS];

/* Adds to column j, for every joint j of a run, the power of its screw and one wrench. */
static void thunder_power(const casadi_real* restrict s, const casadi_real* restrict f, int begin, int end,
                          casadi_real* restrict column) {
  const casadi_real f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3], f4 = f[4], f5 = f[5];
  int j;
  for (j = begin; j < end; ++j)
    column[j] = s[j] * f0 + s[j + THUNDER_JOINTS] * f1 + s[j + 2 * THUNDER_JOINTS] * f2 + s[j + 3 * THUNDER_JOINTS] * f3 +
                s[j + 4 * THUNDER_JOINTS] * f4 + s[j + 5 * THUNDER_JOINTS] * f5;
}

/* Column k of every link, `columns` of them a link: the powers of its path's screws and the wrench, zero elsewhere. */
static void thunder_project(const casadi_real* restrict s, const casadi_real* restrict f, int columns, casadi_real* restrict out) {
  int i, j, k, run;
  for (i = 0; i < THUNDER_JOINTS; ++i)
    for (k = 0; k < columns; ++k, f += 6, out += THUNDER_JOINTS) {
      int end = 0;
      for (run = thunder_first_run[i]; run < thunder_first_run[i + 1]; ++run) {
        for (j = end; j < thunder_runs[run][0]; ++j) out[j] = 0;
        end = thunder_runs[run][1];
        thunder_power(s, f, thunder_runs[run][0], end, out);
      }
      for (j = end; j < THUNDER_JOINTS; ++j) out[j] = 0;
    }
}

static void thunder_mass(const casadi_real* s, const casadi_real* f, casadi_real* out) {
  int i, j;
  thunder_project(s, f, 1, out);
  for (i = 0; i < THUNDER_JOINTS; ++i)
    for (j = 0; j < i; ++j) out[i + THUNDER_JOINTS * j] = out[j + THUNDER_JOINTS * i];
}

/* Above the diagonal S_j of `forward`, below it the rate of S_j of `own` and S_j of `backward`; `other` is scratch. */
static void thunder_coriolis(const casadi_real* s, const casadi_real* rates, const casadi_real* own, const casadi_real* forward,
                             const casadi_real* backward, casadi_real* other, casadi_real* out) {
  int i, j;
  thunder_project(s, backward, 1, out);
  thunder_project(rates, own, 1, other);
  for (i = 0; i < THUNDER_JOINTS * THUNDER_JOINTS; ++i) other[i] += out[i];
  thunder_project(s, forward, 1, out);
  for (i = 0; i < THUNDER_JOINTS; ++i)
    for (j = 0; j < i; ++j) out[i + THUNDER_JOINTS * j] = other[j + THUNDER_JOINTS * i];
}

static void thunder_mass_rate(const casadi_real* s, const casadi_real* rates, const casadi_real* own, const casadi_real* forward,
                              const casadi_real* backward, casadi_real* other, casadi_real* out) {
  casadi_real* C = other + THUNDER_JOINTS * THUNDER_JOINTS;
  int i, j;
  thunder_coriolis(s, rates, own, forward, backward, other, C);
  for (i = 0; i < THUNDER_JOINTS; ++i)
    for (j = 0; j < THUNDER_JOINTS; ++j) out[j + THUNDER_JOINTS * i] = C[j + THUNDER_JOINTS * i] + C[i + THUNDER_JOINTS * j];
}

/* Poses are 12 values each, R by columns and p; number 0 is L0, where the screws are. */
static void thunder_pose(const casadi_real* poses, int number, casadi_real* out) {
  int j, k;
  for (j = 0; j < 4; ++j) {
    for (k = 0; k < 3; ++k) out[4 * j + k] = poses[12 * number + 3 * j + k];
    out[4 * j + 3] = j == 3;
  }
}

static void thunder_jacobian(const casadi_real* s, const casadi_real* poses, int number, casadi_real* out) {
  const casadi_real* p = poses + 12 * number + 9;
  const casadi_real x = p[0] - poses[9], y = p[1] - poses[10], z = p[2] - poses[11];
  int j, run;
  for (j = 0; j < 6 * THUNDER_JOINTS; ++j) out[j] = 0;
  for (run = thunder_first_run[number - 1]; run < thunder_first_run[number]; ++run)
    for (j = thunder_runs[run][0]; j < thunder_runs[run][1]; ++j) {
      const casadi_real a = s[j + 3 * THUNDER_JOINTS], b = s[j + 4 * THUNDER_JOINTS], c = s[j + 5 * THUNDER_JOINTS];
      casadi_real* column = out + 6 * j;
      column[0] = s[j] + b * z - c * y;
      column[1] = s[j + THUNDER_JOINTS] + c * x - a * z;
      column[2] = s[j + 2 * THUNDER_JOINTS] + a * y - b * x;
      column[3] = a;
      column[4] = b;
      column[5] = c;
    }
}

