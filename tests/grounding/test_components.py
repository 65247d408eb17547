"""Vue and Svelte: scripts are code at their own lines, templates are text."""

from __future__ import annotations

import time

from runner.grounding.outlines import Outline, TextOnly, outline_of
from runner.grounding.verify import ground
from runner.records import Citation
from tests.grounding.fakes import MemoryFiles

SHOP = """<template>
  <Door :open="isOpen" @close="shut" />
</template>
<!-- shut -->






<script setup lang="ts">
const isOpen = ref<boolean>(true)
function shut(why: string) {
  emit('close', why)
}
</script>








<style>
.shut { color: red }
</style>
"""


def cited(text: str) -> Citation:
    [citation] = ground(text, MemoryFiles({"src/Shop.vue": SHOP})).citations
    return citation


def outline(path: str, source: bytes) -> Outline | TextOnly:
    return outline_of(path, source, "0" * 40, None)


def test_a_script_is_code_at_its_own_lines() -> None:
    assert cited("`shut` (`src/Shop.vue:13`)").held_by == "definition"
    assert cited("`shut` (`src/Shop.vue:13`)").definition_lines == (13,)
    assert cited("`shut` (`src/Shop.vue:14-15`)").held_by == "definition"


def test_a_word_of_the_template_is_text_and_an_invented_one_is_not_there() -> None:
    assert cited("`shut` (`src/Shop.vue:2`)").held_by == "text"
    assert cited("`shutAll` (`src/Shop.vue:2`)").status == "hallucinated"
    assert cited("`isOpen` (`src/Shop.vue:24`)").status == "hallucinated"


def test_a_component_without_a_script_is_text() -> None:
    assert outline("A.vue", b"<template><p>hi</p></template>") == TextOnly(
        "no grammar for this kind of file, searched as text"
    )


def test_a_script_that_nothing_closes_reaches_to_the_end() -> None:
    found = outline("A.svelte", b"<p>hi</p>\n<script>\nfunction open() {}\n")
    assert isinstance(found, Outline)
    assert [(d.name, d.line) for d in found.definitions] == [("open", 3)]


def test_two_scripts_are_read_as_the_one_with_types() -> None:
    source = b"<script>\nlet a = 1\n</script>\n<script lang='ts'>\nlet b: number\n</script>"
    found = outline("A.vue", source)
    assert isinstance(found, Outline)
    assert [(d.name, d.line) for d in found.definitions] == [("a", 2), ("b", 5)]


def test_half_a_megabyte_of_openings_is_read_at_once() -> None:
    began = time.monotonic()
    for piece in (b"<script ", b"<script>", b'<script a="', b"<script></script>"):
        outline("A.vue", piece * 60_000)
    assert time.monotonic() - began < 10
