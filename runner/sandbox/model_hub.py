"""Runs inside a cell: a hub of models on loopback, for libraries that ask one for an embedding.

`HF_ENDPOINT` names it, as it would name a company's own. It has one model, all-MiniLM-L6-v2, and
gives that under whichever name is asked for: as safetensors, and as an ONNX graph of the same
weights. Started as `model_hub.py FILES FOLDER PORT`, it returns once it can be asked.

It stands alone: the standard library only, nothing imported from the project.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
"""Of sentence-transformers/all-MiniLM-L6-v2, as its own hub dates it."""
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HIDDEN, HEADS, LAYERS = 384, 12, 6
MOST_TOKENS = 128
"""Of a text: as long as those it was trained on (its model card). With the 256 that its hub's file
allows, a batch of 256 texts takes the 3 GB that a cell has: one server's indexing was killed."""
_EMBEDS = re.compile(
    r"minilm|\bbge|\be5|\bgte|embed|mpnet|nomic|jina|arctic|stella|sentence|simcse|bert\b|distiluse"
    r"|paraphrase|mxbai|instructor|labse|specter|\ball-",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"rerank|cross-?encoder|ms-?marco|colbert|splade|bm25|bm42|clip|gguf|qwen|llama|gemma",
    re.IGNORECASE,
)
"""What one asks of another kind of model this one could not answer."""
_DIMENSIONS = (
    (re.compile(r"large|bge-m3|mxbai", re.IGNORECASE), 1024),
    (re.compile(r"small|mini|tiny|-xs|-s\b|384", re.IGNORECASE), HIDDEN),
    (re.compile(r"base|mpnet|nomic|jina|distil|-m\b|768", re.IGNORECASE), 768),
)
_SMALL_BYTES = 1 << 20
_ONNX_PLACES = ("model.onnx", "model_optimized.onnx", "onnx/model.onnx")
_DENSE = ("2_Dense/config.json", f"2_Dense/{WEIGHTS}")
_PROMPTS = ("query", "document", "passage", "search_query", "search_document")
_CHANGED: Mapping[str, Mapping[str, object]] = {
    "config_sentence_transformers.json": {"prompts": dict.fromkeys(_PROMPTS, "")},
    "tokenizer_config.json": {"model_max_length": MOST_TOKENS},
    "sentence_bert_config.json": {"max_seq_length": MOST_TOKENS},
}
"""File -> what stands in it otherwise than in its hub's."""


def is_embedder(repository: str) -> bool:
    """By its name: a hub that gave this model for every other would be taken at its word."""
    return bool(_EMBEDS.search(repository)) and not _OTHER.search(repository)


def dimensions(repository: str) -> int:
    """Of the vectors that its own model would give, by its name."""
    return next((size for known, size in _DIMENSIONS if known.search(repository)), HIDDEN)


# --- an ONNX graph of the same weights ----------------------------------------------------------

_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_FLOAT, _INT64 = 1, 7
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_INTS = 1, 2, 7


