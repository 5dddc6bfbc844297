"""Which files of tests belong to which part of `make test-all`."""

PARTS = {
    "wheel": ("test_packaging.py",),
    "colcon": ("test_colcon.py",),
    "site": ("docs/test_site.py",),
    "notebooks": ("docs/test_notebooks.py",),
    "benchmark": ("test_benchmarks.py",),
    "sanitizers": ("host/test_adversary.py",),
    "fuzz": ("ros/test_messages_are_data.py",),
    "sros2": ("ros/test_security.py",),
    "collection": ("dynamics/test_robot_collection.py",),
}
"""What `make test-all` runs beside `make test`. pytest --part chooses one; a file that is named runs, too."""
