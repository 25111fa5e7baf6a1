#!/usr/bin/env bash
# Everything CI checks, in one go, on a fresh checkout: system packages, set-up by the README's test
# command, static checks, documentation, tests. Each step has a time limit, runs in a session of its
# own without input, and must leave no process behind. Nothing is printed after pytest's closing line.
#
#   KAWARI_CI_PYTHON=python3.12 packaging/ci.sh    # with another Python
#   KAWARI_CI_PATIENCE=4 packaging/ci.sh           # time limits times 4, on a busy machine
#   KAWARI_NIGHTLY=1 packaging/ci.sh               # 20 minutes of soak, 20,000 mixes of faults
set -euo pipefail
cd "$(dirname "$0")/.."
export KAWARI_CI=1 PYTHONUNBUFFERED=1 PYTHONFAULTHANDLER=1 QT_QPA_PLATFORM="${QT_QPA_PLATFORM:-offscreen}"
export HOME="${HOME:-/root}"
python=${KAWARI_CI_PYTHON:-python3}

# The processes of a session that still run; one that has ended and waits for its parent does not.
running() {
    ps -s "$1" -o pid=,stat=,args= | awk '$2 !~ /^Z/'
}

# step SECONDS NAME COMMAND…
step() {
    local limit=$(($1 * ${KAWARI_CI_PATIENCE:-1})) name=$2 began=$SECONDS status=0 session
    shift 2
    echo "== $name"
    setsid timeout --foreground --kill-after=10 "$limit" "$@" </dev/null &
    session=$!
    wait "$session" || status=$?
    if [ -n "$(running "$session")" ]; then
        echo "ci: '$name' left these processes behind:"
        running "$session"
        pkill -KILL --session "$session"
        [ "$status" -ne 0 ] || status=1
    fi
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        echo "ci: '$name' took longer than $limit s"
    fi
    if [ "$status" -ne 0 ]; then
        echo "ci: '$name' failed with status $status after $((SECONDS - began)) s"
        exit "$status"
    fi
}

# Debian packages: libraries that OpenCV and Qt load, an X server for window tests, ffmpeg as an
# independent judge of the files we write, a sound server without a sound card, busybox and kmod for the virtual-camera guest.
system_packages() {
    local wanted=(xvfb chromium ffmpeg procps libgl1 libegl1 libopengl0 libglib2.0-0 libfontconfig1 libdbus-1-3
        libportaudio2 pulseaudio libasound2-plugins
        libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0
        libxcb-render-util0 libxcb-shape0 libxcb-xinerama0 libxcb-xkb1 fonts-dejavu-core)
    local missing=() package
    command -v dpkg-query >/dev/null || { echo "no Debian system: ${wanted[*]} are taken for granted"; return 0; }
    for package in "${wanted[@]}"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || { echo "all there"; return 0; }
    if [ "$(id -u)" -ne 0 ]; then
        echo "missing, and not root: sudo apt-get install ${missing[*]}"
        return 0
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        echo "could not install ${missing[*]}; tests that need them will fail"
}
export -f system_packages

dev=("$python" packaging/dev.py)
step 300 "system packages" bash -c system_packages
step 900 "set-up" "${dev[@]}" python -c "import engine, app.cli"
step 60 "ruff" "${dev[@]}" ruff check .
step 60 "format" "${dev[@]}" ruff format --check .
step 300 "types" "${dev[@]}" mypy
step 120 "import contracts" "${dev[@]}" lint-imports
step 60 "documentation" "${dev[@]}" python packaging/docs_check.py
minutes=3 tests_s=1800
[ -z "${KAWARI_NIGHTLY:-}" ] || minutes=20 tests_s=7200
step $((minutes * 90 + 120)) "soak" "${dev[@]}" kawari bench soak --minutes "$minutes" --check
step "$tests_s" "tests" "${dev[@]}" pytest --durations=15
