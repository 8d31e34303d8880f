"""Calls of an agent by Treadle: runs of a protocol with one step, in a project, and the time that each part takes."""

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from treadle.agents.one_shot import OneShot
from treadle.config.load import load_settings
from treadle.config.project import Project
from treadle.engines.local import Host
from treadle.engines.opening import opened_store
from treadle.engines.starting import Wanted, create
from treadle.engines.surroundings import ProjectSurroundings
from treadle.ports import Abilities, Ended, Session, Watch, Work
from treadle.protocol.load import load
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.loop import only_people
from treadle.runtime.tools import Tools
from treadle.runtime.world import World
from treadle.store.records import Run
from treadle.store.sqlite import Store

PROTOCOL = Path(__file__).with_name("one_call")
_GIT = ("git", "-c", "user.name=User", "-c", "user.email=user@localhost")
