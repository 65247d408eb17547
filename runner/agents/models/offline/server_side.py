"""The server of the offline navigator's arm: what was learned of it, over a whole conversation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runner.agents.models.offline.exploring import exploration, explorations, project_lists
from runner.agents.models.offline.findings import Finding, findings_in, lines_of_file
from runner.agents.models.offline.lookups import Lookup
from runner.agents.models.offline.tool_use import Learned, lacking_keys, server_lookup, server_read
from runner.agents.models.offline.uses import ROLES, ToolOperation
from runner.protocols import Result
from runner.servers.example_arguments import handles_in, key_words, language_of_path
from runner.servers.tool_answers import ToolAnswers, Value, is_refusal, says_no, values_in_answer

PATIENCE = 5
"""Names that a use is asked for in vain before it is left."""
_ROOT_WORDS = {"project", "repo", "repository", "workspace", "root"}


@dataclass
class ServerSide:
    """How its tools want to be asked, and what they have shown."""

    uses: list[ToolOperation] = field(default_factory=list)
    ways: dict[str, int] = field(default_factory=dict)
    """ToolOperation -> the set of arguments it is called with: those before it were errors."""
    worked: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Use that has answered -> the roots it was asked with."""
    tried: set[str] = field(default_factory=set)
    """Uses that were explored."""
    handles: dict[str, Value] = field(default_factory=dict)
    """What its answers gave later calls to ask with."""
    roots: dict[str, str] = field(default_factory=dict)
    """What calls that worked call the repository, by key."""
    language: str = ""
    """Of the code seen so far."""
    shows_places: bool = False
    """Of the names that it was asked for."""
    barren: Counter[str] = field(default_factory=Counter)
    """ToolOperation -> how often it has been asked for names and shown no place."""
    fruitful: set[str] = field(default_factory=set)
    """Uses that have shown one."""
    unknown: Counter[str] = field(default_factory=Counter)
    """ToolOperation -> how many names it has said that it does not know."""
    corrected: set[tuple[str, str]] = field(default_factory=set)
    """(use, name) that was asked again as an error proposed."""

    def lookups(
        self, name: str, place: Finding | None, roles: Iterable[str] = tuple(ROLES)
    ) -> list[Lookup]:
        """Calls that find a name, the best of each role."""
        learned = self._learned()
        uses = self._worth_asking()
        found = [server_lookup(uses, role, name, place, learned) for role in roles]
        return list(filter(None, found))

    def finds_names(self) -> bool:
        """Has some use shown where a name is, or will it take one once a place is known?"""
        return self.shows_places or bool(
            self.lookups("a_name", Finding(path="a.py", line=1, text=""))
        )

    def references(self, name: str, place: Finding | None) -> Lookup | None:
        return server_lookup(self._worth_asking(), "references", name, place, self._learned())

    def reading(self, name: str, place: Finding) -> Lookup | None:
        """A call that reads the file, of a server that finds no names."""
        if self.finds_names():
            return None
        return server_read(self.uses, name, place, self._learned())

    def explorations(self) -> list[Lookup]:
        return explorations(self.uses, self._learned(), self.tried)

    def lists_of_projects(self) -> list[Lookup]:
        """While nothing has worked: what tells how it calls the repository."""
        if self.worked:
            return []
        return project_lists(self.uses, self._learned())

    def otherwise(self, failed: Lookup, error: str, place: Finding | None) -> Lookup | None:
        """The same with other arguments, of a use that has answered to none yet."""
        if is_of_the_name(failed, error) and self._is_patient(failed.use):
            return self._suggested(failed, error)
        # One that has answered means its error: there is no such symbol.
        if failed.use in self.worked or self.is_stale(failed):
            return None
        if not self._require(failed, error):
            self.ways[failed.use] = failed.way + 1
        return self.again(failed, place)

    def _is_patient(self, use: str) -> bool:
        """Until many names are unknown to it; asked otherwise, it may know them all."""
        self.unknown[use] += 1
        return use in self.worked or self.unknown[use] < PATIENCE

    def _suggested(self, failed: Lookup, error: str) -> Lookup | None:
        """The same about the first name that the error gives for it, once for each name."""
        name = suggestion_in(error, failed.name)
        if not name or (failed.use, failed.name) in self.corrected:
            return None
        last = re.split(r"\W", name)[-1]
        self.corrected |= {(failed.use, failed.name), (failed.use, last)}
        given = {
            key: name if value == failed.name else value for key, value in failed.arguments.items()
        }
        return replace(failed, arguments=given, name=last)

    def is_stale(self, lookup: Lookup) -> bool:
        """Has another call shown since that it lacks something, or is asked otherwise?"""
        required = self._use(lookup).schema.get("required") or ()
        given = lookup.arguments
        roots = self.worked.get(lookup.use, self.roots)
        is_elsewhere = any(given.get(key, root) != root for key, root in roots.items())
        return (
            is_elsewhere
            or not set(required) <= set(given)
            or self.ways.get(lookup.use, 0) != lookup.way
        )

    def _require(self, failed: Lookup, error: str) -> bool:
        """Henceforth the arguments that an error names and that were not given; False if none."""
        use = self._use(failed)
        required = use.schema.get("required") or ()
        lacking = lacking_keys(use.schema, failed.arguments, error)
        fuller = replace(use, schema={**use.schema, "required": [*required, *lacking]})
        self.uses[self.uses.index(use)] = fuller
        return bool(lacking)

    def _use(self, lookup: Lookup) -> ToolOperation:
        return next(use for use in self.uses if use.key == lookup.use)

    def again(self, failed: Lookup, place: Finding | None) -> Lookup | None:
        """With what is known by now; None if that is too little."""
        if failed.kind == "find":
            return next(iter(self.lookups(failed.name, place)), None)
        if failed.kind == "read":
            return self.reading(failed.name, place) if place else None
        return exploration(self._use(failed), self._learned())

    def take_in(self, lookup: Lookup, result: Result, seen: Sequence[Finding]) -> list[Finding]:
        """The places that a call's result shows; none if it is an error.

        `seen`: what is known of the repository, to tell which lines of a file a text is.
        """
        self.tried.add(lookup.use)
        # An error that quotes a line has found nothing: a server that fails every call would do as
        # well as one that works.
        if is_refused(lookup, result):
            return []
        self.worked.setdefault(lookup.use, lookup.roots)
        self._remember_roots(lookup)
        if lookup.kind == "explore":
            self._learn(handles_in(values_in_answer(result.text)))
        places = findings_in(result.text)
        if lookup.kind == "read":
            places = lines_of_file(result.text, lookup.path, seen) or places
        if lookup.kind == "find":
            self._judge(lookup.use, places)
        return places

    def _learn(self, handles: ToolAnswers) -> None:
        if handles.items() <= self.handles.items():
            return
        self.handles |= handles
        self._count_anew()

    def _count_anew(self) -> None:
        """The ways of tools that answered to none: they are others now."""
        self.ways = {use: way for use, way in self.ways.items() if use in self.worked}

    def _remember_roots(self, lookup: Lookup) -> None:
        """What a call that worked calls the repository: so does the server in its other tools."""
        given = lookup.arguments.items()
        found = {key: str(value) for key, value in given if set(key_words(key)) <= _ROOT_WORDS}
        if found.items() <= self.roots.items():
            return
        self.roots |= found
        self._count_anew()

    def _judge(self, use: str, places: Sequence[Finding]) -> None:
        if places:
            self.shows_places = True
            self.fruitful.add(use)
        else:
            self.barren[use] += 1

    def _worth_asking(self) -> list[ToolOperation]:
        if self.shows_places:
            return self.uses
        left = {key for key, times in self.barren.items() if times >= PATIENCE} - self.fruitful
        return [use for use in self.uses if use.key not in left]

    def _learned(self) -> Learned:
        return Learned(
            ways=self.ways,
            language=self.language,
            handles=self.handles,
            roots=dict(self.roots),
            worked=dict(self.worked),
        )


