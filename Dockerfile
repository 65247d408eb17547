# The base every cell starts from, the same bytes in every arm. `fairtrial` builds it: BASE is this digest where a registry answers, else
# a Debian bootstrap (images/base/bootstrap.sh). The build context holds node/, unpacked from the wheel that locks/node.txt pins,
# and images/base/python.sh, which brings a newer Python than Debian's own beside it.
ARG BASE=debian:bookworm-slim@sha256:96e378d7e6531ac9a15ad505478fcc2e69f371b10f5cdf87857c4b8188404716
FROM ${BASE}

COPY python.sh /usr/local/src/

RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -qq --no-install-recommends \
      bash ca-certificates coreutils debian-archive-keyring findutils gawk git grep jq less patchelf procps python3 python3-venv ripgrep sed tree \
 && sh /usr/local/src/python.sh /opt/python3.13 \
 && apt-get purge -qq --auto-remove patchelf \
 && rm -r /usr/local/src/python.sh \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache /var/log/apt /var/log/*.log \
      /usr/share/man/* /usr/share/info/* /usr/share/locale/* \
 && find /usr/share/doc -type f ! -name copyright -delete

COPY node/ /usr/local/

# Every file under /workspace belongs to another user than the shell's: git would refuse the repository without safe.directory. The kernel
# lets nobody trace a program whose file its user cannot read: while the shell's host still starts, a command could take it over.
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && for user in agent:10001 server:10002; do \
      groupadd --gid "${user#*:}" "${user%:*}" \
      && useradd --no-log-init --uid "${user#*:}" --gid "${user#*:}" --no-create-home --home-dir /nonexistent --shell /bin/bash "${user%:*}" || exit 1; \
    done \
 && rm -f /etc/passwd- /etc/group- /etc/shadow- /etc/gshadow- \
 && git config --system --add safe.directory '*' \
 && install -D -m 0711 "$(readlink -f /usr/bin/python3)" /usr/local/libexec/shell-python \
 && install -d -m 0755 /workspace \
 && install -d -m 0700 -o server -g server /opt/server

ENV LANG=C.UTF-8 LC_ALL=C.UTF-8
WORKDIR /workspace
