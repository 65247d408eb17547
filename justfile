# What we do here. `./justw RECIPE` gets everything a recipe needs first; `just RECIPE` is enough
# afterwards.

set positional-arguments

fairtrial := ".venv/bin/fairtrial"
python := ".venv/bin/python"

_list:
    @"{{ just_executable() }}" --justfile "{{ justfile() }}" --list --unsorted

# Compare two servers with the shell on real repositories, and report
demo *ARGS:
    @{{ fairtrial }} demo "$@"

# Two workers a core: most tests wait for a process or a container, and leave theirs idle.
workers := "$(( 2 * $(getconf _NPROCESSORS_ONLN) ))"

# Lint, types and every test; ARGS go to pytest
test *ARGS:
    @code=0; types=$(mktemp); \
    .venv/bin/mypy >"$types" 2>&1 & checking=$!; \
    .venv/bin/ruff check . || code=1; \
    .venv/bin/ruff format --check . || code=1; \
    {{ python }} -m pytest -n {{ workers }} --maxprocesses 4 \
        --dist loadfile --no-loadscope-reorder "$@" || code=$?; \
    wait $checking || [ $code != 0 ] || code=1; \
    cat "$types"; rm "$types"; \
    exit $code

# Opt-in: a real cell with real weights, through both SDKs: WEIGHTS=path.gguf
test-llm *ARGS:
    @{{ python }} -m tests.llm "$@"

# Opt-in: Claude Code in a real cell; npm fetches it here, under its own licence
test-agents *ARGS:
    @{{ python }} -m pytest tests/real_agents/claude_code_cells.py "$@"

# Compare a server with every fault that is planted in it, one at a time: some ten minutes
test-planted *ARGS:
    @EVERY_PLANTED_FAULT=1 {{ python }} -m pytest tests/versions/test_planted.py "$@"

# The page in a real browser; `./justw` installs Debian's Chromium where it is not there
test-page *ARGS:
    @{{ python }} -m pytest tests/page "$@"

# Prove every scenario, rubric and server definition
check *ARGS:
    @{{ fairtrial }} check "$@"

# Examine every server of MCP-AgentBench's testbed in the sandbox; installs them first
testbed *ARGS:
    @{{ fairtrial }} server check --testbed "$@"

# Write locks/ anew from the sources; review the diff
lock *ARGS:
    @{{ fairtrial }} lock "$@"

# Run one cell: SCENARIO SERVER MODEL
cell *ARGS:
    @{{ fairtrial }} cell "$@"

# Run, or resume, scenarios × servers × models × trials
run *ARGS:
    @{{ fairtrial }} run "$@"

# Score a run again from its transcripts; needs no engine
score *ARGS:
    @{{ fairtrial }} score "$@"

# The gate: anchors unchanged, and still ranked as graded by hand
verify-anchors *ARGS:
    @{{ fairtrial }} verify-anchors "$@"

# Report a run: terminal, Markdown, JSON, HTML
report *ARGS:
    @{{ fairtrial }} report "$@"

# Measure our own speed against its floors
bench *ARGS:
    @{{ python }} -m tests.bench "$@"

# Past one machine: kills, efficiency, size, shards, a bucket, two engines; PARTS by name
bench-scale *PARTS:
    @{{ python }} -m tests.bench_scale "$@"

# Mutated files for every importer and reader: INPUTS (100000) SEED (0)
fuzz *ARGS:
    @{{ python }} -m tests.fuzz "$@"

# Harm a run in every way at random, and count what must not come of it: --harms N --seed N --minutes N
campaign *ARGS:
    @{{ python }} -m tests.campaign "$@"

# What a report's judgements are worth, over drawn runs whose truth is known: --runs N, --only ROW
simulate *ARGS:
    @{{ python }} -m tests.simulation "$@"

# Remove our containers; with --all the volumes, images and caches too
clean *ARGS:
    @{{ fairtrial }} clean "$@"
