"""The Kubernetes manifest of docs/scale.md is one that Kubernetes takes."""

from __future__ import annotations

import copy
import re
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.conftest import ROOT

FENCE = re.compile(r"```yaml\n(apiVersion: batch/v1.*?)```", re.DOTALL)
VERSIONS = ("1.33", "1.37")


def manifest() -> dict[str, Any]:
    (text,) = FENCE.findall((ROOT / "docs/scale.md").read_text(encoding="utf-8"))
    loaded = yaml.safe_load(text)
    assert isinstance(loaded, dict)
    return loaded


@pytest.mark.parametrize("version", VERSIONS)
def test_the_job_is_valid_where_unknown_keys_are_not(version: str) -> None:
    job = manifest()
    kubernetes_validate.validate(job, version, strict=True)
    misspelt = copy.deepcopy(job)
    misspelt["spec"]["backoffLimitPerIndexes"] = misspelt["spec"].pop("backoffLimitPerIndex")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(misspelt, version, strict=True)


def test_each_pod_has_a_shard_of_its_own_and_none_runs_twice_at_a_time() -> None:
    spec = manifest()["spec"]
    assert spec["completionMode"] == "Indexed"
    # What Kubernetes asks of a Job with a limit for each index.
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["podReplacementPolicy"] == "Failed"
    (container,) = spec["template"]["spec"]["containers"]
    share = f"--shard $((JOB_COMPLETION_INDEX + 1))/{spec['completions']}"
    assert container["args"][0].endswith(share)
