#!/usr/bin/env bash
# Runs inside the guest of ../shared/vmcam, by hand: OBS Studio with Kawari's virtual camera as its source; a
# screenshot of its window. Needs the Debian packages obs-studio, xvfb and imagemagick, and three minutes.
#
#   ../shared/vmcam/vmcam.sh -o OUT -- tests/vm/guest_obs.sh PYTHON    # OUT/obs.png
set -u
export HOME=/run/home XDG_RUNTIME_DIR=/run/xdg KAWARI_HOME=/run/kawari LIBGL_ALWAYS_SOFTWARE=1 DISPLAY=:77
obs=$HOME/.config/obs-studio
mkdir -p "$XDG_RUNTIME_DIR" "$obs/basic/profiles/Untitled" "$obs/basic/scenes"
cat >"$obs/global.ini" <<'I'
[General]
FirstRun=true
LastVersion=486539266
[Basic]
Profile=Untitled
ProfileDir=Untitled
SceneCollection=Untitled
SceneCollectionFile=Untitled
I
printf '[General]\nName=Untitled\n[Video]\nBaseCX=640\nBaseCY=360\nOutputCX=640\nOutputCY=360\n' \
    >"$obs/basic/profiles/Untitled/basic.ini"
cat >"$obs/basic/scenes/Untitled.json" <<'I'
{"current_scene": "Scene", "current_program_scene": "Scene", "name": "Untitled", "scene_order": [{"name": "Scene"}],
 "sources": [
  {"id": "scene", "name": "Scene", "settings": {"id_counter": 1, "items": [
    {"name": "Kawari", "id": 1, "visible": true, "align": 5, "bounds": {"x": 640, "y": 360}, "bounds_type": 2}]}},
  {"id": "v4l2_input", "name": "Kawari", "settings":
    {"device_id": "/dev/video10", "input": 0, "pixelformat": -1, "resolution": -1, "framerate": -1}}]}
I
# one core for all: the rate is not to be lowered because everything starts at once
"$1" -m app live --headless --camera demo --size 640x360 --delay 1000 --virtual-camera VirtualCam 2>/run/kawari.log &
kawari=$!
Xvfb "$DISPLAY" -screen 0 1080x730x24 >/dev/null 2>&1 &
xvfb=$!
sleep 20
obs --multi --disable-updater --disable-missing-files-check >"$VMCAM_OUT/obs.log" 2>&1 &
window=$!
sleep 45
import -window root "$VMCAM_OUT/obs.png"
kill -9 "$window"
kill -INT "$kawari"
wait "$kawari"
kill "$xvfb"
