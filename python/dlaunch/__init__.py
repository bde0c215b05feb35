"""Start jobs of dlaunch from Python. docs/python.md has examples.

run() waits for the end of a job, start() reads its lines while it runs, and call() runs a Python function in each rank.
"""
from ._call import RankFailed, call
from ._job import Failure, Job, JobFailed, Line, Rank, Result, binary, run, start

__all__ = ["Failure", "Job", "JobFailed", "Line", "Rank", "RankFailed", "Result", "binary", "call", "run", "start"]
