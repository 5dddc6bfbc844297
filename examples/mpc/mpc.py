"""Model predictive control of an arm: from rest to a pose, by an optimal control problem on the robot's own dynamics.

Arguments: a robot file, and `opti` or `acados`, which has to be installed. Every 25 ms the problem is solved from the
state that was measured, and its first effort is held. Prints the error at the end, what was nearest to a limit, and
the median time of a solution.
"""

import statistics
import sys
import time

import casadi as ca
import numpy as np

import thunder_dynamics as td

STEPS, DT, DURATION = 20, 0.025, 1.5
WEIGHTS = {"q": 100.0, "dq": 0.1, "tau": 1e-3}
"""Of squared errors, speeds, and efforts beyond gravity."""


class Dynamics:
    """ẋ = f(x, u), x = [q; dq], u = tau, with the friction of the file; and implicitly, without M⁻¹: g(x, ẋ, u) = 0."""

    def __init__(self, robot: td.RobotExpressions) -> None:
        q, dq, ddq, tau = (robot.symbol(name) for name in ("q", "dq", "ddq", "tau"))
        friction = robot["dl"] if "dl" in robot.functions else 0.0
        acceleration = robot.function("forward_dynamics")(q, dq, tau - friction)
        self.n, self.x, self.u, self.xdot = robot.n, ca.vertcat(q, dq), tau, ca.SX.sym("xdot", 2 * robot.n)
        self.explicit = ca.vertcat(dq, acceleration)
        effort = ca.substitute(robot["inverse_dynamics"] + friction, ddq, self.xdot[robot.n :])
        self.implicit = ca.vertcat(self.xdot[: robot.n] - dq, effort - tau)
        self.gravity = robot["G"]
        self.f = ca.Function("f", [self.x, self.u], [self.explicit])
        self.residuals = ca.Function("residuals", [self.x, self.u], [ca.vertcat(self.x, self.u - self.gravity)])
        limits = {kind: robot.model.limits(kind) for kind in ("lower", "upper", "velocity", "effort")}
        self.x_bounds = [np.concatenate([limits["lower"], -limits["velocity"]])]
        self.x_bounds.append(np.concatenate([limits["upper"], limits["velocity"]]))
        self.u_bound = limits["effort"]
        self.weights = np.repeat(list(WEIGHTS.values()), robot.n)

    def step(self, x: ca.SX, u: ca.SX, h: float) -> ca.SX:
        """A step of Runge and Kutta."""
        k1 = self.f(x, u)
        k2 = self.f(x + h / 2 * k1, u)
        k3 = self.f(x + h / 2 * k2, u)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + self.f(x + h * k3, u))


class Opti:
    """Multiple shooting by CasADi's Opti and Ipopt."""

    def __init__(self, dynamics: Dynamics, goal: np.ndarray) -> None:
        opti, n = ca.Opti(), dynamics.n
        self._x, self._u = opti.variable(2 * n, STEPS + 1), opti.variable(n, STEPS)
        self._start = opti.parameter(2 * n)
        step = ca.Function("step", [dynamics.x, dynamics.u], [dynamics.step(dynamics.x, dynamics.u, DT)])
        opti.subject_to(self._x[:, 0] == self._start)
        opti.subject_to(self._x[:, 1:] == step.map(STEPS)(self._x[:, :-1], self._u))
        bounds = zip((self._x[:, 1:], self._u), (dynamics.x_bounds, (-dynamics.u_bound, dynamics.u_bound)), strict=True)
        for variables, (lower, upper) in bounds:
            for row in np.flatnonzero(np.isfinite(lower) & np.isfinite(upper)):
                opti.subject_to(opti.bounded(lower[row], variables[int(row), :], upper[row]))
        wanted = np.concatenate([goal, np.zeros(2 * n)])
        errors = dynamics.residuals.map(STEPS)(self._x[:, 1:], self._u) - wanted
        opti.minimize(ca.sumsqr(np.sqrt(dynamics.weights) * errors))
        opti.solver("ipopt", {"print_time": False, "expand": True}, {"print_level": 0, "sb": "yes"})
        self._opti = opti

    def first_effort(self, x: np.ndarray) -> np.ndarray:
        """Effort of the first step, from where the last solution was."""
        self._opti.set_value(self._start, x)
        solution = self._opti.solve()
        self._opti.set_initial(solution.value_variables())
        return np.atleast_1d(solution.value(self._u[:, 0]))


