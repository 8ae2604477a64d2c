#!/usr/bin/env bash
# fuzz/long.sh MINUTES [SEED]: runs all random tests for about MINUTES in all, one part after
# another. The exit code is 1 if any part found something. Each part except the last two prints what
# it did. Building and these two parts, which take the same time in every run, do not count.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n 's/^# //p' "$0" | head -3; exit 2; }
minutes=$1
export LONG_SEED=${2:-1}
# Without a session bus, no dialog of the system can open during the tests.
export DBUS_SESSION_BUS_ADDRESS=unix:path=/dev/null
failed=0

echo '== building'
cargo build --release --quiet --bin cliquescope
cargo test --release --quiet --no-run

# part SHARE FILE TEST: runs an ignored test of the test program FILE for SHARE percent of the time.
part() {
    LONG_SECONDS=$((minutes * 60 * $1 / 100)) cargo test --release --quiet --test "$2" -- \
        --ignored --exact "$3" --nocapture || failed=1
}

# suite FILE FILTER...: runs tests that take the same time however long the run is.
suite() {
    local file=$1
    shift
    cargo test --release --quiet --test "$file" -- "$@" || failed=1
}

echo '== mutations of files'
part 25 fuzz_smoke mutations_for_the_given_time
echo '== session'
part 25 soak \
    after_changes_for_the_given_time_the_posteriors_are_right_and_the_memory_has_not_grown
echo '== window without a display'
part 20 monkey random_events_for_the_given_time
echo '== window on a virtual display'
if command -v Xvfb >/dev/null && command -v xdotool >/dev/null; then
    fuzz/window.sh $((minutes * 60 * 15 / 100)) "$LONG_SEED" target/release/cliquescope || failed=1
else
    echo 'SKIPPED: it needs Xvfb and xdotool'
fi
echo '== numbers of all magnitudes'
part 15 conformance search::numbers_of_all_magnitudes_for_the_given_time
echo '== conformance, with extreme numbers'
suite conformance
echo '== allocations that fail'
suite allocation
[ $failed = 0 ] && echo '== nothing was found' || echo '== FAILED: see above'
exit $failed
