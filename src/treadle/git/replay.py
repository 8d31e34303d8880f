"""Commits on top of another one, each for itself, as `git rebase` would put them there."""

from treadle.git.integration import Head
from treadle.git.repository import Repository
from treadle.git.three_way import three_way


async def replayed(repository: Repository, head: Head, onto: str) -> str:
    """An instance's commits on top of another one than its base; empty if one does not fit."""
    if onto == head.base:
        return head.commit
    said = await repository.git("rev-list", "--reverse", "--first-parent", f"{head.base}..{head.commit}")
    for commit in said.text.split():
        below = (await repository.parents(commit))[0]
        merged = await three_way(repository, below, onto, commit)
        if not merged.is_clean:
            return ""
        if merged.tree != await repository.tree(onto):
            message, at = await repository.message(commit), await repository.time(commit)
            onto = await repository.commit(merged.tree, (onto,), message, at)
    return onto
