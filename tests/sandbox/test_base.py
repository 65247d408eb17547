"""The base image: what pins it, what it holds, and what a builder may leave in it (nothing)."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tarfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import docker
import pytest

from runner.protocols import Log
from runner.sandbox import base_image as base
from runner.sandbox.base_build import BasePins, HostTools, bootstrap, docker_build
from runner.sandbox.base_image import check_images_lock, ensure_base, write_images_lock
from runner.sandbox.builder import CA_INSIDE, BuilderEnv, BuilderSpec, open_builder
from runner.sandbox.engine import absent_ok
from runner.sandbox.image_names import RECIPE_LABEL, read_images, remember_image
from runner.support.errors import EngineError, LockError

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = BuilderEnv(proxies={}, indexes={}, ca_bundle=None)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that pin the base, free to be spoilt; nothing here can build."""
    copy_recipe(tmp_path)
    return tmp_path


@pytest.fixture
def no_engine(tmp_path: Path) -> Iterator[docker.DockerClient]:
    """A client of an address where none answers."""
    client = docker.DockerClient(base_url=f"unix://{tmp_path}/no.sock", version="1.41")
    yield client
    client.close()


def copy_recipe(root: Path) -> None:
    for name in (*base.RECIPE, "locks/images.lock"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)


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
    # uv does not read pip's variables, and would ask the public registry in vain.
    assert env.variables() == {**spelt, "PIP_INDEX_URL": index, "UV_DEFAULT_INDEX": index}
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
    variables = env.variables()
    for name in ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"):
        assert variables[name] == CA_INSIDE


@pytest.mark.parametrize(
    ("host", "network"), [("127.0.0.1", "host"), ("localhost", "host"), ("192.0.2.1", "bridge")]
)
def test_a_proxy_on_this_machine_is_reached_through_its_network(host: str, network: str) -> None:
    environ = {"http_proxy": f"http://{host}:8080", "no_proxy": "http://127.0.0.1"}
    assert BuilderEnv.from_mapping(environ).network == network


# --- building -------------------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # docker-py forgets the socket that could not connect
def test_no_engine_is_said_as_such(checkout: Path, no_engine: docker.DockerClient) -> None:
    with pytest.raises(EngineError) as raised:
        ensure_base(no_engine, checkout, print, env=NOWHERE, state=checkout / ".fairtrial")
    assert raised.value.hint.startswith("is the Docker Engine running?")
    no_engine.close()
    del raised
    gc.collect()


def test_a_drifted_recipe_is_refused_before_the_engine_is_asked(
    checkout: Path, no_engine: docker.DockerClient
) -> None:
    (checkout / "Dockerfile").write_text((ROOT / "Dockerfile").read_text() + "RUN true\n")
    with pytest.raises(LockError):
        ensure_base(no_engine, checkout, print, env=NOWHERE, state=checkout / ".fairtrial")


