"""The part of Treadle that runs in the test process of a project: this folder stands on the process's PYTHONPATH."""
