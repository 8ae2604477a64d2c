#!/usr/bin/env bash
# fuzz/window.sh SECONDS SEED PROGRAM: random clicks, keys, scrolls and sizes in the real window, on
# a virtual display. The seed decides the events, but what is on screen when they arrive depends on
# the speed of the machine. Prints what it did. The exit code is not 0 if the program crashed,
# panicked or did not end.
set -euo pipefail
if [ -z "${IN_VIRTUAL_DISPLAY:-}" ]; then
    export IN_VIRTUAL_DISPLAY=1
    exec xvfb-run --auto-servernum --server-args='-screen 0 1280x800x24 -nolisten tcp' "$0" "$@"
fi
seconds=$1 seed=$2 program=$(realpath "$3")
RANDOM=$((seed % 32768))
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
# Settings and unsaved work of this user must neither matter nor change.
export HOME=$work XDG_RUNTIME_DIR=$work XDG_DATA_HOME=$work XDG_CONFIG_HOME=$work
unset WAYLAND_DISPLAY
networks=(asia cancer insurance alarm barley)
keys=(Tab Return Escape space Up Down Left Right F5 F1 ctrl+z ctrl+y ctrl+k ctrl+r plus minus a x 1)
events=0 failures=0 windows=0 first='' last=''

open_window() {
    "$program" "${networks[RANDOM % ${#networks[@]}]}" >>"$work/log" 2>&1 &
    pid=$!
    windows=$((windows + 1))
    window=$(timeout 60 xdotool search --sync --onlyvisible --name Cliquescope | head -n 1)
    xdotool windowfocus "$window" || true
}

# Waits until the program has ended by itself, and counts anything but a normal end.
note_end() {
    local code=0
    wait "$pid" || code=$?
    pid=
    if [ $code != 0 ]; then
        failures=$((failures + 1))
        echo "real window: ended with code $code"
    fi
}

# Sends 20 random events.
send_events() {
    local chain=() number
    for number in $(seq 20); do
        chain+=(mousemove $((RANDOM % 1280)) $((RANDOM % 800)))
        case $((RANDOM % 10)) in
            0 | 1 | 2 | 3 | 4) chain+=(click 1) ;;
            5) chain+=(click 3) ;;
            6) chain+=(click $((4 + RANDOM % 2))) ;;
            7) chain+=(mousedown 1 mousemove $((RANDOM % 1280)) $((RANDOM % 800)) mouseup 1) ;;
            8) chain+=(key "${keys[RANDOM % ${#keys[@]}]}") ;;
            9) [ $((RANDOM % 4)) != 0 ] ||
                chain+=(windowsize "$window" $((640 + RANDOM % 640)) $((400 + RANDOM % 400))) ;;
        esac
    done
    # The events fail if the program has just ended.
    xdotool "${chain[@]}" 2>/dev/null || true
    events=$((events + 20))
}

end=$((SECONDS + seconds))
open_window
while [ $SECONDS -lt $end ]; do
    send_events
    sleep 0.1
    if kill -0 "$pid" 2>/dev/null; then
        last=$(awk '/^VmRSS/ { printf "%.1f MiB", $2 / 1024 }' "/proc/$pid/status" || true)
        [ $events -lt 200 ] || first=${first:-$last}
    else
        # An event may have closed the window.
        note_end
        open_window
    fi
done
# Closes what is open, and the window. A window that hangs does not end.
for attempt in 1 2 3; do
    kill -0 "$pid" 2>/dev/null || break
    xdotool windowfocus "$window" key Escape key Escape key ctrl+q 2>/dev/null || true
    for _ in $(seq 100); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
done
if kill -0 "$pid" 2>/dev/null; then
    failures=$((failures + 1))
    echo "real window: it does not end after $attempt requests"
else
    note_end
fi
if grep -a 'panicked' "$work/log"; then
    failures=$((failures + 1))
fi
echo "real window: $events executions in $seconds s, $failures failures, memory first $first," \
    "last $last, $windows windows, seed $seed"
[ $failures = 0 ]
