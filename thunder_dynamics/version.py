"""The version of the package, of the generator and of what it generates."""

__version__ = "0.1.0"
