"""A person has moved or deleted the result branch of a run: what was not verified is not delivered as its result."""

from pathlib import Path
from typing import Final

import pytest

from tests.cli.test_deliver_rebased import CODE, Shop
from tests.cli.treadle import treadle

BRANCH: Final = "treadle/pen/result"
NOTED: Final = "refs/treadle/pen/inst/root/result"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    shop = Shop(tmp_path)
    shop.module("pen")
    return shop


def change(shop: Shop, **files: str) -> str:
    """Commit something on the result branch; the commit."""
    shop.git("checkout", "-q", BRANCH)
    shop.commit("tidy up", **files)
    shop.git("checkout", "-q", "main")
    return shop.git("rev-parse", BRANCH)


def replace(shop: Shop) -> str:
    """Put the result branch on an unrelated commit; the commit."""
    shop.git("branch", "-q", "-f", BRANCH, "main")
    return change(shop, cup=CODE)


def refused(shop: Shop, verified: str, tip: str, *words: str) -> None:
    """A delivery is refused, and every surface names the verified commit as the result."""
    main = shop.git("rev-parse", "main")
    done = treadle("deliver", "pen", *words)
    assert (done.code, done.out, done.error) == (2, "", "deliver.branch_moved")
    assert verified[:12] in done.err
    assert tip[:12] in done.err
    assert f"git branch -f {BRANCH} {verified[:12]}" in done.err
    assert shop.git("rev-parse", "main") == main
    for surface in ("status", "evidence"):
        result = treadle(surface, "pen", "--json").json()["result"]
        assert (result["commit"], result["altered"], result["tip"]) == (verified, True, tip), surface
        assert result["taken"] is False
        text = treadle(surface, "pen").out
        assert verified[:12] in text
        assert tip[:12] in text
        assert "git merge --squash" not in text
    assert "treadle deliver pen" in treadle().out, "it is still to be delivered"


@pytest.mark.parametrize("older", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_commit_on_the_result_branch_is_not_delivered_unverified(shop: Shop, older: bool) -> None:
    verified = shop.git("rev-parse", BRANCH)
    if older:
        shop.git("update-ref", "-d", NOTED)
    tip = change(shop, pen="def price():\n    return 2\n")
    refused(shop, verified, tip)
    failing = treadle("deliver", "pen", "--rebase")
    assert (failing.code, failing.error) == (2, "deliver.unverified")
    refused(shop, verified, tip)
    shop.git("branch", "-q", "-f", BRANCH, verified)
    assert treadle("deliver", "pen").code == 0
    assert shop.git("rev-parse", "main") == verified


@pytest.mark.parametrize("ahead", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_rebase_verifies_and_names_a_persons_changes(shop: Shop, ahead: bool) -> None:
    verified, tip = shop.git("rev-parse", BRANCH), change(shop, pen=f"{CODE}\n\ndef cost():\n    return 2\n")
    if ahead:
        shop.commit("ahead", cup=CODE)
    onto = shop.git("rev-parse", "main")
    assert treadle("deliver", "pen", "--rebase").code == 0
    main = shop.git("rev-parse", "main")
    assert (main == tip) is not ahead
    result = treadle("evidence", "pen", "--json").json()["result"]
    assert {key: result[key] for key in ("commit", "taken", "altered", "verified_on", "replaces")} == {
        "commit": main, "taken": True, "altered": False, "verified_on": onto, "replaces": verified,
    }  # fmt: skip
    assert verified[:12] in treadle("status", "pen").out
    assert treadle("deliver", "pen").code == 0


@pytest.mark.soak
@pytest.mark.parametrize("words", [(), ("--rebase",)])
def test_unrelated_work_on_the_result_branch_is_not_the_result(shop: Shop, words: tuple[str, ...]) -> None:
    verified, tip = shop.git("rev-parse", BRANCH), replace(shop)
    refused(shop, verified, tip, *words)
    assert not (shop.root / "pen.py").exists()


@pytest.mark.soak
def test_a_result_branch_at_the_users_own_commit_is_not_delivered(shop: Shop) -> None:
    verified, main = shop.git("rev-parse", BRANCH), shop.git("rev-parse", "main")
    shop.git("branch", "-q", "-f", BRANCH, "main")
    refused(shop, verified, main)
    refused(shop, verified, main, "--rebase")


@pytest.mark.soak
@pytest.mark.parametrize("words", [(), ("--rebase",)])
def test_a_deleted_result_branch_is_put_back_before_a_delivery(shop: Shop, words: tuple[str, ...]) -> None:
    verified = shop.git("rev-parse", BRANCH)
    shop.git("branch", "-q", "-D", BRANCH)
    refused(shop, verified, "", *words)
    shop.git("branch", "-f", BRANCH, verified[:12])
    assert treadle("deliver", "pen", *words).code == 0
    shop.git("branch", "-q", "-D", BRANCH)
    result = treadle("status", "pen", "--json").json()["result"]
    assert (result["taken"], result["altered"]) == (True, False)


@pytest.mark.soak
def test_a_conflict_with_a_persons_changes_does_not_go_back_to_the_run(shop: Shop) -> None:
    verified, tip = shop.git("rev-parse", BRANCH), change(shop, old="def price():\n    return 1 + 0\n")
    shop.commit("ahead", old="def price():\n    return 0 + 1\n")
    refusal = shop.refusal("pen")
    assert (refusal.code, refusal.files) == ("deliver.branch_moved", ("old.py",))
    refused(shop, verified, tip)


@pytest.mark.soak
def test_cleaning_up_keeps_a_persons_commits_and_the_verified_one(shop: Shop) -> None:
    verified, tip = shop.git("rev-parse", BRANCH), replace(shop)
    assert treadle("gc").code == 0
    refused(shop, verified, tip)
    shop.git("branch", "-q", "-f", BRANCH, verified)
    assert treadle("deliver", "pen").code == 0
    tip = change(shop, ink=CODE)
    assert treadle("gc").code == 0
    assert shop.git("rev-parse", BRANCH) == tip
