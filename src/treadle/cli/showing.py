"""One thing of a run, for programs and for people: an activity, or a question."""

import asyncio
from collections.abc import Iterator

from treadle.cli.activity_page import NO_PROMPT, page, read_story, result_page
from treadle.cli.picking import pick
from treadle.cli.question_page import question_page, read_inquiry
from treadle.cli.reading import Follower
from treadle.config.project import Project
from treadle.engines.result import result_of
from treadle.errors import TreadleError
from treadle.prompts.foreign import visible
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.activity import Story
from treadle.views.asking import Inquiry


def meant(found: Follower, word: str) -> str:
    """The activity or question that a word stands for; of both kinds with the same part in their names, the first."""
    deeds, asked = found.chronicle.deeds, found.chronicle.asked
    is_deed = word not in asked and any(word in id_ for id_ in deeds)
    return pick(word, deeds if is_deed else [*deeds, *asked], "activity or question")


def shown(project: Project, store: Store, found: Follower, id_: str) -> tuple[Story | Inquiry, Iterator[str]]:
    """The document about it, and the lines of its page."""
    if id_ in found.chronicle.asked:
        inquiry = read_inquiry(project, store, found, id_)
        return inquiry, question_page(inquiry)
    story = read_story(project, store, found, id_)
    return story, _activity(project, found.record, story)


def prompt_of(document: Story | Inquiry) -> str:
    """All that an agent was told; an error if nobody was."""
    if not isinstance(document, Story) or document.kind != "agent":
        raise TreadleError(
            "only an agent has a prompt, and this is none's work; leave --prompt out", code="usage.conflict"
        )
    return visible(document.prompt.rstrip("\n")) or NO_PROMPT


def _activity(project: Project, record: Run, story: Story) -> Iterator[str]:
    yield from page(story)
    if story.kind == "effect" and (result := asyncio.run(result_of(project, record))):
        yield from result_page(result, record)
