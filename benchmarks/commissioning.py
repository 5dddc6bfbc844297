"""The start-up motion on ten arms with physics that no description says: what it tells, and how often it is right.

    python benchmarks/commissioning.py [--seed 47] [--draws 2] [--out results/commissioning.json]

Each draw has rotors of 0.3 to 3 times a typical one, sticking friction (LuGre), 1 to 6 ms of dead time, velocity
filters of 30 to 300 Hz, drives that give 10 % more or less, offsets and encoder noise. The truth is that of the plant.
The exit status is 1 if an arm is refused, a bound of the motion is broken, the gains that follow are unstable, or
intervals of 95 % hold in fewer than nine of ten cases.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from program import cores, write_results
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

from described_arms import arm
from plant_arms import ARM, urdf_of

from thunder_controllers.commissioning.estimate import INTERVAL, Findings
from thunder_controllers.commissioning.file import suggested_gains, told_model
from thunder_controllers.commissioning.plan import Budget
from thunder_controllers.commissioning.simulation import Commissioned, SimulatedArm, commission_arm, scenario_at
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.preparation import Setup, prepare
from thunder_controllers.simulation.scenario import Run, Scenario, load_scenario
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

Array = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[1]

PANDA = [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.7]
ARMS: dict[str, tuple[str, list[float]]] = {
    "panda": ("config/robots/panda.yaml", PANDA),
    "panda_urdf": ("urdf/panda.urdf.xacro", [0.5, 0.3, -0.4, -1.6, 0.5, 2.0, -0.5]),
    "ur5": ("config/robots/ur5.yaml", [0.2, -1.2, 1.5, -1.0, -1.4, 0.3]),
    "ur5_out": ("config/robots/ur5.yaml", [-0.5, -0.6, 0.7, -0.4, 1.2, 0.0]),
    "planar3r": ("config/robots/planar3r.yaml", [0.4, 0.8, -0.6]),
    "rpr": ("config/robots/rpr.yaml", [0.3, 0.2, 0.5]),
    "sliding": (ARM, [0.3, 0.4, 0.2]),
    "chain4": (arm(4), [0.3, -0.5, 0.6, 0.4]),
    "chain6": (arm(6), [0.3, -0.5, 0.6, 0.4, -0.7, 0.2]),
    "chain7": (arm(7), [0.3, 0.9, -0.4, -0.8, 0.6, 0.7, 0.2]),
}
"""Robot files, or the text of a URDF, and where each starts [rad or m]."""

TYPICAL_ROTOR = 2e-3
"""Reflected inertia over the effort limit [s²]: 0.17 kg·m² of a drive of 87 N·m."""

BREAKAWAY = 5e-4
"""Deflection of the bristles when a joint breaks away [rad or m]."""

SUBSTEPS = 4
LAGS = ("delay", "velocity_lag")
QUANTITIES = (*LAGS, "position_noise", "velocity_noise", "rotor", "viscous", "coulomb", "offset", "gain")
AT_REST = 0.02
"""Speed that noise and friction leave an arm at rest [rad/s or m/s]; an unstable one is faster."""


class StickingPlant(MujocoPlant):
    """MuJoCo's arm with friction by bristles, LuGre [Canudas de Wit, Olsson, Åström & Lischinsky 1995].

    ż = q̇ − σ₀|q̇|z/g(q̇), g = F_c + (F_s − F_c) exp(−(q̇/v_s)²), τ_f = σ₀ z + σ₁ ż + F_v q̇.
    """

    def stick(self, coulomb: Array, static: Array, stribeck: Array, viscous: Array, inertia: Array) -> None:
        """Give joints friction; `inertia` (n,) scales the damping of bristles."""
        self._F_c, self._F_s, self._v_s, self._F_v = coulomb, static, stribeck, viscous
        self._stiff = static / BREAKAWAY
        self._damp = np.sqrt(self._stiff * inertia)
        self._z = np.zeros(self.n)

    def _move(self, motor: Array, steps: int) -> None:
        h = self.timestep
        for _ in range(steps):
            v = self.qd
            g = self._F_c + (self._F_s - self._F_c) * np.exp(-((v / self._v_s) ** 2))
            z = (self._z + h * v) / (1.0 + h * self._stiff * np.abs(v) / g)
            friction = self._stiff * z + self._damp * (z - self._z) / h + self._F_v * v
            self._z = z
            super()._move(motor - friction, 1)


def with_hand(model: RobotModel) -> str:
    """The arm as URDF, with a link where its end effector is."""
    ee = model.ee.pose
    angles = Rotation.from_matrix(ee.rotation).as_euler("xyz")
    rpy, xyz = (" ".join(repr(float(x)) for x in values) for values in (angles, ee.translation))
    ends = f'<parent link="{model.link_names[model.ee_link]}"/><child link="tip_of_arm"/>'
    joint = f'<joint name="tip_joint" type="fixed">{ends}<origin xyz="{xyz}" rpy="{rpy}"/></joint>'
    return urdf_of(model).replace("</robot>", f'<link name="tip_of_arm"/>{joint}</robot>')


def draw(rng: np.random.Generator, effort: Array) -> dict[str, Any]:
    """Hidden physics of an arm with these effort limits."""
    n = len(effort)
    return {
        "rotors": TYPICAL_ROTOR * effort * 0.3 * 10.0 ** rng.uniform(0.0, 1.0, n),
        "coulomb": effort * rng.uniform(0.01, 0.05, n),
        "static": rng.uniform(1.1, 1.6, n),
        "stribeck": rng.uniform(0.01, 0.05, n),
        "viscous": effort * rng.uniform(0.01, 0.05, n),
        "offsets": effort * rng.uniform(-0.01, 0.01, n),
        "gain": rng.uniform(0.9, 1.1, n),
        "delay": float(rng.integers(1 * SUBSTEPS, 6 * SUBSTEPS + 1)) * 1e-3 / SUBSTEPS,
        "cutoff": float(30.0 * 10.0 ** rng.uniform(0.0, 1.0)),
        "q_std": float(10.0 ** rng.uniform(-5.5, -4.5)),
    }


def document(robot: str, urdf: str, start: list[float], physics: dict[str, Any], seed: int) -> dict[str, Any]:
    """A scenario of the arm at rest."""
    plant = {
        "urdf": urdf,
        "rotors": physics["rotors"].tolist(),
        "offsets": physics["offsets"].tolist(),
        "drive_gain": physics["gain"].tolist(),
        "torque_delay": physics["delay"],
        "velocity_cutoff": physics["cutoff"],
        "noise": {"q_std": physics["q_std"]},
        "friction": {"viscous": 0.0, "coulomb": 0.0},
        "substeps": SUBSTEPS,
    }
    return {
        "name": "commissioning",
        "robot": robot,
        "plant": plant,
        "reference": {"type": "joint_lissajous", "centre": start, "amplitude": 0.0, "frequency": 0.1, "phase": 0.0},
        "start": {"q": start},
        "duration": 1.0,
        "seed": seed,
        "runs": [{"name": "commissioning"}],
    }


def sticking(setup: Setup, run: Run, model: RobotModel, physics: dict[str, Any]) -> Setup:
    """The same setup on a plant that sticks."""
    plant = StickingPlant(
        Path(run.config.plant.urdf).read_text(encoding="utf-8"),
        model.joint_names,
        setup.period,
        run.config.plant,
        seed=run.config.seed,
        rotors=physics["rotors"],
    )
    q = setup.plant.q
    inertia = np.diag(np.asarray(setup.library.evaluate("M", q))) + physics["rotors"]
    coulomb = physics["coulomb"]
    plant.stick(coulomb, physics["static"] * coulomb, physics["stribeck"], physics["viscous"], inertia)
    plant.reset(q)
    return replace(setup, plant=plant)


def truth_of(physics: dict[str, Any], rate: float) -> dict[str, Array]:
    """True values by quantity, as `Findings` has them, (n,) each."""
    one, a = np.ones(len(physics["rotors"])), -np.expm1(-2.0 * np.pi * physics["cutoff"] / rate)
    return {
        "delay": physics["delay"] * one,
        "velocity_lag": (1.0 / a - 0.5) / rate * one,
        "position_noise": physics["q_std"] * one,
        "velocity_noise": physics["q_std"] * rate * a * np.sqrt(2.0 / (2.0 - a)) * one,
        "rotor": physics["rotors"],
        "viscous": physics["viscous"],
        "coulomb": physics["coulomb"],
        "offset": physics["offsets"],
        "gain": physics["gain"],
    }


def beyond(done: Commissioned, arm: SimulatedArm, setup: Setup, physics: dict[str, Any]) -> Array:
    """Most effort of the drives beside gravity, offsets and the friction there, over the effort limit, (n,)."""
    most, limit = np.zeros(setup.library.n_joints), np.asarray(setup.library.effort_limit)
    for (_, record), (q, qd) in zip(done.stages, arm.truth, strict=True):
        held = np.asarray(setup.library.batch("G", q)) + physics["offsets"]
        friction = physics["static"] * physics["coulomb"] + physics["viscous"] * np.abs(qd)
        most = np.fmax(most, (np.abs(physics["gain"] * record.effort - held) - friction).max(axis=0) / limit)
    return most


def one_case(name: str, seed: int, index: int) -> dict[str, Any]:
    """Commission an arm with the physics of a draw, and judge it."""
    rng = np.random.default_rng([seed, sorted(ARMS).index(name), index])
    source, start = ARMS[name]
    result: dict[str, Any] = {"arm": name, "draw": index}
    with tempfile.TemporaryDirectory() as folder:
        robot = Path(folder) / "robot.urdf" if source.startswith("<") else ROOT / source
        if source.startswith("<"):
            robot.write_text(source, encoding="utf-8")
        model = load_model(robot)
        urdf = Path(folder) / "plant.urdf"
        urdf.write_text(with_hand(model), encoding="utf-8")
        physics = draw(rng, model.limits("effort"))
        file = Path(folder) / "scenario.yaml"
        file.write_text(yaml.safe_dump(document(str(robot), str(urdf), start, physics, seed)), encoding="utf-8")
        try:
            result |= judge(file, model, physics)
        except ThunderError as error:
            result["refused"] = str(error)
    return result


def judge(file: Path, model: RobotModel, physics: dict[str, Any]) -> dict[str, Any]:
    """What the motion told, over the truth, and what the gains that follow do."""
    scenario = scenario_at(load_scenario(file))
    run = scenario.runs[0]
    setup = sticking(prepare(scenario, run), run, model, physics)
    rate, start = run.config.rate, setup.plant.q
    player = SimulatedArm(setup)
    done = commission_arm(setup.library, start, rate, player, Budget())
    found, truth = done.findings, truth_of(physics, rate)
    cases = {}
    for name in QUANTITIES:
        quantity = getattr(found, name)
        error = quantity.value - truth[name]
        cases[name] = {
            "error": (error / np.abs(truth[name])).tolist() if name != "delay" else error.tolist(),
            "held": (np.abs(error) <= INTERVAL * quantity.std).tolist(),
            "told": quantity.is_told.tolist(),
            "z": (error / quantity.std).tolist(),
        }
    total = physics["delay"] + truth["velocity_lag"][0]
    return {
        "quantities": cases,
        "stages": len(done.stages),
        "reach": max(float(np.abs(q - start).max()) for q, _ in player.truth),
        "effort": float(beyond(done, player, setup, physics).max()),
        "total_delay": [float((found.delay.value + found.velocity_lag.value).max()), total],
        **stability(scenario, run, model, found, physics),
    }


def stability(
    scenario: Scenario, run: Run, model: RobotModel, found: Findings, physics: dict[str, Any]
) -> dict[str, float]:
    """Margin of the gains that follow, and how far the arm strays from rest with them."""
    told, rate = told_model(model, found), run.config.rate
    gains, margin = suggested_gains(told, "slotine_li", {}, found, rate)
    law = run.config.law.model_copy(update={"name": "slotine_li", "options": {"adaptation": "none"}, "gains": gains})
    config = run.config.model_copy(update={"law": law, "duration": 3.0})
    after = replace(run, config=config)
    setup = prepare(scenario, after, model=told)
    trace, _ = run_once(sticking(setup, after, model, physics), after)
    speed = np.sqrt((trace.qd[-1000:] ** 2).mean(axis=0)).max()
    return {"margin": margin, "speed_after": float(speed), "strayed": float(np.abs(trace.error[-1000:]).max())}


def show(results: list[dict[str, Any]]) -> bool:
    """Print what was found; whether all holds."""
    done = [one for one in results if "refused" not in one]
    for one in results:
        print(f"{one['arm']:>12} {one['draw']} ", end="")
        if "refused" in one:
            print(f"REFUSED: {one['refused']}")
            continue
        delay = np.array(one["total_delay"]) * 1e3
        print(
            f"stages {one['stages']} reach {one['reach']:.3f} effort {one['effort']:.2%} total delay {delay[0]:.2f} of "
            f"{delay[1]:.2f} ms, margin {one['margin']:.2f}, speed after {one['speed_after']:.1e}"
        )
    if not done:
        return False
    holds = len(done) == len(results) and all(
        one["reach"] < 0.1 and one["effort"] < 0.02 and one["margin"] > 1.0 and one["speed_after"] < AT_REST
        for one in done
    )
    print(f"{'quantity':>15} {'cases':>6} {'told':>6} {'held':>6} {'of told':>7} {'median':>9} {'worst told':>10}")
    for name in QUANTITIES:
        rows: Iterator[Any] = (one["quantities"][name] for one in done)
        error, held, told = (
            np.concatenate(part) for part in zip(*((r["error"], r["held"], r["told"]) for r in rows), strict=True)
        )
        right = float((held | ~told).mean())
        of_told = float(held[told].mean()) if told.any() else np.nan
        worst = float(np.abs(error[told]).max()) if told.any() else np.nan
        print(
            f"{name:>15} {len(held):6d} {told.mean():6.1%} {right:6.1%} {of_told:7.1%} "
            f"{np.median(np.abs(error)):9.2g} {worst:10.2g}"
        )
        holds &= right >= 0.9
    return holds


def main() -> int:
    """Run the draws of all arms, and show what they tell; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=47)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--arms", nargs="*", default=list(ARMS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    cases = [(name, options.seed, index) for name in options.arms for index in range(options.draws)]
    with ProcessPoolExecutor(len(cores())) as pool:
        results = list(pool.map(one_case, *zip(*cases, strict=True)))
    if options.out is not None:
        write_results(options.out, results)
    return 0 if show(results) else 1


if __name__ == "__main__":
    sys.exit(main())
