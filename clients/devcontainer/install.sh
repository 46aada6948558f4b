#!/bin/sh
# Installs xstate for all users of a container: the archive of a release, if it has the checksum that is written here.
# .ci/installers writes the version of a release and the checksums of its archives into this script.
# usage: install.sh [RELEASE [PREFIX]], the address of its files and where they go
set -eu
version=@VERSION@
release=${1:-https://github.com/xstate-engine/xstate/releases/download/v$version}
prefix=${2:-/usr/local}

case $(uname -s)_$(uname -m) in
Linux_x86_64) platform=linux_amd64 sum=@linux_amd64@ ;;
Linux_aarch64) platform=linux_arm64 sum=@linux_arm64@ ;;
*) echo "xstate: a release has no program for $(uname -s) on $(uname -m)" >&2; exit 1 ;;
esac

# Images of Debian and Ubuntu may have nothing that downloads.
command -v curl >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends ca-certificates curl; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
name=xstate_v${version}_$platform
curl --fail --silent --show-error --location --retry 3 --output "$folder/$name.tar.gz" "$release/$name.tar.gz"
echo "$sum  $folder/$name.tar.gz" | sha256sum -c - >/dev/null || {
	echo "xstate: $release/$name.tar.gz is not the archive of this release" >&2
	exit 1
}
tar -xzf "$folder/$name.tar.gz" -C "$folder"
cd "$folder/$name"
./xstate version || { echo "xstate: the program needs glibc 2.17 or later" >&2; exit 1; }
mkdir -p "$prefix/bin" "$prefix/share/bash-completion/completions" "$prefix/share/man/man1" "$prefix/share/doc/xstate"
cp xstate "$prefix/bin/xstate"
cp completions/xstate.bash "$prefix/share/bash-completion/completions/xstate"
cp man/*.1 "$prefix/share/man/man1"
cp -r LICENSE licences "$prefix/share/doc/xstate"
