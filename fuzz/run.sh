#!/usr/bin/env bash
# Runs fuzz targets one after another on one core: fuzz/run.sh SECONDS [TARGET...]. Needs cargo-fuzz;
# the readers have no unsafe code, so no sanitizer is needed and a stable compiler will do.
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
