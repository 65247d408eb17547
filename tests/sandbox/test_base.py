"""The base image: what pins it, what it holds, and what a builder may leave in it (nothing)."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tarfile
import threading
import uuid
from pathlib import Path

import docker
import pytest

from runner.errors import EngineError, LockError
from runner.sandbox import base
from runner.sandbox.base import (
    check_image,
    check_images_lock,
    ensure_base,
    remember_image,
    write_images_lock,
)
from runner.sandbox.builder import CA_INSIDE, BuilderEnv

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = BuilderEnv(proxies={}, indexes={}, ca_bundle=None)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that pin the base, free to be spoilt; nothing here can build."""
    for name in (*base.RECIPE, "locks/images.lock"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


# --- the lock -------------------------------------------------------------------------------


def test_the_committed_lock_agrees_with_the_committed_recipe() -> None:
    assert "@sha256:" in check_images_lock(ROOT).debian


@pytest.mark.parametrize("name", base.RECIPE)
def test_a_changed_recipe_file_is_refused_until_it_is_locked(checkout: Path, name: str) -> None:
    with (checkout / name).open("a") as file:
        file.write("# one more line\n")
    with pytest.raises(LockError, match=r"(?s)base\.recipe is locked as .*just lock"):
        check_images_lock(checkout)
    write_images_lock(checkout)
    check_images_lock(checkout)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"base": {"debian": "debian:latest"}}', '{"base": 1}']
)
def test_a_lock_that_is_no_lock_says_how_to_write_one(checkout: Path, text: str) -> None:
    (checkout / "locks/images.lock").write_text(text)
    with pytest.raises(LockError, match=r"locks/images\.lock: cannot be read(.|\n)*just lock"):
        check_images_lock(checkout)


def test_a_base_without_a_digest_is_never_locked(checkout: Path) -> None:
    text = (checkout / "Dockerfile").read_text()
    (checkout / "Dockerfile").write_text(text.replace("@sha256:", ":"))
    with pytest.raises(LockError, match="Dockerfile: the base is not pinned"):
        write_images_lock(checkout)


# --- remembered images ----------------------------------------------------------------------


def test_a_replaced_image_is_refused_and_an_unseen_one_is_not(tmp_path: Path) -> None:
    assert not check_image(tmp_path, "a:1", "sha256:aa")
    remember_image(tmp_path, "a:1", "sha256:aa")
    assert check_image(tmp_path, "a:1", "sha256:aa")
    with pytest.raises(LockError, match="docker rmi a:1"):
        check_image(tmp_path, "a:1", "sha256:bb")


def test_images_remembered_at_once_are_all_kept(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=remember_image, args=(tmp_path, f"i:{n}", f"sha256:{n}"))
        for n in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(check_image(tmp_path, f"i:{n}", f"sha256:{n}") for n in range(24))


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"a:1": 2}'])
def test_a_spoilt_memory_is_an_error_with_a_hint(tmp_path: Path, text: str) -> None:
    (tmp_path / "images.json").write_text(text)
    with pytest.raises(LockError, match=r"images\.json(.|\n)*fairtrial clean"):
        check_image(tmp_path, "a:1", "sha256:aa")


# --- what a builder gets --------------------------------------------------------------------


def test_a_builder_gets_proxies_in_both_spellings_and_the_users_indexes(tmp_path: Path) -> None:
    proxy, index = "http://proxy.example:3128", "https://index.example/simple"
    environ = {"HTTPS_PROXY": proxy, "no_proxy": "localhost", "PIP_INDEX_URL": index, "HOME": "/x"}
    env = BuilderEnv.from_mapping(environ, system_bundle=tmp_path / "none.pem")
    spelt = {
        "https_proxy": proxy,
        "HTTPS_PROXY": proxy,
        "no_proxy": "localhost",
        "NO_PROXY": "localhost",
    }
    assert env.variables() == {**spelt, "PIP_INDEX_URL": index}
    assert (env.volumes(), env.network) == ({}, "bridge")


def test_no_key_of_the_user_reaches_a_builder() -> None:
    env = BuilderEnv.from_mapping(
        {"ANTHROPIC_API_KEY": "secret", "PIP_PASSWORD": "secret", "AWS_CA_BUNDLE": "secret"}
    )
    assert "secret" not in repr(env)


