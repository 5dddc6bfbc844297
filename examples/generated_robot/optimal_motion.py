"""The motion from rest to rest with the least effort, with CasADi's Opti. Argument: a robot file."""

import sys

import casadi as ca

import thunder_dynamics as td

robot = td.RobotExpressions(td.load_model(sys.argv[1]))
forward_dynamics = robot.function("forward_dynamics")
STEPS, DT, GOAL = 40, 0.025, 1.0

opti = ca.Opti()
q, qd, tau = opti.variable(robot.n, STEPS + 1), opti.variable(robot.n, STEPS + 1), opti.variable(robot.n, STEPS)
for k in range(STEPS):
    opti.subject_to(qd[:, k + 1] == qd[:, k] + DT * forward_dynamics(q[:, k], qd[:, k], tau[:, k]))
    opti.subject_to(q[:, k + 1] == q[:, k] + DT * qd[:, k + 1])
opti.subject_to([q[:, 0] == 0, qd[:, 0] == 0, q[:, STEPS] == GOAL, qd[:, STEPS] == 0])
opti.minimize(ca.sumsqr(tau))
opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
solution = opti.solve()
print(f"effort {solution.value(opti.f):.6g}")
