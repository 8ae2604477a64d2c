#!/usr/bin/env bash
# fuzz/run.sh SECONDS [TARGET...]: runs each fuzz target for SECONDS, one after another, on one
# core. Runs all targets if none is given. Needs cargo-fuzz. The readers have no unsafe code, so the
# script uses no sanitizer and works with a stable compiler.
set -euo pipefail
cd "$(dirname "$0")"
seconds=$1
shift
[ -d seeds ] || ./seeds.sh
export RUSTC_BOOTSTRAP=1
[ $# -gt 0 ] || set -- $(basename -s .rs fuzz_targets/*)
for target; do
    mkdir -p "found/$target"
    printf '\n== %s\n' "$target"
    cargo fuzz run --fuzz-dir . --sanitizer none "$target" "found/$target" "seeds/$target" -- \
        -dict="dictionaries/$target.dict" -max_len=16384 -timeout=10 -rss_limit_mb=256 \
        -malloc_limit_mb=256 -max_total_time="$seconds" -print_final_stats=1
done