def test_the_first_ca_variable_that_names_a_file_wins(tmp_path: Path) -> None:
    own, system = tmp_path / "own.pem", tmp_path / "system.pem"
    own.write_text("own")
    system.write_text("system")
    environ = {"SSL_CERT_FILE": str(tmp_path / "gone.pem"), "PIP_CERT": str(own)}
    assert BuilderEnv.from_mapping(environ, system_bundle=system).ca_bundle == own
    env = BuilderEnv.from_mapping({}, system_bundle=system)
    assert env.volumes() == {str(system): {"bind": CA_INSIDE, "mode": "ro"}}
    assert {
        env.variables()[name] for name in ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")
    } == {CA_INSIDE}


@pytest.mark.parametrize(
    ("host", "network"), [("127.0.0.1", "host"), ("localhost", "host"), ("192.0.2.1", "bridge")]
)
def test_a_proxy_on_this_machine_is_reached_through_its_network(host: str, network: str) -> None:
    assert (
        BuilderEnv.from_mapping(
            {"http_proxy": f"http://{host}:8080", "no_proxy": "http://127.0.0.1"}
        ).network
        == network
    )


# --- building -------------------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # docker-py forgets the socket that could not connect
def test_no_engine_is_said_as_such(checkout: Path, tmp_path: Path) -> None:
    client = docker.DockerClient(base_url=f"unix://{tmp_path}/no.sock", version="1.41")
    with pytest.raises(EngineError) as raised:
        ensure_base(client, checkout, print, env=NOWHERE)
    assert raised.value.hint.startswith("is the Docker Engine running?")
    client.close()
    del raised, client
    gc.collect()


def test_a_drifted_recipe_is_refused_before_the_engine_is_asked(
    checkout: Path, tmp_path: Path
) -> None:
    (checkout / "Dockerfile").write_text((ROOT / "Dockerfile").read_text() + "RUN true\n")
    client = docker.DockerClient(base_url=f"unix://{tmp_path}/no.sock", version="1.41")
    with pytest.raises(LockError):
        ensure_base(client, checkout, print, env=NOWHERE)
    client.close()


