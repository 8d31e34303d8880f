"""Whom a judgement is about: `judged_child`."""

from treadle.evidence.findings import Found, failed, found
from treadle.evidence.subject import Subject


async def judged_child(s: Subject) -> Found:
    """The child that the exit names is the one that asked to be judged."""
    asking = _asking(s)
    named = s.case.claim.get("child")
    if not asking:
        return failed(
            "no child has asked to be judged here",
            expected="a judgement of a child that has asked",
            code="judgement.not_asked",
        )
    if named in asking:
        return found()
    wanted = " or ".join(f"'{one}'" for one in asking)
    return failed(
        f"the exit names '{named}', but the child to judge is {wanted}",
        expected=f"a judgement of {wanted}",
        code="judgement.wrong_child",
    )


def _asking(s: Subject) -> list[str]:
    """The keys of the children whose signals the step serves."""
    served = [message for frame in s.inst.frames if frame.step == s.job.step for message in frame.signals]
    senders = [s.case.state.insts[one.sender] for one in served if one.sender in s.case.state.insts]
    return list(dict.fromkeys(one.key for one in senders if one.parent == s.job.inst))
