"""Topics, services and parameters of all nodes, as data: what the documentation and the tests of the interface read."""

from __future__ import annotations

from thunder_controllers.ros.bringup import parameters as bringup_parameters
from thunder_controllers.ros.common.interface import Direction, NodeInterface, Service, Topic
from thunder_controllers.ros.common.names import (
    BRINGUP,
    CLOCK,
    CONTROLLER,
    DIAGNOSTICS,
    GENERATOR,
    JOINT_STATES,
    LIBRARY,
    MODEL,
    MONITOR,
    REFERENCE,
    ROBOT_DESCRIPTION,
    SET_LOAD,
    SIMULATION,
    WAIT_FOR_LIBRARY,
)
from thunder_controllers.ros.controller import parameters as controller_parameters
from thunder_controllers.ros.generator import parameters as generator_parameters
from thunder_controllers.ros.reference import parameters as reference_parameters
from thunder_controllers.ros.simulation import parameters as simulation_parameters

PUBLISHES, SUBSCRIBES = Direction.PUBLISHES, Direction.SUBSCRIBES
FLOATS = "std_msgs/msg/Float64MultiArray"
TRIGGER = "std_srvs/srv/Trigger"
SET_BOOL = "std_srvs/srv/SetBool"

_DIAGNOSTICS = Topic(
    DIAGNOSTICS, "diagnostic_msgs/msg/DiagnosticArray", PUBLISHES, "MONITOR", "Health of the node, 1 Hz."
)
_MEASUREMENT = Topic(JOINT_STATES, "sensor_msgs/msg/JointState", SUBSCRIBES, "STREAM", "Positions and velocities.")
_LIBRARY_IN = Topic("{library_topic}", "std_msgs/msg/String", SUBSCRIBES, "LATCHED", "Where a generator's library is.")

_GENERATOR = NodeInterface(
    GENERATOR,
    "generator",
    "Builds the library of a robot, or reuses it, and says where it is.",
    topics=(
        Topic(LIBRARY, "std_msgs/msg/String", PUBLISHES, "LATCHED", "The library as YAML: robot, paths, hash, laws."),
        Topic(ROBOT_DESCRIPTION, "std_msgs/msg/String", SUBSCRIBES, "LATCHED", "URDF, used while `robot` is empty."),
        _DIAGNOSTICS,
    ),
    services=(Service("~/build", TRIGGER, "Build again with the parameters as they are now."),),
    parameters=generator_parameters.GENERATOR_PARAMETERS,
)

