"""The closed lists that extraction uses. Each holds what agents' answers showed, not everything."""

from __future__ import annotations

import builtins

from runner.grounding.language import LANGUAGES

EXTENSIONS = frozenset(
    """
    adoc asm astro awk bat bazel bzl cfg clj cljs cmake cmd coffee conf cr csproj css csv cy
    d dart dockerfile eex el elm erb f f90 fish fs fsx gd gql gradle graphql groovy h haml
    handlebars hbs heex htm html idl in ini ipynb jinja jinja2 json json5 jsonc less lhs
    lisp lock makefile md mdx mk mli mod nim nix njk pas patch plist po pp prisma properties
    proto ps1 pug pxd pyx qml re rei rkt rmd ron rst s sass scm scss sln snap sol sum sv
    svelte svg tcl templ toml tsv twig txt v vb vhd vim vue wat xml xsd yaml yml zig
    """.split()
).union(*(one.extensions for one in LANGUAGES.values()))
"""Lower case. A path that is not in the tree is one only if it ends in one of these, or in an
extension that the tree has."""

FILE_NAMES = tuple(
    """
    Makefile Dockerfile Justfile justfile Rakefile Gemfile Procfile Jenkinsfile Vagrantfile
    Brewfile Podfile Fastfile Containerfile GNUmakefile CODEOWNERS LICENSE BUILD WORKSPACE
    """.split()
)
"""Files without an extension that are files in any repository."""

FOREIGN_ROOTS = (
    "/usr/",
    "/lib/",
    "/lib64/",
    "/opt/",
    "/etc/",
    "/proc/",
    "/sys/",
    "/dev/",
    "/bin/",
    "/sbin/",
    "/var/",
    "/tmp/",  # noqa: S108 - recognised in text, never written to
    "/root/.",
    "/rustc/",
    "java.base/",
    "~/",
    "$",  # $HOME/x.py
)
"""Files outside the repository: of a traceback, of an installation."""

# Without these an installed copy of the project, seen in a traceback, would count as its source.
FOREIGN_PARTS = (
    "site-packages/",
    "dist-packages/",
    "node_modules/",
    "/.cargo/",
    "/go/pkg/mod/",
    "/.venv/",
    "/.m2/",
    "/.rustup/",
)

SUFFIX_TLDS = frozenset("com org net io dev ai co uk de edu gov app sh rs in me info".split())
"""A first segment such as `example.com` makes the rest a web address or a Go module path."""

MUTE_FENCES = frozenset(
    """
    bash sh shell zsh fish console shell-session shellsession terminal powershell ps1 cmd bat diff
    patch
    """.split()
)
"""These hold a command, its output or a change: quoted, not claimed."""

PROSE_FENCES = frozenset(
    "text txt plain plaintext markdown md ascii tree none mermaid yaml yml".split()
)
"""Read as prose, line by line, as a fence with no language is. Any other language is a code
sample."""

COMMANDS = frozenset(
    """
    ack ag awk bash bat bundle cargo cat cd chmod composer cp ctags curl cut deno diff docker
    dotnet echo fd find gcc gh git go gofmt gradle grep head hg jq java just kubectl less ls
    make mkdir mv mvn mypy node npm npx nl perl php pip pipx pnpm poetry pytest python python3
    rg rm ruby ruff sed sh sort sudo svn tail tar tee test touch tox tree tsc uniq uv vi vim
    wc wget which xargs yarn zsh
    """.split()
)
"""A code span that starts with one of these and goes on is a quoted command: `grep -n x a.py`."""

HTTP_CODES = frozenset(
    map(
        int,
        """
        200 201 202 204 206 301 302 303 304 307 308 400 401 403 404 405 406 408 409 410 411 412
        413 414 415 417 418 422 425 426 428 429 431 451 500 501 502 503 504 505
        """.split(),
    )
)
"""`not found (404)` gives no line."""

COMMON_CODES = frozenset(
    {200, 201, 204, 301, 302, 304, 307, 308, 400, 401, 403, 404, 405, 409, 422, 429, 500, 502, 503}
)
"""Those that are seldom anything else."""

PORTS = frozenset(
    map(
        int,
        """
        80 443 1433 1521 2181 2379 3000 3001 3306 4000 4200 4222 5000 5001 5173 5432 5601 5672 6379
        6443 7000 8000 8001 8008 8080 8081 8086 8088 8443 8888 9000 9042 9090 9092 9200 9229 9300
        11211 15672 26257 27017 27018 50051
        """.split(),
    )
)
"""Ports that services are known by: behind what looks like a host, no line."""

PRODUCTS = frozenset(
    """
    vue.js node.js next.js nuxt.js express.js react.js angular.js ember.js d3.js three.js chart.js
    backbone.js moment.js alpine.js knockout.js svelte.js nest.js require.js p5.js socket.io
    discord.js hapi.js koa.js solid.js
    """.split()
)
"""Lower case: behind them stands a version, unless the tree has a file of that name."""

_PYTHON_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_OTHER_BUILTINS = frozenset(
    """
    Error TypeError RangeError Promise Map Set Array Object String Number Symbol console
    process Exception RuntimeException panic append make recover fmt Vec Option Result Box Arc
    Rc Some None Ok Err String puts
    """.split()
)
BUILTINS = _PYTHON_BUILTINS | _OTHER_BUILTINS
"""Names that languages define. If the cited file defines none of its own, a sentence that names one
speaks of the language."""

KEYWORDS = frozenset(
    """
    true false null nil undefined NaN self this cls void int bool float double char if else elif
    elsif for while do return def class func fn function import try except finally catch throw
    throws yield await async const let var pub impl mod struct enum trait interface static public
    private protected in is not and or as break continue switch case goto pass lambda del global
    nonlocal typeof instanceof extends implements foreach unless end rescue mut dyn where elseif
    """.split()
)
"""Never the symbol that a citation names: no language lets a definition have such a name."""

LITERALS = frozenset(
    """
    None True False NULL Self super str string bytes dict list tuple set object any get post put
    delete patch head options trace connect from raise use type new default match with when GET
    POST PUT PATCH DELETE HEAD OPTIONS TRACE CONNECT
    """.split()
)
"""As they are written: literals, types and HTTP verbs, unless the cited file defines one itself
(`` `True` (a.py:3) ``, `` `GET` ``)."""
