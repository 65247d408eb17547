"""A hub of models on loopback, which has one and gives it for every embedder.

That its vectors are the model's own is shown where a library asks for them: see trying/test_try.py.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from runner.sandbox import model_hub
from runner.sandbox.model_hub import Hub, HubRequestHandler, dimensions, is_embedder, onnx_model
from tests.helpers import PATIENCE_SEC
from tests.models.doubles import serving

MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Norm", "type": "sentence_transformers.models.Normalize"},
]


def safetensors(**tensors: list[float]) -> bytes:
    about, data = {}, b""
    for name, values in tensors.items():
        packed = struct.pack(f"<{len(values)}f", *values)
        ends = [len(data), len(data) + len(packed)]
        about[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": ends}
        data += packed
    head = json.dumps({"__metadata__": {"format": "pt"}, **about}).encode()
    return struct.pack("<Q", len(head)) + head + data


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    files, folder = tmp_path / "files", tmp_path / "made"
    (files / "1_Pooling").mkdir(parents=True)
    folder.mkdir()
    (tmp_path / "secret").write_text("no file of the model")
    (files / "config.json").write_text('{"hidden_size": 384}')
    (files / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}')
    (files / "modules.json").write_text(json.dumps(MODULES))
    (files / "tokenizer_config.json").write_text('{"model_max_length": 512}')
    (files / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    (files / "config_sentence_transformers.json").write_text('{"prompts": {}}')
    (files / "model.safetensors").write_bytes(safetensors(**{"embeddings.a": [1.0, 2.0]}))
    HubRequestHandler.hub = Hub(files, folder)
    with serving(HubRequestHandler) as url:
        yield url


def get(url: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method)) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def read(url: str) -> Any:
    status, _, body = get(url)
    assert status == 200
    return json.loads(body)


@pytest.mark.parametrize(
    ("repository", "size"),
    [
        ("sentence-transformers/all-MiniLM-L6-v2", 384),
        ("qdrant/bge-small-en-v1.5-onnx-q", 384),
        ("BAAI/bge-base-en-v1.5", 768),
        ("nomic-ai/nomic-embed-text-v1.5", 768),
        ("intfloat/e5-large-v2", 1024),
    ],
)
def test_a_vector_is_as_long_as_the_asked_models_would_be(repository: str, size: int) -> None:
    assert is_embedder(repository)
    assert dimensions(repository) == size


@pytest.mark.parametrize(
    "repository",
    ["Qwen/Qwen2.5-0.5B", "BAAI/bge-reranker-base", "cross-encoder/ms-marco-MiniLM-L-6-v2"],
)
def test_for_another_kind_of_model_there_is_none(address: str, repository: str) -> None:
    assert not is_embedder(repository)
    assert get(f"{address}/api/models/{repository}")[0] == 404
    status, headers, _ = get(f"{address}/{repository}/resolve/main/config.json", "HEAD")
    assert (status, headers["X-Error-Code"]) == (404, "RepoNotFound")


def test_what_it_lists_it_has_and_each_file_has_a_tag_of_its_own(address: str) -> None:
    name = "BAAI/bge-base-en-v1.5"
    listed = read(f"{address}/api/models/{name}/tree/main?recursive=True")
    about = read(f"{address}/api/models/{name}/revision/main")
    paths = [entry["path"] for entry in listed]
    assert [entry["rfilename"] for entry in about["siblings"]] == paths
    assert about["sha"] == model_hub.COMMIT
    tags = set()
    for entry in listed:
        status, headers, body = get(f"{address}/{name}/resolve/main/{entry['path']}")
        assert (status, len(body)) == (200, entry["size"])
        tags.add(headers["ETag"])
    # A client keeps files by their tags: of two config.json one would be read for the other.
    assert len(tags) == len(paths) > 5
    # One that fetches all that is listed has the last layer's weights too.
    assert {"2_Dense/config.json", "2_Dense/model.safetensors"} <= set(paths)


def test_a_longer_vector_is_padded_before_it_is_made_one_long(address: str) -> None:
    url = f"{address}/nomic-ai/nomic-embed-text-v1.5/resolve/main"
    kinds = [one["type"].rpartition(".")[2] for one in read(f"{url}/modules.json")]
    assert kinds == ["Transformer", "Pooling", "Dense", "Normalize"]
    weights = get(f"{url}/2_Dense/model.safetensors")[2]
    (size,) = struct.unpack("<Q", weights[:8])
    rows = struct.unpack(f"<{384 * 768}f", weights[8 + size :])
    assert sum(rows) == 384
    assert all(rows[place * 384 + place] == 1.0 for place in range(384))
    # A library that is not sentence-transformers reads it here alone.
    assert read(f"{url}/tokenizer_config.json")["model_max_length"] == 128
    assert read(f"{url}/sentence_bert_config.json")["max_seq_length"] == 128
    plain = read(f"{address}/all-MiniLM-L6-v2/resolve/main/modules.json")
    assert plain == MODULES


def test_two_that_ask_at_once_get_the_same_whole_file(address: str) -> None:
    url = f"{address}/qdrant/bge-small-en-v1.5-onnx-q/resolve/main/model_optimized.onnx"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: get(url), range(16)))
    (only,) = {(status, body) for status, _, body in answers}
    assert only[0] == 200 and b"last_hidden_state" in only[1]


def test_nothing_beside_the_models_own_files_is_given(address: str) -> None:
    for path in ("../secret", "%2e%2e/secret", "/etc/hostname", "adapter_config.json", ".hidden"):
        status, headers, _ = get(f"{address}/all-MiniLM-L6-v2/resolve/main/{path}")
        assert (status, headers["X-Error-Code"]) in [(404, "EntryNotFound"), (404, "RepoNotFound")]


def test_a_graph_holds_the_weights_and_is_the_same_each_time() -> None:
    weights = safetensors(**{"embeddings.a": [1.5, 2.5], "pooler.b": [7.25]})
    made = onnx_model(weights)
    assert made == onnx_model(weights)
    assert struct.pack("<2f", 1.5, 2.5) in made
    assert struct.pack("<f", 7.25) not in made
    assert b"last_hidden_state" in made
    assert onnx_model(weights, 768) != made


def test_weights_that_are_not_the_models_are_not_given_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(safetensors(a=[1.0]))
    command = [sys.executable, model_hub.__file__, str(tmp_path), str(tmp_path / "made"), "0"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE_SEC
    )
    assert done.returncode == 1
    assert "is not the model that it should be" in done.stderr