_CONTROLLER = NodeInterface(
    CONTROLLER,
    "controller",
    "Lifecycle node that runs a law in effort mode: one command for each joint_states.",
    topics=(
        _MEASUREMENT,
        _LIBRARY_IN,
        Topic(
            "~/reference",
            "trajectory_msgs/msg/MultiDOFJointTrajectoryPoint",
            SUBSCRIBES,
            "STREAM",
            "Pose, twist and acceleration of the end effector in base_frame, used as it is from the next step on.",
        ),
        Topic(
            "~/joint_reference",
            "trajectory_msgs/msg/JointTrajectoryPoint",
            SUBSCRIBES,
            "STREAM",
            "The same for joint laws: positions, velocities and accelerations in the order of `joints`; each of the "
            "latter two may be empty, which stands for zeros.",
        ),
        Topic(
            "~/target_pose",
            "geometry_msgs/msg/PoseStamped",
            SUBSCRIBES,
            "REQUEST",
            "Pose to move to, on a jerk-limited time law; frame_id must be base_frame.",
        ),
        Topic(
            "~/trajectory",
            "trajectory_msgs/msg/MultiDOFJointTrajectory",
            SUBSCRIBES,
            "REQUEST",
            "Poses at given times, interpolated so that the acceleration is continuous; starts at once, ends at rest.",
        ),
        Topic(
            "~/joint_trajectory",
            "trajectory_msgs/msg/JointTrajectory",
            SUBSCRIBES,
            "REQUEST",
            "The same for joint laws.",
        ),
        Topic("{command_topic}", FLOATS, PUBLISHES, "STREAM", "Efforts in the order of `joints` [N·m or N]."),
        Topic(
            "~/estimates/<link>",
            "geometry_msgs/msg/InertiaStamped",
            PUBLISHES,
            "MONITOR",
            "Estimate of an adapted link: m [kg], com [m], inertia about the CoM [kg·m²], in the link's frame.",
        ),
        Topic(
            "~/friction_estimates",
            FLOATS,
            PUBLISHES,
            "MONITOR",
            "Estimated friction coefficients, coefficient by joint; laws with a state friction_hat only.",
        ),
        Topic(
            "~/pose_error",
            "geometry_msgs/msg/TwistStamped",
            PUBLISHES,
            "MONITOR",
            "linear: p_d − p [m]; angular: r sin θ [1]; in base_frame. Cartesian laws only.",
        ),
        Topic(
            "~/joint_error",
            "sensor_msgs/msg/JointState",
            PUBLISHES,
            "MONITOR",
            "position: q_d − q [rad or m]; velocity: q̇_d − q̇; in the order of `joints`. Joint laws only.",
        ),
        Topic(
            "~/controller_state",
            "control_msgs/msg/JointTrajectoryControllerState or " + FLOATS,
            PUBLISHES,
            "MONITOR",
            "Measured position and velocity, commanded effort; for joint laws the reference too. Without control_msgs "
            "these are the labelled rows of an array.",
        ),
        Topic("~/pose", "geometry_msgs/msg/PoseStamped", PUBLISHES, "MONITOR", "Pose of the end effector."),
        _DIAGNOSTICS,
    ),
    services=(
        Service("~/freeze_adaptation", SET_BOOL, "Keep the estimates constant, or adapt."),
        Service("~/reset_estimates", TRIGGER, "Back to the estimates that the node was configured with."),
        Service("~/save_estimates", TRIGGER, "Write the estimates to a file that estimates_file accepts."),
        Service(
            "~/stop",
            TRIGGER,
            "Come to rest within the limits of path.… and hold that place. Stop the source of a stream first: its next "
            "sample is followed again.",
        ),
    ),
    parameters=controller_parameters.PARAMETERS,
)

_SIMULATION = NodeInterface(
    SIMULATION,
    "simulation",
    "MuJoCo plant in real time or in lock-step with the controller.",
    topics=(
        Topic(JOINT_STATES, "sensor_msgs/msg/JointState", PUBLISHES, "STREAM", "Stamped with simulated time."),
        Topic(CLOCK, "rosgraph_msgs/msg/Clock", PUBLISHES, "SENSOR", "Simulated time."),
        Topic("{command_topic}", FLOATS, SUBSCRIBES, "STREAM", "Efforts in the order of the joints [N·m or N]."),
        Topic(
            "{lockstep_reference}",
            "trajectory_msgs/msg/MultiDOFJointTrajectoryPoint",
            SUBSCRIBES,
            "STREAM",
            "Waited for in lock-step, not read.",
        ),
        Topic(
            "{lockstep_joint_reference}",
            "trajectory_msgs/msg/JointTrajectoryPoint",
            SUBSCRIBES,
            "STREAM",
            "The same for joint laws.",
        ),
        Topic(
            "~/status", "diagnostic_msgs/msg/DiagnosticArray", PUBLISHES, "MONITOR", "Rate kept, late steps, commands."
        ),
        _DIAGNOSTICS,
    ),
    services=(
        Service("~/reset", TRIGGER, "Arm back to its start, at rest and without payload, faults off; time goes on."),
        Service("~/pause", SET_BOOL, "Stop the simulated time, or let it go on."),
        Service("~/attach_payload", TRIGGER, "Fix the body of the parameters payload.… to its link."),
        Service("~/detach_payload", TRIGGER, "Take it off."),
        Service("~/inject_fault", SET_BOOL, "Start the fault of the parameters fault.…, or end it."),
    ),
    parameters=simulation_parameters.SIMULATION_PARAMETERS,
)

