#!/bin/sh
# Writes a minimal Debian bookworm as a tar file: bootstrap.sh OUT.tar. For `docker import`, where no registry can be pulled from. Needs root.
set -eu
out=$1
[ "$(id -u)" = 0 ] || { echo "debootstrap needs root" >&2; exit 1; }
if ! command -v debootstrap >/dev/null; then
  command -v apt-get >/dev/null || { echo "debootstrap is not installed" >&2; exit 1; }
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends debootstrap
fi
dir=$(mktemp -d /var/tmp/fairtrial-bootstrap.XXXXXX)
# A mount left inside would let the removal walk into the host's /proc or /sys.
trap 'umount "$dir/proc" "$dir/sys" 2>/dev/null || :; rm -rf --one-file-system "$dir"' EXIT
trap 'exit 1' HUP INT TERM
chmod 0755 "$dir"
debootstrap --variant=minbase bookworm "$dir" || { tail -n 20 "$dir/debootstrap/debootstrap.log" 2>/dev/null || :; exit 1; }
# debootstrap knows the main archive alone; fixes arrive through the other two.
sed -n 's|^deb \(.*\)/debian/* bookworm main$|deb \1/debian bookworm-updates main\ndeb \1/debian-security bookworm-security main|p' \
  "$dir/etc/apt/sources.list" >"$dir/etc/apt/sources.list.d/updates.list"
rm -rf "$dir"/var/cache/apt/* "$dir"/var/lib/apt/lists/* "$dir"/var/log/*.log "$dir"/var/log/apt "$dir"/etc/resolv.conf "$dir"/etc/hostname \
  "$dir"/usr/share/man/* "$dir"/usr/share/locale/* "$dir"/usr/share/info/*
find "$dir/usr/share/doc" -type f ! -name copyright -delete
tar --numeric-owner --one-file-system -C "$dir" -cf "$out" .