def _varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(place: int, value: bytes | str | float) -> bytes:
    """One field of a protobuf message."""
    if isinstance(value, int):
        return _varint(place << 3 | _VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(place << 3 | _FIXED32) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(place << 3 | _BYTES) + _varint(len(data)) + data


def _tensor(name: str, kind: int, shape: Sequence[int], data: bytes) -> bytes:
    dims = b"".join(_field(1, size) for size in shape)
    return dims + _field(2, kind) + _field(8, name) + _field(9, data)


def _attribute(name: str, value: float | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, _ATTRIBUTE_INT)
    if isinstance(value, float):
        return _field(1, name) + _field(2, value) + _field(20, _ATTRIBUTE_FLOAT)
    return _field(1, name) + b"".join(_field(8, one) for one in value) + _field(20, _ATTRIBUTE_INTS)


def _value_info(name: str, kind: int, sizes: Iterable[str | int]) -> bytes:
    shape = b"".join(_field(1, _field(2 if isinstance(s, str) else 1, s)) for s in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


class _Graph:
    """Nodes and constants, in the order in which they are made."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def add(self, op: str, *inputs: str, **attributes: float | Sequence[int]) -> str:
        """The name of what the node gives."""
        name = f"v{len(self.nodes)}"
        self._add(op, inputs, name, attributes)
        return name

    def _add(
        self,
        op: str,
        inputs: Sequence[str],
        output: str,
        attributes: Mapping[str, float | Sequence[int]],
    ) -> None:
        node = b"".join(_field(1, one) for one in inputs) + _field(2, output) + _field(4, op)
        node += b"".join(_field(5, _attribute(*one)) for one in attributes.items())
        self.nodes.append(node)

    def give(self, value: str, name: str) -> None:
        self._add("Identity", [value], name, {})

    def integers(self, *values: int) -> str:
        data = struct.pack(f"<{len(values)}q", *values)
        return self._constant(_INT64, [len(values)], data)

    def scalar(self, value: int) -> str:
        return self._constant(_INT64, [], struct.pack("<q", value))

    def number(self, value: float) -> str:
        return self._constant(_FLOAT, [], struct.pack("<f", value))

    def weight(self, name: str, shape: Sequence[int], data: bytes) -> None:
        self.constants.append(_tensor(name, _FLOAT, shape, data))

    def _constant(self, kind: int, shape: Sequence[int], data: bytes) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(_tensor(name, kind, shape, data))
        return name

    def model(self, inputs: Sequence[bytes], output: bytes) -> bytes:
        graph = b"".join(_field(1, node) for node in self.nodes) + _field(2, "MiniLM")
        graph += b"".join(_field(5, one) for one in self.constants)
        graph += b"".join(_field(11, one) for one in inputs) + _field(12, output)
        return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 17))


def onnx_model(weights: bytes, size: int = HIDDEN) -> bytes:
    """BERT as an ONNX graph whose every token's vector is the mean of all, padded with zeros.

    So it is the sentence's embedding whether the library takes the first token's vector or the mean
    of all. `weights`: of model.safetensors. Devlin et al., 2019; pooled as the model's own card
    says.
    """
    graph = _Graph()
    for name, shape, data in _tensors(weights):
        graph.weight(name, shape, data)
    mask = graph.add("Cast", "attention_mask", to=_FLOAT)
    hidden = _embedded(graph)
    absent = graph.add("Mul", graph.add("Sub", graph.number(1.0), mask), graph.number(-10000.0))
    bias = graph.add("Unsqueeze", absent, graph.integers(1, 2))
    for layer in range(LAYERS):
        hidden = _layer(graph, hidden, bias, f"encoder.layer.{layer}")
    graph.give(_pooled(graph, hidden, mask, size), "last_hidden_state")
    tokens = ("batch", "sequence")
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [_value_info(name, _INT64, tokens) for name in names]
    return graph.model(inputs, _value_info("last_hidden_state", _FLOAT, (*tokens, size)))


def _tensors(weights: bytes) -> Iterator[tuple[str, list[int], bytes]]:
    """(name, shape, little-endian floats) of each in a safetensors file."""
    (size,) = struct.unpack("<Q", weights[:8])
    for name, about in json.loads(weights[8 : 8 + size]).items():
        if about.get("dtype") == "F32" and not name.startswith("pooler."):
            start, end = about["data_offsets"]
            yield name, about["shape"], weights[8 + size + start : 8 + size + end]


def _embedded(graph: _Graph) -> str:
    length = graph.add("Gather", graph.add("Shape", "input_ids"), graph.scalar(1))
    places = graph.add("Range", graph.scalar(0), length, graph.scalar(1))
    words = graph.add("Gather", "embeddings.word_embeddings.weight", "input_ids")
    kinds = graph.add("Gather", "embeddings.token_type_embeddings.weight", "token_type_ids")
    where = graph.add("Gather", "embeddings.position_embeddings.weight", places)
    summed = graph.add("Add", graph.add("Add", words, kinds), where)
    return _normalized(graph, summed, "embeddings.LayerNorm")


def _layer(graph: _Graph, hidden: str, bias: str, name: str) -> str:
    attended = _dense(graph, _attended(graph, hidden, bias, name), f"{name}.attention.output.dense")
    summed = graph.add("Add", attended, hidden)
    middle = _normalized(graph, summed, f"{name}.attention.output.LayerNorm")
    wide = _gelu(graph, _dense(graph, middle, f"{name}.intermediate.dense"))
    out = graph.add("Add", _dense(graph, wide, f"{name}.output.dense"), middle)
    return _normalized(graph, out, f"{name}.output.LayerNorm")


def _attended(graph: _Graph, hidden: str, bias: str, name: str) -> str:
    split = graph.integers(0, 0, HEADS, HIDDEN // HEADS)

    def heads(part: str, order: Sequence[int]) -> str:
        dense = _dense(graph, hidden, f"{name}.attention.self.{part}")
        return graph.add("Transpose", graph.add("Reshape", dense, split), perm=order)

    query, key = heads("query", (0, 2, 1, 3)), heads("key", (0, 2, 3, 1))
    scale = graph.number((HIDDEN // HEADS) ** -0.5)
    scores = graph.add("Add", graph.add("Mul", graph.add("MatMul", query, key), scale), bias)
    shares = graph.add("Softmax", scores, axis=-1)
    seen = graph.add("MatMul", shares, heads("value", (0, 2, 1, 3)))
    joined = graph.add("Transpose", seen, perm=(0, 2, 1, 3))
    return graph.add("Reshape", joined, graph.integers(0, 0, HIDDEN))


def _dense(graph: _Graph, value: str, name: str) -> str:
    weight = graph.add("Transpose", f"{name}.weight", perm=(1, 0))
    return graph.add("Add", graph.add("MatMul", value, weight), f"{name}.bias")


def _normalized(graph: _Graph, value: str, name: str) -> str:
    scale, bias = f"{name}.weight", f"{name}.bias"
    return graph.add("LayerNormalization", value, scale, bias, axis=-1, epsilon=1e-12)


def _gelu(graph: _Graph, value: str) -> str:
    error = graph.add("Erf", graph.add("Mul", value, graph.number(0.5**0.5)))
    half = graph.add("Mul", value, graph.number(0.5))
    return graph.add("Mul", half, graph.add("Add", error, graph.number(1.0)))


def _pooled(graph: _Graph, hidden: str, mask: str, size: int) -> str:
    there = graph.add("Unsqueeze", mask, graph.integers(2))
    axes = graph.integers(1)
    total = graph.add("ReduceSum", graph.add("Mul", hidden, there), axes)
    count = graph.add("Max", graph.add("ReduceSum", there, axes), graph.number(1e-9))
    mean = graph.add("Div", total, count)
    every = graph.add("Add", graph.add("Mul", hidden, graph.number(0.0)), mean)
    return graph.add("Pad", every, graph.integers(0, 0, 0, 0, 0, size - HIDDEN))


# --- the hub ------------------------------------------------------------------------------------


class Hub:
    """Its files, by repository."""

    def __init__(self, files: Path, folder: Path) -> None:
        self.files = files
        """The model's own."""
        self.folder = folder
        """For what is made of them, when it is first asked for."""

    def names(self, repository: str) -> list[str]:
        """What it says that a repository holds."""
        own = sorted(
            path.relative_to(self.files).as_posix()
            for path in self.files.rglob("*")
            if path.is_file() and path.suffix in (".json", ".txt", ".safetensors")
        )
        if re.search("onnx", repository, re.IGNORECASE):
            return [*(name for name in own if name != WEIGHTS), *_ONNX_PLACES]
        return [*own, "onnx/model.onnx", *(_DENSE if dimensions(repository) > HIDDEN else ())]

    def path(self, repository: str, name: str) -> Path | None:
        """Of one file; None if there is none."""
        if name.endswith(".onnx"):
            size = dimensions(repository)
            weights = self.files / WEIGHTS
            return self._kept(f"{size}.onnx", lambda: onnx_model(weights.read_bytes(), size))
        made = self._made(repository, name)
        if made is not None:
            return self._kept(hashlib.sha256(made).hexdigest()[:16], lambda: made)
        path = self.files / name
        is_own = ".." not in Path(name).parts and not name.startswith((".", "/"))
        return path if is_own and path.is_file() else None

    def _made(self, repository: str, name: str) -> bytes | None:
        """What differs from its hub's: prompts, the most tokens, and a last layer of zeros."""
        if name in _CHANGED:
            given = json.loads((self.files / name).read_text(encoding="utf-8"))
            return _json({**given, **_CHANGED[name]})
        size = dimensions(repository)
        if size == HIDDEN:
            return None
        if name == "modules.json":
            modules = json.loads((self.files / name).read_text(encoding="utf-8"))
            dense = {"idx": 2, "name": "2", "path": "2_Dense"}
            dense["type"] = "sentence_transformers.models.Dense"
            # Its last one makes every vector one long, which zeros do not change.
            *first, last = modules
            return _json([*first, dense, {**last, "idx": 3, "name": "3", "path": "3_Normalize"}])
        if name == _DENSE[0]:
            function = "torch.nn.modules.linear.Identity"
            return _json(
                {
                    "in_features": HIDDEN,
                    "out_features": size,
                    "bias": False,
                    "activation_function": function,
                }
            )
        return _padding(size) if name == _DENSE[1] else None

    def _kept(self, name: str, make: Callable[[], bytes]) -> Path:
        path = self.folder / name
        if not path.exists():
            # Two may ask at once, each in a thread: neither may read half of what the other makes.
            scratch = self.folder / f"{name}-{threading.get_ident()}.part"
            scratch.write_bytes(make())
            scratch.replace(path)
        return path


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _padding(size: int) -> bytes:
    """Weights of a layer that adds zeros behind."""
    rows = bytearray(4 * size * HIDDEN)
    for place in range(HIDDEN):
        struct.pack_into("<f", rows, 4 * (place * HIDDEN + place), 1.0)
    about = {"dtype": "F32", "shape": [size, HIDDEN], "data_offsets": [0, len(rows)]}
    head = _json({"linear.weight": about})
    return struct.pack("<Q", len(head)) + head + bytes(rows)


class HubRequestHandler(BaseHTTPRequestHandler):
    """The few requests that the hub's clients make."""

    hub: Hub
    protocol_version = "HTTP/1.1"
    _API = re.compile(r"/api/models/(?P<name>.+?)(?P<rest>/(?:revision|tree)/.*)?")
    _FILE = re.compile(r"/(?P<name>.+?)/(?:resolve|raw)/[^/]+/(?P<path>.+)")

    def do_GET(self) -> None:
        """As a client of the hub asks."""
        path = unquote(urlsplit(self.path).path).rstrip("/")
        if (found := self._FILE.fullmatch(path)) and is_embedder(found["name"]):
            self._file(self.hub.path(found["name"], found["path"]))
        elif (found := self._API.fullmatch(path)) and is_embedder(found["name"]):
            self._about(found["name"], (found["rest"] or "").startswith("/tree/"))
        else:
            self._refuse("RepoNotFound")

    def do_HEAD(self) -> None:
        """The same, without its body."""
        self.do_GET()

    def _about(self, repository: str, as_tree: bool) -> None:
        names = self.hub.names(repository)
        if as_tree:
            self._send(_json(list(self._entries(repository, names))), "application/json")
            return
        about = {
            "id": repository,
            "modelId": repository,
            "sha": COMMIT,
            "siblings": [{"rfilename": name} for name in names],
            "private": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
        }
        self._send(_json(about), "application/json")

    def _entries(self, repository: str, names: Iterable[str]) -> Iterator[dict[str, object]]:
        for name in names:
            path = self.hub.path(repository, name)
            if path is not None:
                size = path.stat().st_size
                yield {"type": "file", "oid": _tag(path), "size": size, "path": name}

    def _file(self, path: Path | None) -> None:
        if path is None:
            self._refuse("EntryNotFound")
            return
        self.send_response(200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{_tag(path)}"')
        self.send_header("Content-Length", str(path.stat().st_size))
        self.end_headers()
        if self.command != "HEAD":
            with path.open("rb") as file:
                while part := file.read(1 << 20):
                    self.wfile.write(part)

    def _refuse(self, code: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody would read it."""


def _tag(path: Path) -> str:
    """Another for each text: a client keeps what it has fetched under it."""
    size = path.stat().st_size
    told = path.read_bytes() if size < _SMALL_BYTES else f"{path.name} {size}".encode()
    return hashlib.sha1(told, usedforsecurity=False).hexdigest()


def main() -> int:
    """0 once it can be asked; 1 if the weights are not those that it names."""
    files, folder, port = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    if hashlib.sha256((files / WEIGHTS).read_bytes()).hexdigest() != WEIGHTS_SHA256:
        sys.stderr.write(f"{files / WEIGHTS} is not the model that it should be\n")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    HubRequestHandler.hub = Hub(files, folder)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), HubRequestHandler)
    except OSError:
        # It runs already: the server is started a second time.
        return 0
    if os.fork():
        # Bound: whoever asks is answered.
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