_REFERENCE = NodeInterface(
    REFERENCE,
    "reference",
    "Streams a reference to the controller, one for each joint_states.",
    topics=(
        _MEASUREMENT,
        Topic("{controller}/pose", "geometry_msgs/msg/PoseStamped", SUBSCRIBES, "MONITOR", "Where motion starts."),
        Topic(
            "{controller}/pose_error",
            "geometry_msgs/msg/TwistStamped",
            SUBSCRIBES,
            "MONITOR",
            "Tells that the controller is active, for autostart.",
        ),
        Topic("{controller}/joint_error", "sensor_msgs/msg/JointState", SUBSCRIBES, "MONITOR", "The same, joint laws."),
        _LIBRARY_IN,
        Topic(
            "{controller}/reference",
            "trajectory_msgs/msg/MultiDOFJointTrajectoryPoint",
            PUBLISHES,
            "STREAM",
            "Pose, twist and acceleration in the world frame.",
        ),
        Topic(
            "{controller}/joint_reference",
            "trajectory_msgs/msg/JointTrajectoryPoint",
            PUBLISHES,
            "STREAM",
            "Positions, velocities and accelerations of the joints, for the joint motions.",
        ),
    ),
    services=(
        Service("~/start", TRIGGER, "Start the motion."),
        Service("~/stop", TRIGGER, "Bring the motion to rest smoothly, then fall silent."),
        Service("~/hold", TRIGGER, "Bring the motion to rest smoothly, and hold that pose."),
    ),
    parameters=reference_parameters.REFERENCE_PARAMETERS,
)

_MODEL = NodeInterface(
    MODEL,
    "model",
    "Evaluates functions of the library at the measured joint state.",
    topics=(
        _MEASUREMENT,
        _LIBRARY_IN,
        Topic("~/<function>", FLOATS, PUBLISHES, "MONITOR", "Value of the function, its shape in the layout."),
    ),
    services=(),
    parameters=generator_parameters.MODEL_PARAMETERS,
)

_BRINGUP = NodeInterface(
    BRINGUP,
    "bringup",
    "Configures the controller node as soon as there is a library, activates it when there is a robot, then ends.",
    topics=(_LIBRARY_IN,),
    services=(),
    parameters=bringup_parameters.BRINGUP_PARAMETERS,
)

_WAIT_FOR_LIBRARY = NodeInterface(
    WAIT_FOR_LIBRARY,
    "wait_for_library",
    "Writes a ROS parameter file that gives the ros2_control plugin its library as soon as there is one, then ends.",
    topics=(_LIBRARY_IN,),
    services=(),
    parameters=bringup_parameters.WAIT_FOR_LIBRARY_PARAMETERS,
)

_SET_LOAD = NodeInterface(
    SET_LOAD,
    "set_load",
    "Tells a Franka the load at its flange (SetLoad) as soon as its service is there, then ends.",
    topics=(),
    services=(),
    parameters=bringup_parameters.SET_LOAD_PARAMETERS,
)

_MONITOR = NodeInterface(
    MONITOR,
    "monitor",
    "Writes error and estimates of a controller as lines of text, and a summary at its end.",
    topics=(
        Topic("{controller}/pose_error", "geometry_msgs/msg/TwistStamped", SUBSCRIBES, "MONITOR", "Error to show."),
        Topic("{controller}/joint_error", "sensor_msgs/msg/JointState", SUBSCRIBES, "MONITOR", "The same, joint laws."),
        Topic("{controller}/estimates/<link>", "geometry_msgs/msg/InertiaStamped", SUBSCRIBES, "MONITOR", "To show."),
        Topic(DIAGNOSTICS, "diagnostic_msgs/msg/DiagnosticArray", SUBSCRIBES, "MONITOR", "Rate of the controller."),
    ),
    services=(),
    parameters=bringup_parameters.MONITOR_PARAMETERS,
)

NODES = {
    node.name: node
    for node in (
        _GENERATOR,
        _CONTROLLER,
        _SIMULATION,
        _REFERENCE,
        _MODEL,
        _BRINGUP,
        _WAIT_FOR_LIBRARY,
        _SET_LOAD,
        _MONITOR,
    )
}
"""Every node by its default name."""
