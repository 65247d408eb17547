"""Images named by content: checkouts on one engine share them, and never collide."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import docker
import pytest

from runner.records import digest_of
from runner.sandbox.builder import BuilderSpec, open_builder
from runner.sandbox.engine import image_id
from runner.sandbox.image_names import (
    RECIPE_LABEL,
    ImageRecipe,
    ensure_image,
    read_images,
    remember_image,
)
from runner.support.errors import LockError

# --- what a checkout remembers --------------------------------------------------------------


def test_what_is_remembered_is_read_again_and_the_newest_counts(tmp_path: Path) -> None:
    assert read_images(tmp_path) == {}
    remember_image(tmp_path, "a:1", "sha256:aa")
    remember_image(tmp_path, "b:1", "sha256:bb")
    remember_image(tmp_path, "a:1", "sha256:cc")
    assert read_images(tmp_path) == {"a:1": "sha256:cc", "b:1": "sha256:bb"}


def test_images_remembered_at_once_are_all_kept(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=remember_image, args=(tmp_path, f"i:{n}", f"sha256:{n}"))
        for n in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_images(tmp_path) == {f"i:{n}": f"sha256:{n}" for n in range(24)}


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"a:1": 2}'])
def test_a_spoilt_memory_is_an_error_with_a_hint(tmp_path: Path, text: str) -> None:
    (tmp_path / "images.json").write_text(text)
    with pytest.raises(LockError, match=r"images\.json(.|\n)*fairtrial clean"):
        read_images(tmp_path)


# --- in the engine --------------------------------------------------------------------------


@dataclass
class Checkout:
    """A checkout that builds tiny images, and counts them."""

    engine: docker.DockerClient
    base: str
    state: Path
    built: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)

    def build(self, recipe: ImageRecipe) -> str:
        with open_builder(self.engine, BuilderSpec(image=self.base)) as builder:
            self.built.append(builder.commit(recipe.labels))
        return self.built[-1]

    def ensure(self, recipe: ImageRecipe) -> str:
        return ensure_image(
            self.engine,
            self.state,
            recipe,
            build=lambda: self.build(recipe),
            check=self.checked.append,
        )


@pytest.fixture
def one(engine: docker.DockerClient, base_image: str, tmp_path: Path) -> Checkout:
    return Checkout(engine, base_image, tmp_path / "one")


@pytest.fixture
def two(engine: docker.DockerClient, base_image: str, tmp_path: Path) -> Checkout:
    return Checkout(engine, base_image, tmp_path / "two")


def new_recipe() -> ImageRecipe:
    return ImageRecipe(kind="test", digest=digest_of(uuid.uuid4().hex))


def remove_images(engine: docker.DockerClient, recipe: ImageRecipe) -> None:
    """What `clean --all` would do, to the images of one recipe alone."""
    for image in engine.api.images(filters={"label": f"{RECIPE_LABEL}={recipe.digest}"}):
        engine.api.remove_image(image["Id"], force=True)


@pytest.fixture
def recipe(engine: docker.DockerClient) -> Iterator[ImageRecipe]:
    """Of this test alone: whatever is built from it goes with the test."""
    made = new_recipe()
    yield made
    remove_images(engine, made)


@pytest.mark.docker
def test_a_second_checkout_adopts_what_the_first_built_once_it_has_checked_it(
    one: Checkout, two: Checkout, recipe: ImageRecipe
) -> None:
    image = one.ensure(recipe)
    assert (one.ensure(recipe), two.ensure(recipe), two.ensure(recipe)) == (image, image, image)
    assert (one.built, two.built) == ([image], [])
    assert one.checked == two.checked == [recipe.tag(image)]


@pytest.mark.docker
def test_an_image_cleaned_away_and_built_again_elsewhere_is_adopted(
    one: Checkout, two: Checkout, recipe: ImageRecipe
) -> None:
    first = one.ensure(recipe)
    assert two.ensure(recipe) == first
    remove_images(two.engine, recipe)
    second = two.ensure(recipe)
    assert second != first
    assert one.ensure(recipe) == second
    assert (one.built, two.built) == ([first], [second])


@pytest.mark.docker
def test_two_images_of_one_recipe_live_side_by_side_and_the_oldest_is_adopted(
    one: Checkout, two: Checkout, recipe: ImageRecipe, tmp_path: Path
) -> None:
    """As if both had found none, and built at the same time."""
    first = one.ensure(recipe)
    second = two.build(recipe)
    two.engine.images.get(second).tag(recipe.tag(second))
    remember_image(two.state, recipe.name, second)
    assert (one.ensure(recipe), two.ensure(recipe)) == (first, second)
    third = Checkout(one.engine, one.base, tmp_path / "three")
    assert third.ensure(recipe) in (first, second)
    assert third.built == []


@pytest.mark.docker
def test_a_tag_moved_to_another_image_is_refused(
    one: Checkout, two: Checkout, recipe: ImageRecipe
) -> None:
    tag = recipe.tag(one.ensure(recipe))
    one.engine.images.get(one.base).tag(tag)
    with pytest.raises(LockError, match=f"something replaced it\nhint: `docker rmi {tag}`"):
        one.ensure(recipe)
    # Nor is it taken for ours by a checkout that remembers nothing.
    assert two.ensure(recipe) not in (one.base, *one.built)
    one.engine.api.remove_image(tag)
    assert one.ensure(recipe) == one.built[0]
    assert image_id(one.engine, tag) == one.built[0]


@pytest.mark.docker
def test_a_container_committed_by_hand_is_not_adopted_though_it_inherits_every_label(
    one: Checkout, two: Checkout, recipe: ImageRecipe
) -> None:
    image = one.ensure(recipe)
    made = one.engine.api.create_container(image, ["true"], labels={"fairtrial": "test"})
    try:
        changed = one.engine.api.commit(made["Id"])["Id"]
    finally:
        one.engine.api.remove_container(made["Id"], force=True)
    one.engine.api.remove_image(recipe.tag(image))
    assert two.ensure(recipe) not in (image, changed)


@pytest.mark.docker
def test_an_image_that_fails_its_proof_is_not_remembered(
    one: Checkout, recipe: ImageRecipe
) -> None:
    def refuse(tag: str) -> None:
        raise LockError("it leaks", where=tag)

    with pytest.raises(LockError, match="it leaks"):
        ensure_image(one.engine, one.state, recipe, build=lambda: one.build(recipe), check=refuse)
    assert read_images(one.state) == {}


@pytest.mark.docker
def test_recipes_that_differ_do_not_share_an_image(
    one: Checkout, two: Checkout, recipe: ImageRecipe
) -> None:
    other = new_recipe()
    try:
        first, second = one.ensure(recipe), two.ensure(other)
        assert first != second
        assert (one.ensure(recipe), two.ensure(other)) == (first, second)
        remove_images(two.engine, other)
        assert one.ensure(recipe) == first
    finally:
        remove_images(two.engine, other)
