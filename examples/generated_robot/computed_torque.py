"""The torque M (qdd_d + K_v e') + C qd + G at one state; the same as computed_torque.cpp. Argument: a robot file."""

import sys

import numpy as np

import thunder_dynamics as td

q, qd, qd_desired, qdd_desired = np.arange(1, 13).reshape(4, 3) / 10
K_v = 20.0

robot = td.robot(td.load_model(sys.argv[1]))
robot.set_q(q)
robot.set_dq(qd)
acceleration = qdd_desired + K_v * (qd_desired - qd)
for value in robot.get_M() @ acceleration + robot.get_C() @ qd + robot.get_G():
    print(repr(float(value)))
