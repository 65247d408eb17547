"""Builder containers: what they may do, what comes out of them, and that none is left."""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import suppress
from pathlib import Path

import docker
import pytest

from runner.sandbox import builder as builders
from runner.sandbox.builder import BuilderEnv, BuilderSpec, open_builder, tar_of
from runner.sandbox.engine import (
    DEADLINE_LABEL,
    OWNER_LABEL,
    engine_faults,
    owner_labels,
    remove_container,
    sweep,
)
from runner.support.errors import SandboxError
from tests.helpers import wait_until
from tests.sandbox.cut_engine import cut_engine

pytestmark = pytest.mark.docker


@pytest.fixture
def name() -> str:
    return f"fairtrial-test-{uuid.uuid4().hex}"


def exists(engine: docker.DockerClient, name: str) -> bool:
    return len(engine.api.containers(all=True, filters={"name": name})) > 0


def test_what_is_put_in_comes_out_again_and_its_output_is_read(
    engine: docker.DockerClient, base_image: str
) -> None:
    script = "cat /job/a; echo problem >&2; exit 3"
    spec = BuilderSpec(image=base_image, command=["sh", "-c", script], user="agent")
    with open_builder(engine, spec) as builder:
        builder.put(tar_of({"job/a": b"one\n", "job/b/c": b"two"}))
        assert builder.run() == 3
        assert builder.output(stderr=False) == "one\n"
        assert "problem" in builder.output()
        assert sorted(builder.files("/job")) == [b"one\n", b"two"]
        assert builder.files("/job/a") == [b"one\n"]
        assert builder.files("/job/nothing") == []


def test_without_an_environment_for_it_there_is_no_network_and_no_capability(
    engine: docker.DockerClient, base_image: str
) -> None:
    script = "ls /sys/class/net; grep CapBnd /proc/self/status"
    spec = BuilderSpec(image=base_image, command=["sh", "-c", script], user="agent")
    with open_builder(engine, spec) as builder:
        builder.run()
        assert builder.output().split() == ["lo", "CapBnd:", "0" * 16]


def test_it_is_removed_whatever_happens_inside(
    engine: docker.DockerClient, base_image: str, name: str
) -> None:
    spec = BuilderSpec(image=base_image, command=["sleep", "60"], name=name)
    with pytest.raises(ZeroDivisionError), open_builder(engine, spec) as builder:
        engine.api.start(builder.id)
        assert exists(engine, name)
        raise ZeroDivisionError
    assert not exists(engine, name)


def test_an_engine_that_hangs_up_on_a_command_is_a_fault_and_no_end_of_it(
    engine: docker.DockerClient, base_image: str, tmp_path: Path
) -> None:
    spec = BuilderSpec(image=base_image, command=["sh", "-c", "touch /tmp/begun; sleep 30"])
    with cut_engine(engine, tmp_path) as (proxy, through), open_builder(through, spec) as builder:

        def cut_once_begun() -> None:
            wait_until(lambda: bool(begun(engine, builder.id)), "the command began")
            proxy.cut()

        cutting = threading.Thread(target=cut_once_begun)
        cutting.start()
        with pytest.raises((SandboxError, OSError)):
            builder.run()
        cutting.join()


def begun(engine: docker.DockerClient, container: str) -> str:
    """Empty until its command has begun."""
    with suppress(docker.errors.APIError):  # it does not run yet
        made = engine.api.exec_create(container, ["sh", "-c", "ls /tmp/begun 2>/dev/null"])
        return str(engine.api.exec_start(made["Id"]).decode())
    return ""


def test_past_its_deadline_it_is_a_fault_and_gone(
    engine: docker.DockerClient, base_image: str, name: str
) -> None:
    spec = BuilderSpec(image=base_image, command=["sleep", "60"], name=name)
    with (
        pytest.raises(SandboxError, match="did not end in 1 s"),
        open_builder(engine, spec) as builder,
    ):
        builder.run(deadline_sec=1)
    assert not exists(engine, name)


def test_an_image_made_of_it_has_the_labels_given_and_not_its_owner(
    engine: docker.DockerClient, base_image: str
) -> None:
    with open_builder(engine, BuilderSpec(image=base_image)) as builder:
        image = builder.commit({"fairtrial": "test"})
    try:
        labels = engine.images.get(image).labels
        assert (labels["fairtrial"], labels[OWNER_LABEL]) == ("test", "")
        base_config = engine.images.get(base_image).attrs["Config"]
        config = engine.images.get(image).attrs["Config"]
        for key in ("Cmd", "User", "Env", "WorkingDir", "Entrypoint"):
            assert config[key] == base_config[key]
    finally:
        engine.api.remove_image(image, force=True)


