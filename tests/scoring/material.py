"""What the scoring tests score: a small repository, a scenario, its rubric, and several answers."""

from __future__ import annotations

import hashlib

from runner.records import Answer, AnswerStep, Effort, Rubric, Scenario, parse_yaml

QUEUE_PY = "\n".join(
    [
        '"""A queue that keeps what it could not deliver."""',  # 1
        "",
        "from shop.store import Store",
        "",
        "",
        "class Queue:",  # 6
        "    def __init__(self, store: Store) -> None:",
        "        self.store = store",
        "        self.failed: list[str] = []",
        "",
        "    def deliver(self, message: str) -> bool:",  # 11
        "        try:",
        "            self.store.put(message)",
        "        except OSError:",
        "            self.failed.append(message)",
        "            return False",
        "        return True",
        *[""] * 20,
        "    def retry_failed(self) -> int:",  # 38
        "        pending, self.failed = self.failed, []",
        "        return sum(self.deliver(message) for message in pending)",
        "",
    ]
)
STORE_PY = "\n".join(
    [
        "class Store:",
        "    def put(self, message: str) -> None:",
        "        raise NotImplementedError",
        *[""] * 30,
        "class Disk(Store):",
        "",
    ]
)


class Tree:
    """The files of one commit, held in memory."""

    commit = "0" * 40

    def __init__(self, texts: dict[str, str]) -> None:
        self._files = {path: text.encode() for path, text in texts.items()}

    def paths(self) -> frozenset[str]:
        return frozenset(self._files)

    def read(self, path: str) -> bytes:
        return self._files[path]

    def blob_sha(self, path: str) -> str:
        data = self._files[path]
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


TREE = Tree({"shop/queue.py": QUEUE_PY, "shop/store.py": STORE_PY, "README.md": "A shop.\n"})

SCENARIO = parse_yaml(
    """
id: shop-queue
title: What happens to a message that cannot be stored
description: A failure path over two files.
language: python
slant: Small enough that a grep finds everything.
repository: {kind: git, url: /shop, commit: "0000000000000000000000000000000000000000"}
budget: {tokens: 10000, wall_sec: 100, actions: 20}
steps:
  - name: trace
    prompt: A message is lost when the disk is full. Show every place it passes on its way, with
      lines, so that I can change one of them.
    checks:
      - {kind: word, value: deliver}
      - {kind: word, value: retry_failed}
      - {kind: min_files, value: 2, required: false}
    must_cite:
      - {path: shop/queue.py, line: 11, end: 17, symbol: deliver}
      - {path: shop/store.py, line: 2, symbol: put}
  - name: impact
    prompt: What breaks if the store raises another kind of error?
    checks:
      - {kind: word, value: OSError}
""",
    Scenario,
    where="scenario.yaml",
)

RUBRIC = parse_yaml(
    """
audience: A coding agent that edits next.
steps:
  - name: trace
    criteria:
      map_quality:
        weight: 0.6
        question: Is every place on the way of a failed message there, with lines that hold?
        facts:
          - says: deliver keeps a message it cannot store
            terms: [[deliver], [keep*, append*, collect*, remember*], [failed, failure*]]
            cites: [{path: shop/queue.py, line: 11, end: 17}]
          - says: retry_failed delivers what was kept
            terms: [[retry_failed], [deliver*, again, resend*]]
            cites: [{path: shop/queue.py, line: 38, end: 40}]
          - says: the base store raises
            terms: [[put, Store.put], [raise*, NotImplementedError, abstract]]
            cites: [{path: shop/store.py, line: 2}]
      justification:
        weight: 0.4
        question: Does it say why a message is kept and not dropped?
        facts:
          - says: only OSError is caught
            terms: [[OSError], [only, catch*, caught]]
            never: [every exception]
          - says: the list is emptied before the retry, so that a second failure is kept once
            terms: [[pending, swap*, empt*], [before, first], [retry*]]
  - name: impact
    criteria:
      map_quality:
        weight: 1.0
        question: Does it say what escapes?
        facts:
          - says: another error is not caught and leaves deliver
            terms: [[deliver], [escape*, leave*, propagate*, uncaught, not caught]]
            cites: [{path: shop/queue.py, line: 11, end: 17}]
""",
    Rubric,
    where="rubric.yaml",
)

GOOD = (
    """Two files matter.

1. `Queue.deliver` (shop/queue.py:11) tries to store the message and appends it to the `failed` \
list when that does not work.
2. `Queue.retry_failed` (shop/queue.py:38) delivers everything that was kept once more.
3. `Store.put` (shop/store.py:2) is the base: it raises until a subclass implements it.

Only `OSError` is caught, since a full disk is the one failure that passes. The list is emptied \
before the retry starts, so a message
that fails twice is there once.""",
    "`OSError` is the only one handled, so any other error escapes from `deliver` "
    "(shop/queue.py:13) to whoever called it.",
)
THIN = (
    "`Queue.deliver` (shop/queue.py:11) keeps the message in its `failed` list when it "
    "cannot be stored.",
    "Another error would propagate out of `deliver` (shop/queue.py:11), which handles "
    "`OSError` alone.",
)
UNCITED = (
    """`Queue.deliver` appends the message to the `failed` list when the store does not take \
it, and `retry_failed` delivers it again later.
The base `put` raises until a subclass implements it. Only `OSError` is caught, and the list is \
emptied before the retry starts.""",
    "Any other error than `OSError` escapes from `deliver` to whoever called it.",
)
INVENTED = (
    """1. `Queue.deliver` (shop/queue.py:211) appends the message to the `failed` list when \
the store does not take it.
2. `Queue.retry_failed` (shop/queue.py:340) delivers everything that was kept once more.
3. `Store.put` (shop/store.py:77) raises until a subclass implements it.

The class `FailureJournal` (shop/journal.py:12) catches the rest. Only `OSError` is caught.""",
    "Any other error is written to `FailureJournal` (shop/journal.py:40).",
)


def answer(*texts: str) -> Answer:
    return Answer(
        steps=tuple(
            AnswerStep(name=step.name, prompt=step.prompt, text=text, completed=bool(text))
            for step, text in zip(SCENARIO.steps, texts, strict=True)
        )
    )


def effort(**changes: int | float | bool) -> Effort:
    plain: dict[str, int | float | bool] = {
        "input_tokens": 1000,
        "output_tokens": 500,
        "new_tokens": 1500,
        "agent_sec": 20.0,
        "backoff_sec": 0.0,
        "actions": 4,
        "steps_completed": 2,
        "steps": 2,
        "tokens_estimated": False,
    }
    return Effort.model_validate(plain | changes)
