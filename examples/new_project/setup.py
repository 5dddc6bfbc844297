"""Where ament looks for a package; everything else stands in pyproject.toml."""

from setuptools import setup

setup(
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/new_project"]),
        ("share/new_project", ["package.xml"]),
    ]
)
