"""One way to turn a value into a key: the SHA-256 of its canonical JSON, tagged with what it is a key of."""

import hashlib
import json
from collections.abc import Mapping, Sequence

# What JSON can hold. Mapping and Sequence, so that frozen types can be hashed without a copy.
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def canonical_json(value: Json) -> str:
    """Returns the one JSON text of `value`: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: `value` holds NaN or an infinity.
        TypeError: `value` holds something that JSON cannot.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def tagged_hash(tag: str, value: Json) -> str:
    """Returns the SHA-256 (64 hex digits) of `value`, never equal for two different tags.

    Bump the number in the tag ("reply/1") when the meaning of the hashed value changes.
    """
    text = f"bineval:{tag}\0{canonical_json(value)}"
    # A lone surrogate cannot be encoded; "surrogatepass" keeps distinct texts distinct.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
