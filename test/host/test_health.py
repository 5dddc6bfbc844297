"""What /diagnostics says: levels, texts and names of values, and how well a motion excites the estimates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from picking_arm import BODY, KNOWN, MOTION, RAMP_TIME, WARM, PickingArm
from picking_arm import STEP as PERIOD
from picking_arm import build_library as build_picking
from session_loop import HOME, START, STEP
from session_loop import SessionLoop as Run

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Excitation,
    Figure,
    HealthReporter,
    Library,
    Options,
    TrackingError,
)

OK, WARN, ERROR, STALE = range(4)


@pytest.fixture
def run(library: Library) -> Run:
    return Run(Configuration(library, law="joint_adaptive"))


def test_what_is_not_active_is_well_unless_there_is_a_message(run: Run) -> None:
    reporter = HealthReporter()
    report = reporter.report("unconfigured")
    assert (report.level, report.message) == (OK, "unconfigured")
    assert report.values == {"state": "unconfigured", "reference": "none"}
    report = reporter.report("inactive", snapshot=run.session.snapshot(), messages=["activate refused: a", "b"])
    assert (report.level, report.message) == (WARN, "activate refused: a; b")
    assert report.values["reference"] == "hold" and report.values["adaptation frozen"] == "False"


def test_a_controller_that_runs_is_well_and_shows_its_times(run: Run) -> None:
    reporter = HealthReporter()
    run.activate()
    for k in range(1, 3):
        run.update(100)
        report = reporter.report("active", snapshot=run.session.snapshot())
        assert (report.level, report.message) == (OK, "active")
        assert report.values["steps"] == str(100 * k)
        assert float(report.values["loop rate [Hz]"]) == pytest.approx(1e3, rel=1e-5)
        names = ["step time p99 [us]", "step time mean [us]", "step time max [us]", "jitter p99 [ms]"]
        assert all(float(report.values[name]) >= 0.0 for name in names)


def test_a_loop_that_should_keep_a_period_and_loses_more_than_a_hundredth_is_a_warning(run: Run) -> None:
    reporter = HealthReporter()
    run.activate()
    for advance, level in ((STEP, OK), (1.005 * STEP, OK), (1.03 * STEP, WARN), (STEP, OK)):
        run.update(100, advance=advance)
        report = reporter.report("active", snapshot=run.session.snapshot(), period=STEP)
        assert report.level == level
        assert report.message == ("active" if level == OK else "loop rate 971 Hz, below 990")
    run.update(100, advance=1.03 * STEP)
    assert reporter.report("active", snapshot=run.session.snapshot()).level == OK


def test_a_fault_is_news_once_and_guards_decide_the_level(run: Run) -> None:
    reporter = HealthReporter()
    run.activate()
    run.update(10)
    assert reporter.report("active", snapshot=run.session.snapshot()).level == OK
    run.update(q=np.array([np.nan, 0.0]))
    report = reporter.report("active", snapshot=run.session.snapshot())
    assert (report.level, report.message) == (ERROR, "guard measurement_non_finite")
    assert report.values["guard measurement_non_finite"] == "1"
    run.update()
    assert reporter.report("active", snapshot=run.session.snapshot()).message == "active"
    run.session.stream(np.array([0.1, 0.2, 0.0, 0.0, 0.0, 0.0]))
    run.update(100)
    report = reporter.report("active", snapshot=run.session.snapshot())
    assert report.level == WARN and report.message.endswith("reference lost; guard reference_stale")
    assert report.values["reference"] == "stopping after a lost stream"


def test_the_end_of_a_stream_is_told_for_as_long_as_nothing_else_is_followed(run: Run) -> None:
    reporter, ended = HealthReporter(), "the stream of references has ended: the place is held"
    run.activate()
    run.session.stream(np.array([0.1, 0.2, 0.0, 0.0, 0.0, 0.0]))
    run.update(100)
    for _ in range(3):
        run.update(100)
        report = reporter.report("active", snapshot=run.session.snapshot())
        assert report.level == WARN and ended in report.message
    run.session.stop_motion()
    run.update()
    reporter.report("active", snapshot=run.session.snapshot())
    run.update(10)
    assert reporter.report("active", snapshot=run.session.snapshot()).message == "active"


def test_efforts_that_are_cut_to_their_rate_are_a_warning_but_those_of_a_stop(library: Library) -> None:
    run, reporter = Run(Configuration(library, law="joint_adaptive"), effort_rate_limit=[1.0, 1.0]), HealthReporter()
    run.activate()
    run.update(10)
    report = reporter.report("active", snapshot=run.session.snapshot())
    assert report.level == OK and report.values["guard effort_rate_limited"] == "0"
    for k in (1, 2):
        run.update(10, q=START + 0.004)
        report = reporter.report("active", snapshot=run.session.snapshot())
        assert int(report.values["guard effort_rate_limited"]) == 10 * k
        assert report.level == WARN and "effort_rate_limited" in report.message
    run.session.begin_stop()
    run.update(10, q=START + 0.004)
    report = reporter.report("active", snapshot=run.session.snapshot())
    assert int(report.values["guard effort_rate_limited"]) == 30
    assert report.level == OK and "effort_rate_limited" not in report.message


# --- tracking error --------------------------------------------------------------------------------------------------


def test_the_tracking_error_is_the_largest_since_the_last_report(run: Run) -> None:
    tracking = TrackingError(run.configuration)
    run.activate()
    for offset in (0.01, -0.03, 0.02, np.nan):  # the last is no measurement
        run.update(q=START + [0.0, offset])
        tracking.add(run.session.snapshot())
    assert tracking.take() == pytest.approx(0.03, abs=1e-12)
    assert tracking.take() is None, "nothing was shown since then"
    run.session.deactivate()
    tracking.add(run.session.snapshot())
    assert tracking.take() is None, "it is not active"


@pytest.mark.parametrize(("limit", "level"), [(0.01, WARN), (0.02, OK), (np.inf, OK)])
def test_a_tracking_error_above_its_limit_is_a_warning(run: Run, limit: float, level: int) -> None:
    run.activate()
    run.update()
    report = HealthReporter().report(
        "active", snapshot=run.session.snapshot(), tracking_error=0.02, tracking_error_limit=limit
    )
    assert report.level == level and report.values["tracking error max [rad or m]"] == "0.02"
    assert ("tracking error 0.02 above 0.01" in report.message) is (level == WARN)


# --- what the arm carries --------------------------------------------------------------------------------------------


class Carrying:
    """The arm that picks a body up, with a session that moves it."""

    def __init__(self) -> None:
        self.arm, self._reporter = PickingArm(), HealthReporter()
        certain = dict.fromkeys(("drive_gain_std", "effort_offset_std"), [0.0, 0.0, 0.0])
        self._session = ControlSession(Configuration(build_picking()), Options(), gains=certain)
        self._effort = np.zeros(3)
        self._session.activate(self.arm.q, self.arm.qd, self.arm.held)
        self._session.trace(Figure(**MOTION, ramp_time=RAMP_TIME))
        self._count = 0

    def _answer(self) -> NDArray[np.float64]:
        self._count += 1
        t = self._count * PERIOD
        self._session.update(round(1e9 * t), t, self.arm.q, self.arm.qd, PERIOD, self._effort)
        return self._effort

    def move(self, seconds: float) -> dict[str, str]:
        """Move on; what is said of a change, which is no fault."""
        self.arm.move(seconds, self._answer)
        report = self._reporter.report("active", snapshot=self._session.snapshot())
        assert (report.level, report.message) == (OK, "active")
        return {name: text for name, text in report.values.items() if name.startswith(("change", "picked up"))}

    def deactivate(self) -> dict[str, str]:
        self._session.deactivate()
        return dict(self._reporter.report("inactive", snapshot=self._session.snapshot()).values)


@pytest.fixture
def carrying(build_cache: Path) -> Carrying:
    return Carrying()


@pytest.mark.slow
def test_a_body_that_is_picked_up_or_put_down_is_shown_with_its_mass(carrying: Carrying) -> None:
    assert carrying.move(WARM) == {}
    carrying.arm.pick_up()
    assert carrying.move(1.0)["change"] == "unknown"
    for sign in (1.0, -1.0):
        shown = carrying.move(KNOWN)
        mass, deviation = map(float, shown["picked up [kg]"].split(" ± "))
        assert shown["change"] == "body" and 0.0 < deviation < 0.01
        assert abs(mass - sign * BODY.mass) < 4.0 * deviation
        carrying.arm.put_down()
    assert "change" not in carrying.deactivate()


def test_a_contact_is_shown_without_a_mass(carrying: Carrying) -> None:
    carrying.move(WARM)
    carrying.arm.pick_up()
    carrying.move(1.0)
    carrying.arm.put_down()
    shown = carrying.move(0.5)
    assert shown.pop("change") == "contact"
    assert 0.4 < float(shown.pop("change age [s]")) < 0.5
    assert shown == {}


# --- what a shell adds -----------------------------------------------------------------------------------------------


def test_guards_of_normal_operation_are_no_fault(run: Run) -> None:
    reporter = HealthReporter()
    run.session.freeze_adaptation(True)
    run.activate()
    run.update(10)
    run.session.begin_stop()
    run.update(10)
    report = reporter.report("active", snapshot=run.session.snapshot())
    assert (report.level, report.values["adaptation frozen"]) == (OK, "True")
    assert int(report.values["guard adaptation_frozen"]) == 10 and int(report.values["guard stopping"]) == 10


def test_counters_of_the_shell_are_news_also_after_they_were_set_back(run: Run) -> None:
    reporter = HealthReporter()
    run.activate()
    expected = [(0, OK, "active"), (3, WARN, "references refused"), (3, OK, "active"), (1, WARN, "references refused")]
    for count, level, message in expected:
        run.update()
        report = reporter.report("active", snapshot=run.session.snapshot(), counters={"references refused": count})
        assert (report.level, report.message) == (level, message)
        assert report.values["references refused"] == str(count)


def test_messages_stand_before_faults(run: Run) -> None:
    run.activate()
    run.update()
    snapshot = run.session.snapshot()
    report = HealthReporter().report("active", snapshot=snapshot, messages=["contact"], counters={"late": 1})
    assert (report.level, report.message) == (WARN, "contact; late")


def test_silence_is_stale_and_so_is_a_controller_that_is_not_updated(run: Run) -> None:
    reporter = HealthReporter()
    run.activate()
    run.update()
    why = "no usable joint_states for 0.30 s: the effort is the safe one"
    report = reporter.report("active", snapshot=run.session.snapshot(), silence=why)
    assert (report.level, report.message) == (STALE, why)
    report = reporter.report("active", snapshot=run.session.snapshot())
    assert (report.level, report.message) == (STALE, "no update since the last report")
    run.session.deactivate()
    run.activate()
    run.update()  # as many steps as in the activation before
    assert reporter.report("active", snapshot=run.session.snapshot()).level == OK


def test_another_session_s_first_activation_is_another_one(library: Library) -> None:
    """Cleaned up, configured and activated again between two reports: steps and times begin anew."""
    reporter, runs = HealthReporter(), [Run(Configuration(library, law="joint_adaptive")) for _ in range(2)]
    for run, count in zip(runs, (1000, 10), strict=True):
        run.activate()
        run.update(count)
        report = reporter.report("active", snapshot=run.session.snapshot())
        assert float(report.values["loop rate [Hz]"]) == pytest.approx(1e3, rel=1e-5)


def test_a_period_that_is_nonsense_says_nothing_of_the_jitter(run: Run) -> None:
    run.activate()
    run.update(10)
    for dt in (1e300, -1e300, np.inf, np.nan):  # no integer holds them in nanoseconds
        run.session.update(0, run.t, run.start, run.rest, dt, run.effort)
    report = HealthReporter().report("active", snapshot=run.session.snapshot())
    assert float(report.values["jitter p99 [ms]"]) < 1e-3


def test_times_that_the_shell_measures_are_reported_exactly(run: Run) -> None:
    latencies, intervals = np.linspace(1e-3, 2e-3, 77), np.array([1.0, 1.1, 0.8, 1.0]) * 1e-3
    run.activate()
    run.update()
    snapshot = run.session.snapshot()
    values = HealthReporter().report("active", snapshot=snapshot, latencies=latencies, intervals=intervals).values
    late = np.abs(intervals - np.median(intervals))
    expected = {
        "loop rate [Hz]": 1.0 / intervals.mean(),
        "jitter p99 [ms]": 1e3 * np.percentile(late, 99.0),
        "command latency p50 [ms]": 1e3 * np.percentile(latencies, 50.0),
        "command latency p99 [ms]": 1e3 * np.percentile(latencies, 99.0),
        "command latency max [ms]": 2.0,
    }
    assert {name: float(values[name]) for name in expected} == pytest.approx(expected, rel=1e-5)


def test_values_come_in_order_further_ones_last(run: Run) -> None:
    run.activate()
    run.update()
    report = HealthReporter().report(
        "active", snapshot=run.session.snapshot(), counters={"z": 0, "a": 0}, extra={"scheduling": "other"}
    )
    names = list(report.values)
    assert names[:2] == ["state", "reference"] and names[-1] == "scheduling"
    assert names.index("z") + 1 == names.index("a") < names.index("reference lost") < names.index("guard runaway")


# --- excitation ------------------------------------------------------------------------------------------------------


def test_a_law_that_adapts_no_link_excites_nothing(library: Library) -> None:
    assert Excitation(Configuration(library, law="joint_adaptive")).report() is None


def drive(run: Run, excitation: Excitation, count: int, period: float) -> list[tuple[NDArray[np.float64], ...]]:
    """Move all joints, show every step to the excitation; returns what it saw."""
    seen = []
    for k in range(count):
        phase = 2.0 * np.pi * period * k * np.arange(1, 8)
        q, qd = HOME + 0.05 * np.sin(phase), 0.1 * np.cos(phase)
        run.t += 0.01
        run.session.update(0, run.t, q, qd, STEP, run.effort)
        snapshot = run.session.snapshot()
        excitation.add(snapshot)
        seen.append((snapshot.q, snapshot.qd, snapshot.telemetry("qd_r")))
    return seen


def information(configuration: Configuration, seen: list[tuple[NDArray[np.float64], ...]]) -> NDArray[np.float64]:
    """W by its definition, in numpy."""
    W = np.zeros((10, 10))
    for (_, _, before), (q, qd, qd_r) in zip(seen[:-1], seen[1:], strict=True):
        Y = configuration.library.evaluate("Yr", q, qd, qd_r, (qd_r - before) / 0.01)[:, 60:70]
        W = np.exp(-0.01 / 5.0) * W + 0.01 * Y.T @ Y
    return W


def test_excitation_is_that_of_the_integral_of_the_regressor(panda: Configuration) -> None:
    run, excitation = Run(panda, HOME), Excitation(panda)
    run.activate()
    report = excitation.report()
    assert report is not None and (report.smallest_singular_value, report.rank) == (0.0, 0)
    values = np.linalg.eigvalsh(information(panda, drive(run, excitation, 300, 0.01)))
    report = excitation.report()
    assert report is not None
    # Rounding of the eigenvalues is that of the largest one.
    assert report.smallest_singular_value == pytest.approx(max(values[0], 0.0), abs=1e-14 * values[-1])
    assert report.rank == (values > 1e-6 * values[-1]).sum() > 5


def test_excitation_begins_anew_with_each_activation_and_sees_nothing_between(panda: Configuration) -> None:
    run, excitation = Run(panda, HOME), Excitation(panda)
    run.activate()
    drive(run, excitation, 50, 0.01)
    run.session.deactivate()
    excitation.add(run.session.snapshot())
    before = excitation.report()
    assert before is not None and before.rank > 0
    run.activate()
    drive(run, excitation, 1, 0.01)
    after = excitation.report()
    assert after is not None and after.rank == 0
    excitation.add(run.session.snapshot())  # the same step again
    assert excitation.report().rank == 0
