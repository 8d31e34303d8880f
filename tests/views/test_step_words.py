"""What people call a step."""

import pytest

from treadle.protocol.load import load
from treadle.views.step_words import step_words


@pytest.mark.parametrize(
    ("protocol", "graph", "step", "said"),
    [
        ("waterfall", "story", "impl", "impl"),
        ("waterfall", "story", "review", "review"),
        ("waterfall", "story", "breakdown", "breakdown"),
        ("waterfall", "story", "fold", "Fold the team's work"),
        ("waterfall", "story", "archive", "Archive the delta"),
        ("waterfall", "story", "merge", "Take the story into the backlog's branch"),
        ("waterfall", "story", "stuck@bdd", "Stuck"),
        ("waterfall", "story", "nowhere@bdd", "nowhere"),
        ("riper", "rcycle", "fold", "Take the cycle into the run's branch"),
        ("dptr", "cycle", "rollback_impl", "Rollback of the refactored implementation"),
    ],
)
def test_people_read_the_names_they_know(protocol: str, graph: str, step: str, said: str) -> None:
    assert step_words(load(protocol).graphs[graph], step) == said


@pytest.mark.parametrize("name", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_whatever_lies_between_the_steps_of_agents_has_words(name: str) -> None:
    for graph in load(name).graphs.values():
        own = [step for step, found in graph.steps.items() if found.kind != "agent" and found.row != step]
        assert [step for step in own if step_words(graph, step) == step] == []
