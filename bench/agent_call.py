"""One call of a real agent by Treadle against the same program in a shell script; the model is played and answers at
once, so that all that is long in a real call is as short as it can be.

Treadle's time is that of an activity in a real run, from its dispatch to its claim in the log: a lane, a bundle, a
HOME, a keeper, the stream, the answer, and no checks. The script (`agent_call_script.sh`) has the same command line,
variables, prompt and tools, which the same process serves; its HOME and its checkout stay, as a user's do. Treadle's
agents are in no box, the script's neither; what a box costs is told apart.
"""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench.agent_call_script import Script
from bench.agent_call_timed import PARTS, Timed
from tools.agents.apart import inside_apart, lacking
from treadle.config.load import load_settings
from treadle.config.project import Project
from treadle.enclosures.box import Box, find_box
from treadle.engines.local import Host
from treadle.engines.opening import opened_store
from treadle.engines.starting import Wanted, start
from treadle.engines.surroundings import ProjectSurroundings
from treadle.mcp.http import HttpTools
from treadle.ports import Runner
from treadle.protocol.load import load
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.loop import only_people
from treadle.runtime.world import World
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.testing.model_server.server import ModelServer