class Acados:
    """The same problem for acados, whose integrator takes the dynamics without M⁻¹."""

    def __init__(self, dynamics: Dynamics, goal: np.ndarray) -> None:
        from acados_template import AcadosOcpSolver

        self._solver = AcadosOcpSolver(acados_ocp(dynamics, goal), verbose=False)

    def first_effort(self, x: np.ndarray) -> np.ndarray:
        """Effort of the first step."""
        return self._solver.solve_for_x0(x)


def acados_ocp(dynamics: Dynamics, goal: np.ndarray):
    """An `acados_template.AcadosOcp`: dynamics, least squares, bounds."""
    from acados_template import AcadosModel, AcadosOcp

    ocp, n = AcadosOcp(), dynamics.n
    ocp.model = AcadosModel()
    ocp.model.name, ocp.model.x, ocp.model.u, ocp.model.xdot = "arm", dynamics.x, dynamics.u, dynamics.xdot
    ocp.model.f_expl_expr, ocp.model.f_impl_expr = dynamics.explicit, dynamics.implicit
    ocp.cost.cost_type, ocp.cost.W = "NONLINEAR_LS", 2.0 * np.diag(dynamics.weights)
    ocp.cost.yref = np.concatenate([goal, np.zeros(2 * n)])
    ocp.model.cost_y_expr = ca.vertcat(dynamics.x, dynamics.u - dynamics.gravity)
    ocp.cost.cost_type_e, ocp.cost.W_e = "LINEAR_LS", 2.0 * np.diag(dynamics.weights[: 2 * n])
    ocp.cost.Vx_e, ocp.cost.yref_e = np.eye(2 * n), ocp.cost.yref[: 2 * n]
    bounded = np.flatnonzero(np.isfinite(dynamics.x_bounds).all(axis=0))
    ocp.constraints.idxbx, (ocp.constraints.lbx, ocp.constraints.ubx) = bounded, (b[bounded] for b in dynamics.x_bounds)
    driven = np.flatnonzero(np.isfinite(dynamics.u_bound))
    ocp.constraints.idxbu, ocp.constraints.ubu = driven, dynamics.u_bound[driven]
    ocp.constraints.lbu, ocp.constraints.x0 = -ocp.constraints.ubu, np.zeros(2 * n)
    ocp.solver_options.N_horizon, ocp.solver_options.tf = STEPS, STEPS * DT
    ocp.solver_options.integrator_type, ocp.solver_options.nlp_solver_type = "IRK", "SQP_RTI"
    return ocp


def main(file: str, solver: str) -> None:
    """Let the arm move, by the model itself."""
    robot = td.RobotExpressions(td.load_model(file))
    dynamics, goal = Dynamics(robot), np.full(robot.n, 0.8)
    controller = {"opti": Opti, "acados": Acados}[solver](dynamics, goal)
    plant = ca.Function("plant", [dynamics.x, dynamics.u], [dynamics.step(dynamics.x, dynamics.u, DT / 5)])
    x, took, effort = np.zeros(2 * robot.n), [], 0.0
    for _ in range(round(DURATION / DT)):
        begin = time.perf_counter()
        tau = controller.first_effort(x)
        took.append(1e3 * (time.perf_counter() - begin))
        effort = max(effort, float(np.max(np.abs(tau) / dynamics.u_bound)))
        for _ in range(5):
            x = np.asarray(plant(x, tau)).ravel()
    error = float(np.abs(x[: robot.n] - goal).max())
    print(f"error {error:.1e} rad, effort {effort:.2f} of its limit, {statistics.median(took):.0f} ms a solution")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "opti")
