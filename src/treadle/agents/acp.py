"""`acp:PROGRAM ARGS`: any agent of the Agent Client Protocol, led by a client of ours that runs under the keeper."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from treadle.agents.acp_client import AcpJob
from treadle.agents.event_stream import StreamSummary, money, outage_of, text, wait_of, whole
from treadle.agents.gemini import Gemini
from treadle.agents.one_shot import PROXY_VARIABLES, OneShot
from treadle.agents.opencode import Opencode
from treadle.errors import TreadleError
from treadle.kernel.events import Outages, Usage
from treadle.ports import Abilities, Progress, Work
from treadle.results import executor_result, handoff

# Details of some ACP agents beyond the protocol: their keys, logins and settings.


class PlainProgram(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that needs nothing besides the protocol, or nothing that is known."""

    abilities: Abilities = Abilities(resume=True, survives=True, tells="some prices")
    """Most agents can load a conversation; an agent that cannot starts a new one and prints a note."""
    keys: tuple[str, ...] = PROXY_VARIABLES
    login: tuple[str, ...] = ()
    ledger: str = ""
    """A glob below its HOME for its records of tokens; empty if it reports all of them to its client."""
    model_variable: str = ""
    variables: dict[str, str] = {}

    def prepare(self, work: Work, home: Path) -> None:
        """Write the files that it reads from its HOME: none, because its settings are unknown."""

    def words(self, work: Work) -> list[str]:  # noqa: ARG002
        """Return the arguments to append to the user's command line."""
        return []

    def env(self, work: Work, *, is_enclosed: bool) -> dict[str, str]:  # noqa: ARG002
        return self.variables | ({self.model_variable: work.model} if work.model and self.model_variable else {})


AcpProgram = Gemini | Opencode | PlainProgram
"""The details of one ACP agent beyond the protocol."""
_ACP_ABILITIES: Final = Abilities(resume=True, survives=True, mcp="http", tells="some prices")

KNOWN: Final[dict[str, AcpProgram]] = {
    "gemini": Gemini(),
    "opencode": Opencode(),
    "goose": PlainProgram(
        abilities=_ACP_ABILITIES,
        keys=(
            "GOOSE_*",
            "OPENAI_*",
            "ANTHROPIC_*",
            "GOOGLE_API_KEY",
            "GEMINI_API_KEY",
            "OPENROUTER_API_KEY",
            *PROXY_VARIABLES,
        ),
        login=(".config/goose/config.yaml", ".config/goose/secrets.yaml"),
        model_variable="GOOSE_MODEL",
        variables={"GOOSE_DISABLE_KEYRING": "1"},
    ),
    "claude-agent-acp": PlainProgram(
        abilities=msgspec.structs.replace(_ACP_ABILITIES, fork=True, tells="prices"),
        keys=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            *PROXY_VARIABLES,
        ),
        login=(".claude/.credentials.json",),
        variables={"CLAUDE_CODE_MAX_RETRIES": "2", "DISABLE_AUTOUPDATER": "1"},
    ),
    "codex-acp": PlainProgram(
        abilities=msgspec.structs.replace(_ACP_ABILITIES, fork=True, tells="tokens"),
        keys=("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", *PROXY_VARIABLES),
        login=(".codex/auth.json", ".codex/config.toml"),
    ),
}
UNKNOWN: Final[AcpProgram] = PlainProgram()


# Reading the output of the client program (`client`): one JSON object on each line.

AUTH_REQUIRED: Final = -32000
"""The protocol's own number for: log in first."""
NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._:-]{0,199}", re.ASCII)
"""The pattern of conversation names that Treadle passes on; an agent may choose any name."""
_STOPPED: Final = {
    "max_tokens": "its answer was cut off: the model's limit of tokens was reached",
    "max_turn_requests": "it has reached its own limit of requests",
    "refusal": "its model refuses to continue",
    "cancelled": "its turn was cancelled",
}
_STATUS: Final = re.compile(r"\b(?:status(?:Code)?|code)\W{1,4}([45]\d\d)\b", re.ASCII)
_MOST_NOTES: Final = 20


