"""What every record shares: frozen, strict, and a digest of its canonical JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

R = TypeVar("R", bound="Record")
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
CommitSha = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
UnitInterval = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


def unless_none() -> Any:
    """A field that is None in most records, and is then not written: older digests stay right."""
    return Field(default=None, exclude_if=lambda value: value is None)


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal bytes, on every machine.

    Raises ValueError for NaN and infinities.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest_of(value: Any) -> str:
    """SHA256 of the canonical JSON of a value or record."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


class Record(BaseModel):
    """Frozen, strict, and no key it does not know: a misspelt key is an error, never ignored."""

    # Built when first used: building all would be a quarter of what a short command costs.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True
    )

    def __iter__(self) -> Generator[tuple[str, Any], None, None]:
        """Its fields. What was computed and kept is none: no record could be made of it again."""
        for name in type(self).model_fields:
            yield name, getattr(self, name)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Without what was computed and kept: of the changed fields it would be false."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied
