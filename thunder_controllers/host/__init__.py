"""The host: loads a compiled robot library, runs one of its laws and guards what goes in and out.

    library = Library("panda_generatedFiles/libpanda.so")
    host = Controller()
    host.configure(library, law="cartesian_backstepping", gains={"K_d": 10.0}, options=Options(nominal_dt=0.001))
    host.activate(q)
    guards = Guard(host.update(t, q, qd, dt, effort))  # effort is written in place

The C++ class behind it is `thunder::Controller`; its header says which thread may call what. Controllers in ROS are
shells around a `ControlSession`, which holds one, and the readers and reports that belong to it.
"""

from thunder_controllers.host._host import (
    LARGEST_FEEDBACK_SHARE,
    MARGIN_DELAY,
    SMALLEST_MASS,
    Configuration,
    Controller,
    ControlSession,
    Entry,
    Excitation,
    ExcitationReport,
    FeedbackMargin,
    Function,
    HealthReport,
    HealthReporter,
    JointPoint,
    Law,
    Library,
    Limits,
    MotionLimits,
    Options,
    PoseFollower,
    PosePoint,
    ReferenceReader,
    Snapshot,
    Status,
    StopShape,
    TimedJoints,
    TimedPose,
    TimeLaw,
    about_com,
    estimate_topics,
    estimated_links,
    fault_text,
    feedback_margin,
    margin_poses,
    read_estimates,
    save_estimates,
)
from thunder_controllers.host.guard import BLOCKING_GUARDS, FAULTS, Guard

__all__ = [
    "BLOCKING_GUARDS",
    "FAULTS",
    "LARGEST_FEEDBACK_SHARE",
    "MARGIN_DELAY",
    "SMALLEST_MASS",
    "Configuration",
    "ControlSession",
    "Controller",
    "Entry",
    "Excitation",
    "ExcitationReport",
    "FeedbackMargin",
    "Function",
    "Guard",
    "HealthReport",
    "HealthReporter",
    "JointPoint",
    "Law",
    "Library",
    "Limits",
    "MotionLimits",
    "Options",
    "PoseFollower",
    "PosePoint",
    "ReferenceReader",
    "Snapshot",
    "Status",
    "StopShape",
    "TimeLaw",
    "TimedJoints",
    "TimedPose",
    "about_com",
    "estimate_topics",
    "estimated_links",
    "fault_text",
    "feedback_margin",
    "margin_poses",
    "read_estimates",
    "save_estimates",
]
