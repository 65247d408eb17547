"""Our images are named by content: by what goes in, and by what came out.

`fairtrial/base:<recipe>-<id>`: two checkouts that build from one recipe may get different bytes
(another day's packages), and then have two images side by side. A checkout goes on with the one
it remembers, else adopts one that is there, else builds. So nothing that one checkout builds,
rebuilds or cleans away stands in another's way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from runner.records import Sha256, canonical_json
from runner.sandbox.engine import LABEL, Engine, image_id
from runner.support.errors import LockError
from runner.support.file_lock import wait_for_lock

RECIPE_LABEL = f"{LABEL}.recipe"
"""Of everything that goes into an image."""
_MEMORY = TypeAdapter(dict[str, str])


@dataclass(frozen=True, kw_only=True)
class ImageRecipe:
    """What an image is made from, and so what it is called."""

    kind: str
    """base or workspace."""
    digest: Sha256
    """Of every input that could change it."""

    @property
    def name(self) -> str:
        """What a checkout remembers its image under; every tag begins with it."""
        return f"fairtrial/{self.kind}:{self.digest[:12]}"

    def tag(self, image: str) -> str:
        """The name on the engine of that one image (`sha256:…`), which no other can ever have."""
        return f"{self.name}-{image.removeprefix('sha256:')[:12]}"

    @property
    def labels(self) -> dict[str, str]:
        return {LABEL: self.kind, RECIPE_LABEL: self.digest}


def ensure_image(
    engine: Engine,
    state_dir: Path,
    recipe: ImageRecipe,
    *,
    build: Callable[[], str],
    check: Callable[[str], None] | None = None,
) -> str:
    """The id of an image made from the recipe: remembered, adopted or built.

    `build` returns the id of an image that bears the recipe's labels. `check` raises if the image
    of that tag is not what it should be; it is asked about every image this checkout has not
    checked before, whoever built it. Raises LockError if a tag of ours leads to another image.
    """
    # Two builders in one checkout would both build, and remember different images.
    with wait_for_lock(state_dir / f"{recipe.kind}.lock"):
        known = _remembered(engine, state_dir, recipe)
        if known is not None:
            return known
        image = _adoptable(engine, recipe)
        if image is None:
            image = build()
            _tag(engine, image, recipe.tag(image))
        if check is not None:
            check(recipe.tag(image))
        remember_image(state_dir, recipe.name, image)
        return image


def _remembered(engine: Engine, state_dir: Path, recipe: ImageRecipe) -> str | None:
    """The image this checkout used before; None if there is none, or if it was cleaned away."""
    known = read_images(state_dir).get(recipe.name)
    if known is None or image_id(engine, known) is None:
        return None
    _check_tag(engine, state_dir, recipe.tag(known), known)
    return known


def _check_tag(engine: Engine, state_dir: Path, tag: str, image: str) -> None:
    """Raises LockError if the tag leads to another image; gives it back if it is gone."""
    tagged = image_id(engine, tag)
    if tagged is None:
        # Without its tag, `docker image prune` would take the image for rubbish.
        _tag(engine, image, tag)
    elif tagged != image:
        raise LockError(
            f"image {tag} is {tagged[:19]}…, but this checkout uses {image[:19]}…:"
            " something replaced it",
            where=str(state_dir / "images.json"),
            hint=f"`docker rmi {tag}` gives the name back to the image it belongs to",
        )


def _adoptable(engine: Engine, recipe: ImageRecipe) -> str | None:
    """An image that some checkout built from the same recipe: the oldest, so that all agree."""
    wanted = [f"{key}={value}" for key, value in recipe.labels.items()]
    images = engine.api.images(filters={"label": wanted})
    for image in sorted(images, key=lambda it: (it["Created"], it["Id"])):
        # A container that somebody changed and committed inherits every label, but not this tag.
        if image_id(engine, recipe.tag(image["Id"])) == image["Id"]:
            return str(image["Id"])
    return None


def _tag(engine: Engine, image: str, tag: str) -> None:
    name, _, version = tag.partition(":")
    engine.api.tag(image, name, version)


# --- what a checkout remembers ------------------------------------------------------------------


def remember_image(state_dir: Path, name: str, image: str) -> None:
    """Have this checkout go on with that image under that name, as long as it is there."""
    with wait_for_lock(state_dir / "images.json.lock"):
        images = read_images(state_dir) | {name: image}
        # Written aside: a runner killed in the middle would leave half a file.
        fresh = state_dir / "images.json.new"
        fresh.write_text(canonical_json(images) + "\n", encoding="utf-8")
        fresh.replace(state_dir / "images.json")


def read_images(state_dir: Path) -> dict[str, str]:
    """Name -> id of every image this checkout remembers. Raises LockError if the file is spoilt."""
    path = state_dir / "images.json"
    try:
        return _MEMORY.validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        hint = "run `fairtrial clean --all`, or delete the file"
        raise LockError(f"not a list of images: {error}", where=str(path), hint=hint) from error