class AcpReader:
    """Reads the client's stream. The first error counts: later events do not clear it."""

    def __init__(self) -> None:
        self._session = self._final = self._trouble = ""
        self._usage = Usage()
        self._is_over = False
        self._outage: Outages | None = None
        self._notes: dict[str, None] = {}
        self._refused: dict[str, None] = {}

    def take(self, event: dict[str, Any]) -> Progress | None:
        """Process the next event and return the progress that it shows, if any."""
        match text(event, "type"):
            case "session":
                name = text(event, "id")
                self._session = self._session or (name if NAME.fullmatch(name) else "")
            case "progress":
                return Progress(text(event, "text"))
            case "note":
                return self._note(text(event, "text"))
            case "refused":
                what = f"{text(event, 'what')}: {text(event, 'why')}"
                if len(self._refused) < _MOST_NOTES:
                    self._refused[what] = None
                return self._note(f"it was refused {what}")
            case "usage":
                tokens_in, tokens_out = whole(event, "tokens_in"), whole(event, "tokens_out")
                # A price of zero is no price: agents report it for models unknown to them.
                cost = money(event, "cost") or 0.0
                unpriced = 0 if cost else tokens_in + tokens_out
                self._usage = Usage(tokens_in, tokens_out, cost, min(whole(event, "cached"), tokens_in), unpriced)
                return Progress(usage=self._usage)
            case "error":
                self._fail(event)
            case "ended":
                self._is_over = True
                self._final = text(event, "final") or self._final
                why = text(event, "stop_reason")
                if why != "end_turn" and not self._trouble:
                    self._trouble = _STOPPED.get(why, "it does not say why it stopped")
                    self._outage = "budget" if why == "max_turn_requests" else None
        return None

    def summary(self) -> StreamSummary:
        """Return the summary of all events so far."""
        return StreamSummary(
            session=self._session,
            final=self._final,
            usage=self._usage,
            is_over=self._is_over,
            trouble=self._trouble,
            outage=self._outage,
            wait=wait_of(self._trouble) if self._outage else 0,
            refused=tuple(self._refused),
        )

    def _note(self, words: str) -> Progress:
        if words in self._notes or len(self._notes) >= _MOST_NOTES:
            return Progress()
        self._notes[words] = None
        return Progress(note=words)

    def _fail(self, event: dict[str, Any]) -> None:
        if self._trouble:
            return
        code = event.get("code")
        message = text(event, "message") or "it failed, and does not say why"
        more = text(event, "data")
        self._trouble = (f"{message} ({more})" if more and more not in message else message)[:4000]
        if text(event, "during") == "start":
            return  # the program itself, not its service
        if code == AUTH_REQUIRED:
            self._outage = "login"
            self._trouble = f"it is not logged in: {self._trouble}; start the program yourself and log in"
            return
        found = _STATUS.search(self._trouble)
        status = code if isinstance(code, int) and 400 <= code < 600 else int(found[1]) if found else None
        # Gemini says 500 for every failure without a status; the message is more precise.
        by_words = outage_of(self._trouble) if status == 500 else None
        self._outage = by_words or outage_of(self._trouble, status)


class Acp(msgspec.Struct, frozen=True, kw_only=True):
    """The dialect of an ACP agent; details beyond the protocol come from `KNOWN`, by the program's name."""

    program: str
    args: tuple[str, ...] = ()
    is_enclosed: bool = False
    """Whether a sandbox already limits its writes; then the client allows every write that it asks for."""
    is_apart: bool = False
    """Whether it runs in an image, which has its own Treadle."""
    silence: float = 20.0
    otherwise: tuple[str, ...] = ()
    cumulative: tuple[str, ...] = ("cost",)

    @classmethod
    def parse(cls, text: str, root: Path, *, is_enclosed: bool = False, is_apart: bool = False) -> Self:
        """Parse the words of the settings; a program with a path is relative to the root of the checkout."""
        try:
            first, *rest = shlex.split(text)
        except ValueError as error:
            raise TreadleError(
                f"the agent `acp:{text}` cannot be split into words: {error}; check its quotes", code="agent.invalid"
            ) from None
        program = str(root / first) if "/" in first else first
        return cls(program=program, args=tuple(rest), is_enclosed=is_enclosed, is_apart=is_apart)

    @property
    def known(self) -> AcpProgram:
        return KNOWN.get(Path(self.program).name, UNKNOWN)

    @property
    def abilities(self) -> Abilities:
        return self.known.abilities

    @property
    def keys(self) -> tuple[str, ...]:
        return self.known.keys

    @property
    def login(self) -> tuple[str, ...]:
        return self.known.login

    @property
    def sandbox(self) -> str:
        """Without an enclosure, the agent asks before it writes."""
        return "" if self.is_enclosed else "its own rules"

    def prepare(self, work: Work, home: Path) -> None:
        self.known.prepare(work, home)

    def client(self, work: Work, session: str) -> list[str]:
        """Return the command line of the client, with its job."""
        python = "python3" if self.is_apart else sys.executable
        job = msgspec.json.encode(self.job(work, session)).decode()
        return [python, "-P", "-m", "treadle.agents.acp_client", job]

    def job(self, work: Work, session: str) -> AcpJob:
        return AcpJob(
            lane=str(work.lane.absolute()),
            bundle=str(work.bundle.absolute()),
            out=str(work.out.absolute()),
            session=session if NAME.fullmatch(session) else "",
            fork=work.fork,
            model=work.model,
            writes=None if work.writes is None else (*work.writes, executor_result.FILE, *handoff.FILES),
            perms=work.perms,
            is_enclosed=self.is_enclosed,
            ledger=self.known.ledger,
            silence=self.silence,
        )

    def argv(self, work: Work, home: Path, session: str) -> list[str]:  # noqa: ARG002
        return [*self.args, *self.known.words(work)]

    def env(self, work: Work, home: Path) -> dict[str, str]:  # noqa: ARG002
        return self.known.env(work, is_enclosed=self.is_enclosed)

    def reader(self) -> AcpReader:
        return AcpReader()


class AcpRunner(OneShot, frozen=True, kw_only=True):
    """The runner of an ACP agent; the program under its keeper is the client."""

    dialect: Acp

    def command(self, work: Work, home: Path, session: str, path: str) -> list[str]:
        """Return the client's command line, followed by the agent's, which the client starts."""
        return [*self.dialect.client(work, session), *super().command(work, home, session, path)]
