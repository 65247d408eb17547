"""Weights that a test writes: a GGUF file of two megabytes, known beforehand by heart.

Its next letter hangs on the last one alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SPECIAL = ("<unk>", "<s>", "</s>")
FIRST_BYTE = len(SPECIAL)
WIDTH = 288
"""Of an embedding: a place for each of the 259 tokens, and a multiple of what the kernels take."""
END = 2
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"


def write_weights(path: Path, *wishes: str, end_after: str = "}") -> None:
    """A model that, wherever a letter may follow another, writes the pairs of `wishes`.

    `write_weights(path, '"o', "ok", 'k"')` writes `"ok"` between quotes, and whatever a grammar
    asks for elsewhere; of two pairs that begin alike, the first is preferred.
    """
    tokens = [*SPECIAL, *(f"<0x{number:02X}>" for number in range(256))]
    types = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256]
    output = _wanted(wishes, end_after, len(tokens))
    tensors: dict[str, tuple[tuple[int, ...], bytes]] = {
        "token_embd.weight": ((WIDTH, len(tokens)), _rows(_one_hot(len(tokens)))),
        "output.weight": ((WIDTH, len(tokens)), _rows(output)),
        "output_norm.weight": ((WIDTH,), _floats([1.0] * WIDTH)),
    }
    tensors |= dict(_idle_layer())
    path.write_bytes(_gguf(dict(_about(tokens, types)), tensors))


def _about(tokens: Sequence[str], types: Sequence[int]) -> Iterator[tuple[str, Any]]:
    yield "general.architecture", "llama"
    yield "general.name", "tiny"
    sizes = {
        "context_length": 8192,
        "embedding_length": WIDTH,
        "block_count": 1,
        "feed_forward_length": 32,
        "attention.head_count": 9,
        "rope.dimension_count": 32,
    }
    for name, size in sizes.items():
        yield f"llama.{name}", size
    yield "llama.attention.layer_norm_rms_epsilon", 1e-5
    yield "tokenizer.ggml.model", "llama"
    yield "tokenizer.ggml.tokens", list(tokens)
    yield "tokenizer.ggml.scores", [0.0] * len(tokens)
    yield "tokenizer.ggml.token_type", list(types)
    yield "tokenizer.ggml.bos_token_id", 1
    yield "tokenizer.ggml.eos_token_id", END
    yield "tokenizer.chat_template", TEMPLATE


# --- tensors --------------------------------------------------------------------------------


def _one_hot(count: int) -> list[list[float]]:
    return [[float(place == number) for place in range(WIDTH)] for number in range(count)]


def _wanted(wishes: Sequence[str], end_after: str, count: int) -> list[list[float]]:
    """[token][the token before it] -> how much it is wanted."""
    wanted = [[0.0] * WIDTH for _ in range(count)]
    for rank, wish in enumerate(wishes):
        before, after = wish[0], wish[1]
        wanted[FIRST_BYTE + ord(after)][FIRST_BYTE + ord(before)] = float(len(wishes) - rank)
    wanted[END][FIRST_BYTE + ord(end_after)] = 100.0
    return wanted


def _idle_layer() -> Iterator[tuple[str, tuple[tuple[int, ...], bytes]]]:
    """A layer that adds nothing."""
    shapes: dict[str, tuple[int, ...]] = {
        "attn_norm": (WIDTH,),
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH, WIDTH),
        "attn_v": (WIDTH, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (WIDTH, 32),
        "ffn_up": (WIDTH, 32),
        "ffn_down": (32, WIDTH),
    }
    for name, shape in shapes.items():
        size = 4
        for length in shape:
            size *= length
        yield f"blk.0.{name}.weight", (shape, bytes(size))


def _rows(rows: Sequence[Sequence[float]]) -> bytes:
    return b"".join(map(_floats, rows))


def _floats(numbers: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


# --- the file -------------------------------------------------------------------------------


def _gguf(about: dict[str, Any], tensors: dict[str, tuple[tuple[int, ...], bytes]]) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(about))
    for key, value in about.items():
        head += _text(key) + _value(value)
    data = b""
    for name, (shape, content) in tensors.items():
        head += _text(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, len(data))
        data += _aligned(content)
    return _aligned(head) + data


def _aligned(content: bytes) -> bytes:
    return content + bytes(-len(content) % 32)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _value(value: Any) -> bytes:
    kind, content = _typed(value)
    return struct.pack("<I", kind) + content


def _typed(value: Any) -> tuple[int, bytes]:
    match value:
        case str():
            return 8, _text(value)
        case float():
            return 6, struct.pack("<f", value)
        case int():
            return 4, struct.pack("<I", value)
        case _:
            items = [_typed(item) for item in value]
            # Of numbers the reader takes signed ones alone; these are small.
            kind = 5 if items[0][0] == 4 else items[0][0]
            content = b"".join(item for _, item in items)
            return 9, struct.pack("<IQ", kind, len(items)) + content
