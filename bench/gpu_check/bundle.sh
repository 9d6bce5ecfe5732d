#!/usr/bin/env bash
# Packs the binaries of a build with the libraries they need, for a machine that has none of them: bundle.sh BUILD_FOLDER
# makes bundle.tar.xz beside this script. The C library is the target's own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: bundle.sh BUILD_FOLDER}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/lib"
for name in tempo check_kernels; do
  file=$(find "$build" -type f -name "$name" -perm -u+x | head -1)
  [ -n "$file" ] || { echo "bundle.sh: no $name in $build" >&2; continue; }
  strip -o "$work/bin/$name" "$file"
  ldd "$file" | awk '$3 ~ /^\// {print $3}' | grep -Ev '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' |
    while IFS= read -r library; do cp -Lu "$library" "$work/lib/"; done
done
tar -cJf "$here/bundle.tar.xz" -C "$work" bin lib
ls -l "$here/bundle.tar.xz"