def test_a_bootstrap_without_root_says_what_would_do_instead(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    client = docker.DockerClient(base_url=f"unix://{tmp_path}/no.sock", version="1.41")
    with pytest.raises(
        EngineError, match=r"needs root(.|\n)*hint: make debian:bookworm-slim@sha256"
    ):
        base._bootstrap(client, checkout, NOWHERE, tmp_path, check_images_lock(checkout))
    client.close()


def test_a_bootstrap_that_fails_shows_its_last_words(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (checkout / "images/base/bootstrap.sh").write_text("echo the mirror is gone >&2; exit 9\n")
    client = docker.DockerClient(base_url=f"unix://{tmp_path}/no.sock", version="1.41")
    with pytest.raises(EngineError, match=r"exit 9\)\nthe mirror is gone\nhint: "):
        base._bootstrap(client, checkout, NOWHERE, tmp_path, check_images_lock(ROOT))
    client.close()


@pytest.mark.docker
@pytest.mark.usefixtures("base_image")
def test_a_base_replaced_under_its_tag_is_refused(
    engine: docker.DockerClient, checkout: Path, builder_env: BuilderEnv
) -> None:
    tag = check_images_lock(checkout).tag
    remember_image(checkout / ".fairtrial", tag, "sha256:" + "0" * 64)
    with pytest.raises(LockError, match="something replaced it"):
        ensure_base(engine, checkout, print, env=builder_env)


@pytest.mark.docker
def test_a_second_build_is_none(
    engine: docker.DockerClient, base_image: str, checkout: Path, builder_env: BuilderEnv
) -> None:
    said: list[str] = []
    assert ensure_base(engine, checkout, said.append, env=builder_env).id == base_image
    assert said == []
    assert json.loads((checkout / ".fairtrial/images.json").read_text()) == {
        check_images_lock(ROOT).tag: base_image
    }


def _context(folder: Path, dockerfile: str) -> Path:
    (folder / "Dockerfile").write_text(dockerfile)
    with tarfile.open(folder / "context.tar", "w") as tar:
        tar.add(folder / "Dockerfile", "Dockerfile")
    return folder / "context.tar"


@pytest.mark.docker
def test_a_failed_build_shows_its_log_and_leaves_no_layer(
    engine: docker.DockerClient, base_image: str, tmp_path: Path
) -> None:
    mark = uuid.uuid4().hex
    context = _context(
        tmp_path, f"FROM {base_image}\nRUN echo {mark}\nRUN echo the mirror is gone; exit 7\n"
    )
    with pytest.raises(EngineError, match=r"(?s)returned a non-zero code: 7.*the mirror is gone"):
        base._docker_build(engine, context, tag=f"fairtrial/test:{mark}")
    histories = [
        str(image.history())
        for image in engine.images.list(all=True, filters={"since": base_image})
    ]
    assert not [history for history in histories if mark in history]


@pytest.mark.docker
def test_a_proxy_works_in_the_build_and_is_gone_from_the_image(
    engine: docker.DockerClient, base_image: str, tmp_path: Path
) -> None:
    proxies = BuilderEnv.from_mapping(
        {"http_proxy": "http://user:secret@proxy.example:3128"}
    ).proxies
    tag = f"fairtrial/test:{uuid.uuid4().hex}"
    context = _context(tmp_path, f'FROM {base_image}\nRUN test "${{#http_proxy}}" -gt 30\n')
    try:
        base._docker_build(engine, context, tag=tag, buildargs=proxies)
        image = engine.images.get(tag)
        assert "proxy.example" not in json.dumps([image.attrs, image.history()])
    finally:
        engine.images.remove(tag, force=True)


def _in_base(engine: docker.DockerClient, image: str, command: str, user: str) -> str:
    output = engine.containers.run(
        image,
        ["bash", "-c", command],
        user=user,
        network_mode="none",
        remove=True,
        stderr=True,
        labels={"fairtrial": "test"},
    )
    return bytes(output).decode()


@pytest.mark.docker
def test_the_base_holds_the_shells_tools_and_the_servers_runtimes(
    engine: docker.DockerClient, base_image: str
) -> None:
    tools = "bash find grep sed awk git rg tree less jq ps timeout python3 node npm"
    missing = _in_base(
        engine,
        base_image,
        f"for t in {tools}; do command -v $t >/dev/null || echo $t; done",
        "agent",
    )
    versions = _in_base(
        engine,
        base_image,
        "node --version; python3 --version; python3 -c 'import ensurepip'",
        "agent",
    )
    assert (missing, versions.split(".")[0], "Python 3.11" in versions) == ("", "v22", True)


@pytest.mark.docker
def test_the_base_holds_no_compiler_no_ctags_and_nothing_of_the_builders(
    engine: docker.DockerClient, base_image: str
) -> None:
    found = "for t in cc gcc g++ make ctags; do command -v $t; done; env | grep -i -e proxy -e cert -e index; ls -A /var/lib/apt/lists"
    assert _in_base(engine, base_image, f"{found}; true", "agent") == ""
    attributes = json.dumps(
        [engine.images.get(base_image).attrs["Config"], engine.images.get(base_image).history()]
    ).lower()
    assert "proxy" not in attributes
    assert "cert_file" not in attributes


@pytest.mark.docker
def test_the_base_starts_with_no_command_given(
    engine: docker.DockerClient, base_image: str
) -> None:
    assert engine.images.get(base_image).attrs["Config"]["Cmd"] == ["bash"]


@pytest.mark.docker
def test_the_shells_user_reads_nothing_where_the_server_lives(
    engine: docker.DockerClient, base_image: str
) -> None:
    assert "Permission denied" in _in_base(engine, base_image, "ls /opt/server; true", "agent")
    assert _in_base(engine, base_image, "touch /opt/server/x && echo ok", "server") == "ok\n"
    assert _in_base(
        engine,
        base_image,
        "id -u agent; id -u server; touch /workspace/x 2>/dev/null || echo refused",
        "agent",
    ).split() == [
        "10001",
        "10002",
        "refused",
    ]


@pytest.mark.docker
def test_git_reads_a_repository_that_belongs_to_somebody_else(
    engine: docker.DockerClient, base_image: str
) -> None:
    made = "git init -q /workspace && HOME= setpriv --reuid 10001 --clear-groups git -C /workspace status --short && echo ok"
    assert _in_base(engine, base_image, made, "root") == "ok\n"
