"""One animated person: a portrait, its depth, and a smooth warp of both.

The head turns in 3-D: every point of the portrait has a depth (the face's from its landmarks, the
hair's from a rounded head), is turned about a point inside the head and projected again, so that the
nose moves more than the cheeks. Away from the head the movement fades out. One smooth warp of one
picture can't tear or leave holes; the background beside the head gives way a little.

The warp is solved on a coarse grid: the position s that lands on q satisfies s = q − d(s), which the
fixed-point iteration finds since d varies slowly (|∇d| < 1).
"""

from __future__ import annotations

import cv2
import numpy as np
import skimage.data
from numpy.typing import NDArray
from scipy.interpolate import LinearNDInterpolator

from engine.sources.demo.features import eye, mouth
from engine.sources.demo.motion import Pose
from engine.track.stills import find_faces
from engine.track.topology import LEFT_BROW, OVAL, RIGHT_BROW, SURFACE
from engine.types import Image, Points

Floats = NDArray[np.float32]

# Eileen Collins, NASA, public domain; 512×512. The head's outline in it, hair included.
_HEAD = (227.0, 97.0, 76.0, 84.0)  # centre x, y, half axes
_VIEW = (227.0, 4.0)  # the middle column and the first row of what is shown
_FACE_SHARE = 3.0 / 720  # enlargement of the portrait per row of the output
_WIDEST = 480.0  # columns of the portrait that may be shown
_CELL = 8
_ITERATIONS = 6
_CAMERA_DISTANCE = 6.5  # in half widths of the head: about 50 cm


