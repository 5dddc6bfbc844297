
/* Matrices of a large robot from tables of screws (one row per velocity) and wrenches (one column each), all at one point;
 * components that no screw has are left out. */
#define THUNDER_LINKS $n
#define THUNDER_VELOCITIES $nv

/* Velocities that move link i, in runs of consecutive ones: those from thunder_first_run[i] on, before that of i + 1. */
$constants
static const thunder_real thunder_zero[THUNDER_VELOCITIES];

$kernels
static void thunder_clear(thunder_real* out, int size) {
  int k;
  for (k = 0; k < size; ++k) out[k] = thunder_all(0.0);
}

/* Columns of every link, from first[link] on: the powers of its path's screws and a wrench each, zero elsewhere. */
static void thunder_project(const thunder_real* restrict s, const thunder_real* restrict f, const int* first,
                            thunder_real* restrict out) {
  int i, k, run;
  for (i = 0; i < THUNDER_LINKS; ++i)
    for (k = first[i]; k < first[i + 1]; ++k, f += $rows, out += THUNDER_VELOCITIES) {
      thunder_clear(out, THUNDER_VELOCITIES);
      for (run = thunder_first_run[i]; run < thunder_first_run[i + 1]; ++run)
        thunder_power(s, f, thunder_runs[run][0], thunder_runs[run][1], out);
    }
}

/* Columns of the parameters of every link: of wrenches for mass and first moment, of moments for the inertia. */
static void thunder_regressor(const thunder_real* restrict s, const thunder_real* restrict f, thunder_real* restrict out) {
  int i, run;
  for (i = 0; i < THUNDER_LINKS; ++i, f += $first + $inertia, out += 10 * THUNDER_VELOCITIES) {
    thunder_clear(out, 10 * THUNDER_VELOCITIES);
    for (run = thunder_first_run[i]; run < thunder_first_run[i + 1]; ++run) {
      const int begin = thunder_runs[run][0], end = thunder_runs[run][1];
      thunder_first_powers(s, f, begin, end, out);
      thunder_inertia_powers(s, f + $first, begin, end, out + 4 * THUNDER_VELOCITIES);
    }
  }
}

static void thunder_mass(const thunder_real* s, const thunder_real* f, const thunder_real* rotors, thunder_real* out) {
  int i, j;
  thunder_project(s, f, thunder_first_velocity, out);
  for (i = 0; i < THUNDER_VELOCITIES; ++i) {
    for (j = 0; j < i; ++j) out[i + THUNDER_VELOCITIES * j] = out[j + THUNDER_VELOCITIES * i];
    out[i + THUNDER_VELOCITIES * i] += rotors[i];
  }
}

/* On the diagonal's blocks and above S_j of `forward`, below them the rate of S_j of `own` and S_j of `backward`; `other` is scratch. */
static void thunder_coriolis(const thunder_real* s, const thunder_real* rates, const thunder_real* own, const thunder_real* forward,
                             const thunder_real* backward, thunder_real* other, thunder_real* out) {
  int i, j, k;
  thunder_project(s, backward, thunder_first_velocity, out);
  thunder_project(rates, own, thunder_first_velocity, other);
  for (i = 0; i < THUNDER_VELOCITIES * THUNDER_VELOCITIES; ++i) other[i] += out[i];
  thunder_project(s, forward, thunder_first_velocity, out);
  for (k = 0; k < THUNDER_LINKS; ++k)
    for (i = thunder_first_velocity[k]; i < thunder_first_velocity[k + 1]; ++i)
      for (j = 0; j < thunder_first_velocity[k]; ++j) out[i + THUNDER_VELOCITIES * j] = other[j + THUNDER_VELOCITIES * i];
}

static void thunder_mass_rate(const thunder_real* s, const thunder_real* rates, const thunder_real* own, const thunder_real* forward,
                              const thunder_real* backward, thunder_real* other, thunder_real* out) {
  thunder_real* C = other + THUNDER_VELOCITIES * THUNDER_VELOCITIES;
  int i, j;
  thunder_coriolis(s, rates, own, forward, backward, other, C);
  for (i = 0; i < THUNDER_VELOCITIES; ++i)
    for (j = 0; j < THUNDER_VELOCITIES; ++j) out[j + THUNDER_VELOCITIES * i] = C[j + THUNDER_VELOCITIES * i] + C[i + THUNDER_VELOCITIES * j];
}

/* Poses are 12 values each, R by columns and p; number 0 is L0, where the screws are. */
static void thunder_pose(const thunder_real* poses, int number, thunder_real* out) {
  int j, k;
  for (j = 0; j < 4; ++j) {
    for (k = 0; k < 3; ++k) out[4 * j + k] = poses[12 * number + 3 * j + k];
    out[4 * j + 3] = thunder_all(j == 3 ? 1.0 : 0.0);
  }
}

static void thunder_jacobian(const thunder_real* s, const thunder_real* poses, int number, thunder_real* out) {
  const thunder_real* p = poses + 12 * number + 9;
  const thunder_real x = p[0] - poses[9], y = p[1] - poses[10], z = p[2] - poses[11];
  int j, run;
  thunder_clear(out, 6 * THUNDER_VELOCITIES);
  for (run = thunder_first_run[number - 1]; run < thunder_first_run[number]; ++run)
    for (j = thunder_runs[run][0]; j < thunder_runs[run][1]; ++j) {
      const thunder_real a = s[j + 3 * THUNDER_VELOCITIES], b = s[j + 4 * THUNDER_VELOCITIES], c = s[j + 5 * THUNDER_VELOCITIES];
      thunder_real* column = out + 6 * j;
      column[0] = s[j] + b * z - c * y;
      column[1] = s[j + THUNDER_VELOCITIES] + c * x - a * z;
      column[2] = s[j + 2 * THUNDER_VELOCITIES] + a * y - b * x;
      column[3] = a;
      column[4] = b;
      column[5] = c;
    }
}

