"""The instances of a run, and which of them answers for which criterion."""

from collections.abc import Iterator

from treadle.evidence.criteria import criteria_in, spec_id, text_hash, texts_in
from treadle.kernel.state import Instance, State
from treadle.protocol.model import Graph, Protocol
from treadle.views.evidence_records import Find, payload, text
from treadle.views.evidence_work import working_graphs


class Tree:
    """The instances of a run, and which of them answers for which criterion."""

    def __init__(self, protocol: Protocol, state: State, find: Find) -> None:
        self.protocol, self.state = protocol, state
        self._inputs = {one.id: payload(find, one.input.ref) for one in state.insts.values()}
        self.ids = {one.id: tuple(self._listed(one)) for one in state.insts.values()}
        self._working = working_graphs(protocol)

    def _listed(self, inst: Instance) -> list[str]:
        return criteria_in(self.protocol, self.graph(inst).input[1], self._inputs[inst.id])

    def graph(self, inst: Instance) -> Graph:
        return self.protocol.graphs[inst.graph]

    def chain(self, inst: Instance) -> list[Instance]:
        """An instance, its parent, and so on up to the root."""
        found = [inst]
        while found[-1].parent in self.state.insts:
            found.append(self.state.insts[found[-1].parent])
        return found

    def children(self, inst: Instance) -> list[Instance]:
        """The instances that work for one now; those that a new plan has dismissed are not among them."""
        members = [id_ for group in inst.groups.values() for id_ in group.members.values()]
        found = [self.state.insts[id_] for id_ in members if id_ in self.state.insts]
        return sorted(found, key=lambda one: one.n)

    def below(self, inst: Instance) -> Iterator[Instance]:
        """Everything that works for an instance, however deep."""
        for child in self.children(inst):
            yield child
            yield from self.below(child)

    def given_on(self, inst: Instance) -> dict[str, str]:
        """Criterion → who answers for it: a child, or whoever does below one that knows of no criteria; or several."""
        return {id_: ", ".join(one.id for one in many) for id_, many in self._given_to(inst).items()}

    def _given_to(self, inst: Instance) -> dict[str, list[Instance]]:
        own, found = set(self.ids[inst.id]), dict[str, list[Instance]]()
        for one in self._takers(inst):
            for id_ in self.ids[one.id]:
                if id_ in own:
                    found.setdefault(id_, []).append(one)
        return found

    def _takers(self, inst: Instance) -> Iterator[Instance]:
        for child in self.children(inst):
            if self.ids[child.id] and self._works(child):
                yield child
            elif self._works(child):
                yield from self._takers(child)

    def _works(self, inst: Instance) -> bool:
        return inst.graph in self._working

    def kept(self, inst: Instance) -> list[str]:
        """The criteria that an instance answers for itself."""
        given = self.given_on(inst)
        return [id_ for id_ in self.ids[inst.id] if id_ not in given]

    def answers(self) -> list[tuple[str, str]]:
        """Who answers for which criterion, in the order in which they were handed in.

        Who designs, plans or judges answers only for what nobody builds.
        """
        roots = [one for one in sorted(self.state.insts.values(), key=lambda one: one.n) if not one.parent]
        found = [(one, id_) for root in roots for one, id_ in self._answers(root)]
        if any(graph.only for graph in self.protocol.graphs.values()):
            return []  # a step that is done alone builds on what others have left, and verifies no criterion
        built = {id_ for one, id_ in found if self._works(one)}
        return list(dict.fromkeys((one.id, id_) for one, id_ in found if self._works(one) or id_ not in built))

    def _answers(self, inst: Instance) -> Iterator[tuple[Instance, str]]:
        for id_ in self.ids[inst.id]:
            yield from self._answerers(inst, id_)
        for child in self.children(inst):
            yield from self._answers(child)

    def _answerers(self, inst: Instance, criterion: str) -> Iterator[tuple[Instance, str]]:
        """Who answers for a criterion in the end; several, where several parts serve it."""
        below = self._given_to(inst).get(criterion, [])
        for one in below:
            yield from self._answerers(one, criterion)
        if not below:
            yield inst, criterion

    def origin(self, inst: Instance, criterion: str) -> str:
        """Who was given a criterion first, or whoever had parts made for it: what they answer for is the same."""
        known = [one.id for one in self.chain(inst)[1:] if criterion in self.ids[one.id]]
        return known[-1] if known else inst.parent

    def text(self, inst: Instance, criterion: str) -> str:
        """What a criterion says, in the words of the first who gave it on: a part may know only its id, or others."""
        said = ""
        for one in self.chain(inst):
            if said and criterion not in self.ids[one.id]:
                break
            said = self._said(one, criterion) or said
        others = (it for one in self.state.insts.values() if (it := self._said(one, criterion)))
        return said or next(others, "")

    def spec(self, inst: Instance) -> str:
        """The id of the spec, story, module or cycle that an instance works on."""
        return spec_id(self._inputs[inst.id])

    def hashes(self, inst: Instance, criterion: str) -> set[str]:
        """The hashes of a criterion's text, as the instance, those above it and those below it spell it out."""
        return {
            text_hash(said)
            for one in (*self.chain(inst), *self.below(inst))
            if criterion in self.ids[one.id] and (said := self._said(one, criterion))
        }

    def _said(self, inst: Instance, criterion: str) -> str:
        for value in self._inputs[inst.id].values():
            for item in value if isinstance(value, list) else ():
                if isinstance(item, dict) and item.get("id") == criterion and text(item.get("text")):
                    return text(item["text"])
        spelt = texts_in(self.protocol, self.graph(inst).input[1], self._inputs[inst.id])
        return next((said for id_, said in spelt if id_ == criterion), "")