class Puppet:
    """Renders the demo person in any pose; not thread-safe, since it reuses its buffers.

    Args:
        width, height: of the pictures, pixels; any size from 64 on.
        mirrored: the other way round, and in another light: a second person.
    """

    def __init__(self, width: int, height: int, *, mirrored: bool = False) -> None:
        photo = np.ascontiguousarray(skimage.data.astronaut()[..., ::-1])  # type: ignore[no-untyped-call]
        face = find_faces(photo)[0].landmarks
        zoom = max(_FACE_SHARE * height, width / _WIDEST)
        side = round(512 * zoom)
        self._zoom, self._size, self._mirrored = side / 512, (width, height), mirrored
        portrait = cv2.resize(photo, (side, side), interpolation=cv2.INTER_CUBIC)
        if mirrored:
            portrait = cv2.convertScaleAbs(portrait * np.array((0.72, 0.8, 0.9)))
        self._portrait: Image = portrait  # type: ignore[assignment]
        face = self._scaled(face)
        self._face_width = float(np.ptp(face[:SURFACE, 0]))
        self._eyes = eye(self._portrait, face, left=False), eye(self._portrait, face, left=True)
        self._mouth = mouth(self._portrait, face)
        self._setup_grid(face)

    def render(self, pose: Pose) -> Image:
        """uint8, H×W×3, BGR: a new picture."""
        for each in self._eyes:
            each.show(self._portrait, pose.blink)
        self._mouth.show(self._portrait, (pose.mouth + 1) / 2 if pose.mouth > 0 else (1 + pose.mouth) / 3)
        width, height = self._size
        solved = self._solve(self._shift(pose))
        for k, plane in enumerate(self._fine):  # remap is a third faster with x and y apart
            cv2.resize(np.ascontiguousarray(solved[..., k]), plane.shape[::-1], dst=plane)
        x, y = (plane[_CELL : _CELL + height, _CELL : _CELL + width] for plane in self._fine)
        image: Image = cv2.remap(  # type: ignore[assignment]
            self._portrait, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101
        )
        return np.ascontiguousarray(image[:, ::-1]) if self._mirrored else image

    def _scaled(self, points: Points) -> Points:
        z = np.float32(self._zoom)
        moved = points * z
        moved[:, :2] += (z - 1) / 2  # pixel centres
        return moved

    def _setup_grid(self, face: Points) -> None:
        side, zoom = self._portrait.shape[0], self._zoom
        cells = side // _CELL + 1
        # node i lies in the middle of cell i, as cv2.resize has it
        nodes = np.arange(cells, dtype=np.float32) * _CELL + np.float32((_CELL - 1) / 2)
        self._x, self._y = np.meshgrid(nodes, nodes)
        cx, cy, rx, ry = (np.float32(v * zoom) for v in _HEAD)
        across, down = (self._x - cx) / rx, (self._y - cy) / ry
        radius = np.hypot(across, down)
        depth = self._depth(face, cx, cy, rx, ry)
        self._pivot = cx, np.float32(cy + 0.35 * ry), np.float32(np.percentile(face[OVAL, 2], 75))
        self._depth_map = cv2.GaussianBlur(depth, (0, 0), 9 * zoom / _CELL) - self._pivot[2]
        # the neck gives way at once, the air round the hair slowly
        fade = np.where(down > 0, 1.6 - 0.9 * np.clip(down, 0, 1), 1.6)
        self._head = _smooth((1 + fade - radius) / fade).astype(np.float32)
        self._body = np.exp(-(((self._x - cx) / (2.2 * rx)) ** 2)).astype(np.float32)
        self._distance = np.float32(_CAMERA_DISTANCE) * rx
        self._brows = np.zeros_like(self._x)
        for brow in (RIGHT_BROW, LEFT_BROW):
            bx, by = face[brow, :2].mean(0)
            spread = np.float32(0.12 * self._face_width)
            self._brows += np.exp(-(((self._x - bx) / (1.6 * spread)) ** 2) - ((self._y - by) / spread) ** 2)
        width, height = self._size
        self._left = np.float32(_VIEW[0] * zoom - width / 2)
        self._top = np.float32(_VIEW[1] * zoom)
        # the view's nodes, with one cell more on each side, so that the edges are interpolated too
        columns = (np.arange(width // _CELL + 3, dtype=np.float32) - 1) * _CELL + (_CELL - 1) / 2 + self._left
        lines = (np.arange(height // _CELL + 3, dtype=np.float32) - 1) * _CELL + (_CELL - 1) / 2 + self._top
        self._fine = [np.empty((lines.size * _CELL, columns.size * _CELL), np.float32) for _ in "xy"]
        self._view = np.stack(np.meshgrid(columns, lines), -1).astype(np.float32)

    def _depth(self, face: Points, cx: np.float32, cy: np.float32, rx: np.float32, ry: np.float32) -> Floats:
        """Depth of each node, pixels, larger is further away."""
        angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        ring = np.stack([cx + rx * np.cos(angles), cy + ry * np.sin(angles)], 1)
        back = float(face[OVAL, 2].max()) + 0.25 * float(rx)
        far = ring + (ring - (cx, cy)) * 3
        points = np.concatenate([face[:SURFACE, :2], ring, far])
        values = np.concatenate([face[:SURFACE, 2], np.full(2 * len(ring), back)])
        known = LinearNDInterpolator(points, values, fill_value=back)(self._x, self._y)
        return np.asarray(known, np.float32)

    def _shift(self, pose: Pose) -> Floats:
        """Where each node moves: (cells, cells, 2), pixels."""
        px, py, _ = self._pivot
        x, y, z = self._x - px, self._y - py, self._depth_map
        r = _rotation(pose).astype(np.float32)
        turned_z = r[2, 0] * x + r[2, 1] * y + r[2, 2] * z
        near = (self._distance + z) / (self._distance + turned_z)
        dx = (r[0, 0] * x + r[0, 1] * y + r[0, 2] * z) * near - x
        dy = (r[1, 0] * x + r[1, 1] * y + r[1, 2] * z) * near - y
        dy -= np.float32(0.05 * self._face_width * pose.brows) * self._brows
        grow = np.float32(pose.scale - 1)
        sx, sy = (np.float32(v * self._face_width) for v in pose.sway)
        low = np.float32(self._portrait.shape[0])
        out = np.empty((*self._x.shape, 2), np.float32)
        out[..., 0] = self._head * dx + self._body * (grow * x + sx)
        out[..., 1] = self._head * dy + self._body * (grow * (self._y - low * np.float32(0.6)) + sy)
        return out

    def _solve(self, shift: Floats) -> Floats:
        """The portrait's pixel for each node of the view."""
        position = self._view
        for _ in range(_ITERATIONS):
            at = (position - np.float32((_CELL - 1) / 2)) / np.float32(_CELL)
            position = self._view - cv2.remap(  # type: ignore[call-overload]
                shift, at, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
            )
        return position


def _rotation(pose: Pose) -> NDArray[np.float64]:
    """Rotation in picture axes (x right, y down, z away), in the order pitch, yaw, roll."""
    yaw, pitch, roll = np.radians([pose.yaw, pose.pitch, pose.roll])
    (cy, sy), (cp, sp), (cr, sr) = ((np.cos(a), np.sin(a)) for a in (yaw, pitch, roll))
    about_x = np.array([[1, 0, 0], [0, cp, -sp], [0, sp, cp]])
    about_y = np.array([[cy, 0, -sy], [0, 1, 0], [sy, 0, cy]])
    about_z = np.array([[cr, -sr, 0], [sr, cr, 0], [0, 0, 1]])
    return np.asarray(about_z @ about_y @ about_x)


def _smooth(x: Floats) -> Floats:
    x = np.clip(x, 0, 1)
    return x * x * (3 - 2 * x)
