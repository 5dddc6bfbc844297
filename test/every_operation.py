"""A user's function with every operation that an expression can have, as the text of its file."""

OPERATIONS = """
import casadi as ca

def add_functions(robot):
    q = robot.symbol("q")
    x, y, u = q[0], q[1], ca.tanh(q[2])
    unary = (ca.sqrt, ca.sin, ca.cos, ca.tan, ca.atan, ca.sinh, ca.cosh, ca.tanh, ca.asinh, ca.exp, ca.log, ca.log1p,
             ca.expm1, ca.erf, ca.floor, ca.ceil, ca.fabs, ca.sign, ca.logic_not)
    binary = (ca.fmod, ca.copysign, ca.atan2, ca.hypot, ca.remainder, ca.fmin, ca.fmax, ca.power, ca.lt, ca.le, ca.eq,
              ca.ne, ca.logic_and, ca.logic_or, ca.plus, ca.minus, ca.times, ca.rdivide)
    binary += (lambda a, b: ca.if_else(a < b, a, b),)
    outputs = [f(v) for f in unary for v in (x, x + y)] + [f(*v) for f in binary for v in ((x, y), (x, x), (x, -0.5))]
    outputs += [ca.asin(u), ca.acos(u), ca.atanh(u), ca.acosh(1 + x * x), x**3, x**2.5, x * x, x + x, 1 / x, -x]
    outputs += [ca.sin(ca.cos(x)), ca.if_else(x > 0, x, float("nan"))]
    outputs += [ca.fmin(x, ca.inf), ca.fmax(x, -ca.inf)]
    robot.add_function("everything", ca.vertcat(*outputs), ["q"], "Every operation.")
"""