_NO_SUCH_NAME = re.compile(
    r"not found|no such|ambiguous|did you mean|does not exist|unknown"
    r"|\bno \w+ (?:named|called|matching|found)|no (?:match|definition|symbol)"
    r"|(?:could not|couldn't|cannot|can't|unable to) (?:find|resolve|locate)"
)
_OF_A_PLACE = re.compile(
    r"\b(?:files?|paths?|director(?:y|ies)|folders?|projects?|repos\w*|index)\b"
)


def is_of_the_name(failed: Lookup, error: str) -> bool:
    """Does it say that it knows no such name, of a call that names no file?

    Other arguments would be no better then, and what is right about these would be lost.
    """
    if failed.kind != "find" or failed.name not in error:
        return False
    if any(language_of_path(str(value)) for value in failed.arguments.values()):
        return False
    said = re.sub(r"/\S+", "", error).lower()
    return _NO_SUCH_NAME.search(said) is not None and not _OF_A_PLACE.search(said)


def suggestion_in(error: str, name: str) -> str:
    """A longer name that it gives for this one; empty for none."""
    words = re.findall(r"[A-Za-z_]\w*(?:(?:\.|::|#|/)\w+)*", error)
    longer = [word for word in words if name.lower() in re.split(r"\W", word)[-1].lower()]
    return next((word for word in longer if word != name), "")


def is_refused(lookup: Lookup, result: Result) -> bool:
    """Is it an error, by its mark, as JSON, or where no name was looked for by its words?"""
    if result.is_error or is_refusal(result.text):
        return True
    # Code that is found may begin so.
    return lookup.kind != "find" and says_no(result.text)
