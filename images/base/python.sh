#!/bin/sh
# Puts the next Debian's Python 3.13 into FOLDER, with the C library it was built for: python.sh FOLDER. For servers that do not run on bookworm's
# own 3.11. Nothing else in the image changes: its program names its own loader, and that one looks only beside itself first.
set -eu
to=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/parts" "$scratch/lists/partial" "$scratch/cache/archives/partial" "$scratch/packages" "$scratch/root" "$to/lib/native"
# The same mirrors as those of the image, another release.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  [ ! -f "$file" ] || sed 's/bookworm/trixie/g' "$file" >"$scratch/parts/${file##*/}"
done
[ ! -f "$scratch/parts/sources.list" ] || mv "$scratch/parts/sources.list" "$scratch/parts/main.list"
apt() {
  apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$scratch/parts" -o Dir::State::Lists="$scratch/lists" \
    -o Dir::Cache="$scratch/cache" -o APT::Sandbox::User=root "$@"
}
apt update
cd "$scratch/packages"
apt download libbz2-1.0 libc6 libdb5.3t64 libexpat1 libffi8 liblzma5 libncursesw6 libpython3.13-minimal libpython3.13-stdlib libreadline8t64 \
  libsqlite3-0 libssl3t64 libtinfo6 libuuid1 libzstd1 python3-pip-whl python3.13-minimal python3.13-venv zlib1g
for package in *.deb; do dpkg -x "$package" "$scratch/root"; done
mkdir "$to/bin" "$to/share"
mv "$scratch"/root/usr/bin/python3.13 "$to/bin/"
mv "$scratch"/root/usr/lib/python3.13 "$to/lib/"
mv "$scratch"/root/usr/lib/*-linux-gnu*/* "$to/lib/native/"
mv "$scratch"/root/usr/share/python-wheels "$to/share/"
rm -rf "$to/lib/native/gconv" "$to/lib/python3.13/sitecustomize.py"
sed -i "s|/usr/share/python-wheels|$to/share/python-wheels|" "$to"/lib/python3.13/_sysconfigdata*.py
for loader in "$to"/lib/native/ld-linux-*; do
  patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$to/lib/native" "$to/bin/python3.13"
done
for name in python3 python; do ln -s python3.13 "$to/bin/$name"; done
# It must work here, or every server that needs it would fail one by one.
"$to/bin/python3" -c 'import bz2, ctypes, lzma, readline, sqlite3, ssl, uuid, venv, zlib; ssl.create_default_context()'