def test_a_bootstrap_without_root_says_what_would_do_instead(
    checkout: Path,
    no_engine: docker.DockerClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    host = HostTools(root=checkout, env=NOWHERE, scratch=tmp_path)
    with pytest.raises(
        EngineError, match=r"needs root(.|\n)*hint: make debian:bookworm-slim@sha256"
    ):
        bootstrap(no_engine, host, check_images_lock(checkout))


def test_a_bootstrap_that_fails_shows_its_last_words(
    checkout: Path,
    no_engine: docker.DockerClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (checkout / "images/base/bootstrap.sh").write_text("echo the mirror is gone >&2; exit 9\n")
    host = HostTools(root=checkout, env=NOWHERE, scratch=tmp_path)
    with pytest.raises(EngineError, match=r"exit 9\)\nthe mirror is gone\nhint: "):
        bootstrap(no_engine, host, check_images_lock(ROOT))


@pytest.mark.docker
def test_a_second_build_is_none(
    engine: docker.DockerClient, base_image: str, checkout: Path, builder_env: BuilderEnv
) -> None:
    pins, state = check_images_lock(ROOT), checkout / ".fairtrial"
    remember_image(state, pins.image.name, base_image)
    said: list[str] = []
    base_now = ensure_base(engine, checkout, said.append, env=builder_env, state=state)
    assert (base_now.id, base_now.tag) == (base_image, pins.image.tag(base_image))
    assert said == []
    assert read_images(state) == {pins.image.name: base_image}


# --- two checkouts, one engine --------------------------------------------------------------


@dataclass
class TwoCheckouts:
    """Two roots on one engine, each with a `.fairtrial` of its own. A base takes them a second."""

    engine: docker.DockerClient
    one: Path
    two: Path
    said: list[str] = field(default_factory=list)

    def ensure(self, root: Path) -> str:
        return ensure_base(
            self.engine, root, self.said.append, env=NOWHERE, state=root / ".fairtrial"
        ).id

    def redefine(self, root: Path, line: str) -> BasePins:
        with (root / "Dockerfile").open("a") as file:
            file.write(line)
        write_images_lock(root)
        return check_images_lock(root)

    def clean(self, pins: BasePins) -> None:
        """What `clean --all` would do, to one recipe's images alone."""
        label = f"{RECIPE_LABEL}={pins.recipe}"
        for image in self.engine.api.images(filters={"label": label}):
            self.engine.api.remove_image(image["Id"], force=True)


@pytest.fixture
def checkouts(
    engine: docker.DockerClient,
    base_image: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> TwoCheckouts:
    """Instead of a Debian, what they build is a copy of the base, with their own recipe's label."""

    def build(
        engine: docker.DockerClient, root: Path, log: Log, env: BuilderEnv, pins: BasePins
    ) -> str:
        log(f"building in {root.name}")
        with open_builder(engine, BuilderSpec(image=base_image)) as builder:
            return builder.commit(pins.image.labels)

    monkeypatch.setattr(base, "build_base", build)
    roots = (tmp_path / "one", tmp_path / "two")
    for root in roots:
        copy_recipe(root)
    return TwoCheckouts(engine, *roots)


@pytest.mark.docker
def test_two_checkouts_with_one_recipe_share_a_base_through_cleaning_and_rebuilding(
    checkouts: TwoCheckouts,
) -> None:
    line = f"# {uuid.uuid4().hex}\n"
    pins = checkouts.redefine(checkouts.one, line)
    assert checkouts.redefine(checkouts.two, line) == pins
    try:
        first = checkouts.ensure(checkouts.one)
        assert checkouts.ensure(checkouts.two) == first
        checkouts.clean(pins)
        second = checkouts.ensure(checkouts.two)
        assert checkouts.ensure(checkouts.one) == second != first
        assert checkouts.ensure(checkouts.two) == second
        assert checkouts.said == ["building in one", "building in two"]
    finally:
        checkouts.clean(pins)


@pytest.mark.docker
def test_two_checkouts_with_different_recipes_each_keep_their_own_base(
    checkouts: TwoCheckouts,
) -> None:
    one = checkouts.redefine(checkouts.one, f"# {uuid.uuid4().hex}\n")
    two = checkouts.redefine(checkouts.two, f"# {uuid.uuid4().hex}\n")
    try:
        first, second = checkouts.ensure(checkouts.one), checkouts.ensure(checkouts.two)
        assert first != second
        assert (checkouts.ensure(checkouts.one), checkouts.ensure(checkouts.two)) == (first, second)
        checkouts.clean(two)
        assert checkouts.ensure(checkouts.one) == first
        assert checkouts.ensure(checkouts.two) != second
        assert checkouts.said == ["building in one", "building in two", "building in two"]
    finally:
        checkouts.clean(one)
        checkouts.clean(two)


@pytest.mark.docker
def test_a_base_replaced_under_its_tag_is_refused(checkouts: TwoCheckouts, base_image: str) -> None:
    pins = checkouts.redefine(checkouts.one, f"# {uuid.uuid4().hex}\n")
    try:
        tag = pins.image.tag(checkouts.ensure(checkouts.one))
        checkouts.engine.images.get(base_image).tag(tag)
        with pytest.raises(LockError, match="something replaced it"):
            checkouts.ensure(checkouts.one)
        checkouts.engine.api.remove_image(tag)
    finally:
        checkouts.clean(pins)


# --- what a build leaves --------------------------------------------------------------------


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
        docker_build(engine, context)
    # By its own mark: others build on this engine at the same time, and remove their images.
    left = []
    for image in engine.api.images(all=True, filters={"since": base_image}):
        with absent_ok():
            left.append(str(engine.images.get(image["Id"]).history()))
    assert not [history for history in left if mark in history]


@pytest.mark.docker
def test_a_proxy_works_in_the_build_and_is_gone_from_the_image(
    engine: docker.DockerClient, base_image: str, tmp_path: Path
) -> None:
    environ = {"http_proxy": "http://user:secret@proxy.example:3128"}
    proxies = BuilderEnv.from_mapping(environ).proxies
    mark = uuid.uuid4().hex
    context = _context(
        tmp_path, f'FROM {base_image}\nRUN test "${{#http_proxy}}" -gt 30 && echo {mark}\n'
    )
    built = docker_build(engine, context, buildargs=proxies)
    try:
        image = engine.images.get(built)
        assert mark in json.dumps(image.history())
        assert "proxy.example" not in json.dumps([image.attrs, image.history()])
    finally:
        engine.images.remove(built, force=True)


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
    compilers = "for t in cc gcc g++ make ctags; do command -v $t; done"
    builders = "env | grep -i -e proxy -e cert -e index; ls -A /var/lib/apt/lists"
    assert _in_base(engine, base_image, f"{compilers}; {builders}; true", "agent") == ""
    image = engine.images.get(base_image)
    attributes = json.dumps([image.attrs["Config"], image.history()]).lower()
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
    script = "id -u agent; id -u server; touch /workspace/x 2>/dev/null || echo refused"
    output = _in_base(engine, base_image, script, "agent")
    assert output.split() == ["10001", "10002", "refused"]


@pytest.mark.docker
def test_git_reads_a_repository_that_belongs_to_somebody_else(
    engine: docker.DockerClient, base_image: str
) -> None:
    as_agent = "HOME= setpriv --reuid 10001 --clear-groups"
    status = f"{as_agent} git -C /workspace status --short"
    script = f"git init -q /workspace && {status} && echo ok"
    assert _in_base(engine, base_image, script, "root") == "ok\n"