SECRET = "s3cret-of-the-index"


def test_what_the_engine_tells_of_it_holds_no_password_and_its_command_still_gets_it(
    engine: docker.DockerClient, base_image: str
) -> None:
    environ = {
        "PIP_INDEX_URL": f"https://me:{SECRET}@packages.example/simple",
        "https_proxy": f"http://me:{SECRET}@proxy.example:3128",
    }
    env = BuilderEnv.from_mapping(environ)
    script = 'echo "$PIP_INDEX_URL $HTTPS_PROXY"; sleep 1'
    spec = BuilderSpec(image=base_image, command=["sh", "-c", script], network=env)
    with open_builder(engine, spec) as builder:
        assert builder.run() == 0
        assert builder.output().count(SECRET) == 2
        told = engine.api.inspect_container(builder.id)
        execs = [engine.api.exec_inspect(item) for item in told["ExecIDs"] or []]
        assert SECRET not in json.dumps([told, execs])


def test_it_ends_itself_and_is_removed_when_its_runner_is_dead(
    engine: docker.DockerClient, base_image: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builders, "DEADLINE_SEC", 1)
    spec = BuilderSpec(image=base_image, command=["true"], name=name)
    with open_builder(engine, spec) as builder:
        builder.run(deadline_sec=60)
        wait_until(lambda: not exists(engine, name), "the builder removed itself")


def test_a_sweep_takes_what_dead_runners_left_and_leaves_what_living_ones_have(
    engine: docker.DockerClient, base_image: str
) -> None:
    living = owner_labels(60)
    elsewhere = {**living, OWNER_LABEL: "another-machine:1:1"}
    late = {**elsewhere, DEADLINE_LABEL: "1000000000"}
    dead = {**living, OWNER_LABEL: living[OWNER_LABEL] + "1"}
    made = []
    for owned in (living, elsewhere, late, dead):
        labels = {"fairtrial": "builder", **owned}
        made.append(engine.api.create_container(base_image, ["true"], labels=labels)["Id"])
    try:
        sweep(engine)
        left = {item["Id"] for item in engine.api.containers(all=True)}
        assert [one in left for one in made] == [True, True, False, False]
    finally:
        for one in made[:2]:
            remove_container(engine, one)


# --- one of a name --------------------------------------------------------------------------


def test_a_builder_waits_for_a_living_runners_of_the_same_name(
    engine: docker.DockerClient, base_image: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_waiting, opened = threading.Event(), threading.Event()
    remove_abandoned = builders._remove_abandoned

    def look(engine: docker.DockerClient, name: str) -> bool:
        free = remove_abandoned(engine, name)
        if not free:
            is_waiting.set()
        return free

    def second() -> None:
        with open_builder(engine, BuilderSpec(image=base_image, name=name)):
            opened.set()

    monkeypatch.setattr(builders, "_remove_abandoned", look)
    thread = threading.Thread(target=second)
    with open_builder(engine, BuilderSpec(image=base_image, name=name)):
        thread.start()
        assert is_waiting.wait(60)
        assert not opened.is_set()
    thread.join(60)
    assert opened.is_set()


@pytest.mark.parametrize("kind", ["dead", "nobody"])
def test_a_dead_runners_builder_is_removed(
    engine: docker.DockerClient, base_image: str, name: str, kind: str
) -> None:
    labels = {"fairtrial": "builder"}
    if kind == "dead":
        # This process, as if it had started at another time.
        labels[OWNER_LABEL] = owner_labels(60)[OWNER_LABEL] + "1"
    left = engine.api.create_container(base_image, ["true"], name=name, labels=labels)["Id"]
    with open_builder(engine, BuilderSpec(image=base_image, name=name)) as builder:
        assert builder.id != left
    assert not exists(engine, name)


def test_a_builder_that_is_never_let_go_is_named_in_the_end(
    engine: docker.DockerClient, base_image: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builders, "_NAME_WAIT_SEC", 0)
    spec = BuilderSpec(image=base_image, name=name)
    with (
        open_builder(engine, spec),
        pytest.raises(SandboxError, match=name),
        engine_faults("cannot build"),
        open_builder(engine, spec),
    ):
        pass
