#!/usr/bin/env bash
# Checks Tempo on a machine with a GPU, within a time limit. See README.md.
#   run.sh [--bundle FOLDER] [--seconds N] [--out FOLDER]
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bundle=$here/bundle
limit=450
out=${OUT:-$here/results}
while [ $# -gt 0 ]; do
  case $1 in
    --bundle) bundle=$2; shift 2 ;;
    --seconds) limit=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) echo "run.sh: unknown argument $1" >&2; exit 2 ;;
  esac
done
mkdir -p "$out"
log=$out/gpu_check.log
: > "$log"
start=$(date +%s)
left() { echo $((limit - ($(date +%s) - start))); }
say() { echo "$@" | tee -a "$log"; }

if [ ! -x "$bundle/bin/tempo" ] && [ -f "$bundle.tar.xz" ]; then
  mkdir -p "$bundle" && tar -xJf "$bundle.tar.xz" -C "$bundle"
fi
if [ ! -x "$bundle/bin/check_kernels" ]; then
  say "no bundle at $bundle: make one with bundle.sh on the machine that builds"
  exit 2
fi
export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# NVRTC also comes as a Python package.
if [ -z "${TEMPO_NVRTC:-}" ] && [ ! -e "${CUDA_HOME:-/usr/local/cuda}/lib64/libnvrtc.so" ]; then
  found=$(python3 -c 'import glob, site
for f in site.getsitepackages():
    for g in sorted(glob.glob(f + "/nvidia/*/lib/libnvrtc.so.1[23]")): print(g)' 2>/dev/null | tail -1)
  [ -n "$found" ] && export TEMPO_NVRTC=$found
fi
say "$(nvidia-smi -L 2>/dev/null || echo 'nvidia-smi: not there')"

failed=0
# name, seconds at most, command
step() {
  local name=$1 most=$2; shift 2
  local rest; rest=$(left)
  if [ "$rest" -lt 5 ]; then say "skip $name: out of time"; failed=1; return; fi
  [ "$most" -gt "$rest" ] && most=$rest
  local begin; begin=$(date +%s.%N)
  local text rc
  text=$(timeout -k 5 "$most" "$@" 2>&1); rc=$?
  local seconds; seconds=$(echo "$(date +%s.%N) $begin" | awk '{printf "%.2f", $1 - $2}')
  if [ $rc -eq 0 ]; then say "ok   $name ${seconds}s"; else say "FAIL $name ${seconds}s (exit $rc)"; failed=1; fi
  { echo "--- $name"; echo "$text"; } >> "$log"
  [ $rc -ne 0 ] && echo "$text" | tail -15
  return 0
}

step kernels 120 "$bundle/bin/check_kernels"
if [ -x "$bundle/bin/tempo" ]; then
  cd "$root" || exit 2
  # `test`: the values written in the sample; `check --oracle`: every output against the interpreter.
  while IFS= read -r sample; do
    name=${sample#samples/}; name=${name%.tempo}
    step "test:$name" 60 "$bundle/bin/tempo" test --device cuda "$sample"
    step "oracle:$name" 60 "$bundle/bin/tempo" check --oracle --device cuda "$sample"
    step "run:$name" 60 "$bundle/bin/tempo" run --quiet --device cuda "$sample"
  done < <(find samples -name '*.tempo' -not -path '*/data/*' | sort)
fi
say "$(grep -c '^ok ' "$log") ok, $(grep -c '^FAIL' "$log") failed, $(grep -c '^skip' "$log") skipped, $(( $(date +%s) - start )) s"
exit $failed
