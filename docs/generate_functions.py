"""Write the tables of docs/functions.md from the functions of the example robots.

python docs/generate_functions.py            # writes the page
python docs/generate_functions.py --check    # exit status 1 if the page is not what would be written
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from thunder_dynamics import load_model
from thunder_dynamics.expressions import RobotExpressions

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "functions.md"
BEGIN, END = "<!-- functions, by docs/generate_functions.py -->", "<!-- end of functions -->"
ROBOTS = ("panda", "sea2")
"""Each function is counted on the first of these that has it; the rigid joints of the second have rotors here."""

FEATHERSTONE, CRAIG = "Featherstone 2008", "Craig 2005"
SLOTINE, ECHEANDIA = "Slotine & Li 1987", "Echeandia & Wensing 2021"
AD = "automatic differentiation"

ABOUT = {
    "T_0_i": ("1, m", f"{CRAIG}, ch. 3"),
    "T_0_ee": ("1, m", f"{CRAIG}, ch. 3"),
    "J_i": ("m, 1", f"{CRAIG}, ch. 5"),
    "J_ee": ("m, 1", f"{CRAIG}, ch. 5"),
    "J_ee_dot": ("m/s, 1/s", "derivative of the columns by hand"),
    "J_ee_ddot": ("m/s², 1/s²", AD),
    "J_ee_pinv": ("1/m, 1", "Nakamura & Hanafusa 1986"),
    "M": ("kg·m²", f"{FEATHERSTONE}, ch. 6, composite bodies"),
    "M_dot": ("kg·m²/s", AD),
    "M_ddot": ("kg·m²/s²", AD),
    "M_inv": ("1/(kg·m²)", f"{FEATHERSTONE}, ch. 7, per unit torque"),
    "C": ("N·m·s", f"{ECHEANDIA}, alg. 1"),
    "C_dot": ("N·m", AD),
    "C_ddot": ("N·m/s", AD),
    "G": ("N·m", f"{FEATHERSTONE}, ch. 6, composite bodies"),
    "G_dot": ("N·m/s", AD),
    "G_ddot": ("N·m/s²", AD),
    "inverse_dynamics": ("N·m", f"{FEATHERSTONE}, ch. 5"),
    "forward_dynamics": ("rad/s²", f"{FEATHERSTONE}, ch. 7"),
    "momentum": ("N·m·s", f"{FEATHERSTONE}, ch. 5, with dq for ddq"),
    "kinetic_energy": ("J", "by its regressor"),
    "potential_energy": ("J", "by its regressor"),
    "com": ("m", "composite bodies"),
    "J_com": ("m", "momentum of the moved subtree"),
    "J_com_dot": ("m/s", AD),
    "M_wrt_q": ("kg·m²", f"{ECHEANDIA}, alg. 2"),
    "C_wrt_q": ("N·m·s", AD),
    "C_wrt_dq": ("kg·m²", f"{ECHEANDIA}, alg. 2"),
    "G_wrt_q": ("N·m", AD),
    "inverse_dynamics_wrt_q": ("N·m", AD),
    "inverse_dynamics_wrt_dq": ("N·m·s", "C is linear in dq, and symmetric"),
    "forward_dynamics_wrt_q": ("1/s²", "−M⁻¹·∂τ/∂q [Carpentier & Mansard 2018]"),
    "forward_dynamics_wrt_dq": ("1/s", "−M⁻¹·∂τ/∂dq [Carpentier & Mansard 2018]"),
    "Yr": ("N·m per π", SLOTINE),
    "Y": ("N·m per π", SLOTINE),
    "reg_M": ("N·m per π", SLOTINE),
    "reg_C": ("N·m per π", SLOTINE),
    "reg_G": ("N·m per π", SLOTINE),
    "Yr_symb": ("N·m per π", SLOTINE),
    "Yr_known": ("N·m", f"{FEATHERSTONE}, ch. 5"),
    "Y_symb": ("N·m per π", SLOTINE),
    "Y_known": ("N·m", f"{FEATHERSTONE}, ch. 5"),
    "reg_momentum": ("N·m·s per π", SLOTINE),
    "reg_kinetic_energy": ("J per π", "Gautier & Khalil 1988"),
    "reg_potential_energy": ("J per π", "Gautier & Khalil 1988"),
    "Yb": ("N·m per π_b", "Gautier 1991"),
    "Kb": ("SI", "Gautier 1991"),
    "pi_b": ("SI", "Gautier 1991"),
    "reg_Jdq": ("1/s, rad/s per 1", "Cheah, Liu & Slotine 2006"),
    "reg_JTw": ("N, N·m per 1", "Cheah, Liu & Slotine 2006"),
    "dl": ("N·m", "polynomial, Coulomb smoothed by tanh"),
    "reg_dl": ("rad/s, …", "polynomial"),
    "k": ("N·m", "Spong 1987, odd powers"),
    "d": ("N·m", "Spong 1987, powers"),
    "dm": ("N·m", "Spong 1987, powers"),
    "Mm": ("kg·m²", "Spong 1987"),
    "reg_k": ("rad, …", "polynomial"),
    "reg_d": ("rad/s, …", "polynomial"),
    "reg_dm": ("rad/s, …", "polynomial"),
    "reg_Mm": ("rad/s²", "Spong 1987"),
    "reg_Ia": ("rad/s²", "diagonal"),
    "par_REG": ("kg, kg·m, kg·m²", "of the robot file"),
    "par_REG_from_DYN": ("SI", "parallel axes"),
    "par_DYN_from_REG": ("SI", "parallel axes"),
    "pi_from_DYN": ("SI", "parallel axes"),
}
"""Unit for revolute joints, and source, of every function."""


def page() -> str:
    """The page, its tables written anew."""
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return head + BEGIN + "\n\n" + tables() + "\n\n" + END + rest.split(END)[1]


def tables() -> str:
    """One table of what every library has, one of what is compiled on request."""
    found: dict[str, tuple[RobotExpressions, str]] = {}
    models = [load_model(ROOT / f"config/robots/{name}.yaml") for name in ROBOTS]
    rigid = (link.joint.name for link in models[1].links if not link.joint.elastic)
    models[1] = models[1].with_rotor_inertias(dict.fromkeys(rigid, 0.1))
    for robot in map(RobotExpressions, models):
        for name in (*robot.functions, *robot.functions_on_request):
            key = re.sub(r"^(T_0|J)_\d+$", r"\1_i", name)
            if found.get(key, (robot, ""))[0] is robot:  # of T_0_i and J_i, the last
                found[key] = (robot, name)
    parts = []
    for title, on_request in (("In every library", False), ("On request", True)):
        rows = [_row(key, *place) for key, place in found.items() if place[0].spec(place[1]).on_request is on_request]
        header = "| `get_…` | of | what it is | shape | unit | source | operations |\n|---|---|---|---|---|---|---:|\n"
        parts.append(f"### {title}\n\n" + header + "\n".join(rows))
    return "\n\n".join(parts)


def _row(key: str, robot: RobotExpressions, name: str) -> str:
    spec, function, (unit, source) = robot.spec(name), robot.function(name), ABOUT[key]
    shape = "×".join(map(str, function.size_out(0) if spec.is_matrix else function.size_out(0)[:1]))
    mark = "" if robot.model.name == ROBOTS[0] else f" ({robot.model.name})"
    cells = (
        f"`{key}`",
        " ".join(spec.arguments),
        spec.description,
        shape + mark,
        unit,
        source,
        f"{robot.operations(name):,}",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> int:
    """Write the page, or check it; returns the exit status."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(text != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
