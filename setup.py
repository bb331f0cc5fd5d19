"""The packages, found: what pyproject.toml cannot say where one of them stands elsewhere."""

from setuptools import find_packages, setup

# scenarios/ is installed as pytest_ltm.scenarios.
setup(
    packages=[
        *find_packages(include=["pytest_ltm", "pytest_ltm.*"]),
        "pytest_ltm.scenarios",
    ]
)
