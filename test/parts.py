"""Which files of tests, or tests of a file, belong to which part of `make test-all`."""

PARTS = {
    "wheel": ("test_packaging.py",),
    "colcon": ("test_colcon.py",),
    "site": ("docs/test_site.py",),
    "notebooks": ("docs/test_notebooks.py",),
    "benchmark": ("test_benchmarks.py",),
    "sanitizers": (
        "host/test_adversary.py",
        "host/test_host_cpp.py::test_configuring_and_updating_threads",
        "host/test_host_cpp.py::test_soak_is_clean_under_sanitizers",
        "host/test_host_bit_for_bit.py::test_cpp_and_python_give_the_same_bits[joint compensated, sanitizers]",
    ),
    "fuzz": ("ros/test_messages_are_data.py",),
    "sros2": ("ros/test_security.py",),
    "franka": ("franka/test_host_on_a_franka.py", "franka/test_protocol_5.py"),
    "collection": ("dynamics/test_robot_collection.py",),
}
"""What `make test-all` runs beside `make test`. pytest --part chooses one; a file that is named runs, too."""
