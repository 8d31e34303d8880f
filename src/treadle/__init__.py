"""Treadle drives coding agents through test-first protocols and believes nothing it has not checked itself."""

__version__ = "0.1.0"
