"""One texture of the source's face, free of pose, merged from one to five photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from engine.identity.photo import SourcePhoto
from engine.swap.mesh.pixels import BGR_TO_LUMINANCE, blurred, shrunk, stretched
from engine.swap.mesh.regions import Plane, regions
from engine.swap.mesh.shape import smoothstep
from engine.swap.mesh.unwrap import SIZE, View, unwrap
from engine.types import Image

MIRRORED = 1e-2
"""Weight of the mirrored face against the direct view: it only fills what no photo shows."""
TINT_EVENED = 0.75
"""How far the tint of the skin is drawn towards its median."""


@dataclass(frozen=True)
class Atlas:
    """The merged texture.

    Attributes:
        texture: uint8 (SIZE, SIZE, 3), BGR; evenly lit, hair painted over with skin.
        alpha: float32 (SIZE, SIZE), how far it may be shown: 0 outside the face and on hair.
        skin: float32 (SIZE, SIZE), 1 where it is bare skin (no eyes, brows, lips, hair).
    """

    texture: Image
    alpha: Plane
    skin: Plane


def build_atlas(photos: Sequence[SourcePhoto]) -> Atlas:
    """Unwrap, align in colour, merge, fill the unseen side from the other, and take out uneven light."""
    best_first = sorted(photos, key=lambda photo: -_worth(photo))
    worth = [_worth(photo) / _worth(best_first[0]) for photo in best_first]
    first, *others = (unwrap(photo.image, photo.face.landmarks) for photo in best_first)
    direct = [first, *(_matched(view, first) for view in others)]
    merged, allowed = _merged(direct, [_mirrored(view) for view in direct], worth)
    merged = _filled(_evenly_lit(merged), allowed)
    part = regions(SIZE)
    return Atlas(
        texture=np.clip(merged, 0, 255).astype(np.uint8),
        alpha=np.asarray(allowed * part.edge, np.float32),
        skin=np.asarray(allowed * part.face * (1 - blurred(part.features, 0.006 * SIZE)), np.float32),
    )


def _worth(photo: SourcePhoto) -> float:
    """How much a photo counts: large, sharp, frontal ones more."""
    quality = photo.quality
    turned = min(abs(quality.yaw) + abs(quality.pitch), 60)
    return min(quality.size, 400) / 400 * (0.4 + 0.6 * quality.sharpness) * (1.2 - turned / 60) + 0.02


def _merged(
    direct: Sequence[View], mirrored: Sequence[View], worth: Sequence[float]
) -> tuple[NDArray[np.float32], Plane]:
    """The views' weighted mean, and how far each texel is somebody's skin in any of them.

    Tone is averaged; fine detail comes from the best view alone, since a mean of details that lie a
    pixel apart is a blur.
    """
    low, high = np.zeros((SIZE, SIZE, 3), np.float32), np.zeros((SIZE, SIZE, 3), np.float32)
    low_sum, high_sum = np.zeros((SIZE, SIZE, 1), np.float32), np.zeros((SIZE, SIZE, 1), np.float32)
    allowed = np.zeros((SIZE, SIZE), np.float32)
    for group, share in ((direct, 1.0), (mirrored, MIRRORED)):
        for view, value in zip(group, worth, strict=True):
            weight = (view.seen * (0.02 + view.skin) * value)[..., None]
            smooth = blurred(view.colour, 0.01 * SIZE)
            broad, sharp = share * weight**3 + 1e-7, share * weight**8 + 1e-9
            low += smooth * broad
            high += (view.colour - smooth) * sharp
            low_sum += broad
            high_sum += sharp
            allowed = np.maximum(allowed, view.skin * smoothstep(view.seen, 0.02, 0.1))
    return np.clip(low / low_sum + high / high_sum, 0, 255), _in_one_piece(
        allowed * (1 - _hair_beside(direct))
    )


def _hair_beside(direct: Sequence[View]) -> Plane:
    """Where, away from the middle of the face, one side or the other shows no skin.

    Hair hangs about alike on both sides, and in deep shadow it can't be told from skin: what is hair
    on the lit side is taken for hair on the other.
    """
    judged = np.stack([smoothstep(view.seen, 0.1, 0.4) for view in direct])
    refused = judged * np.stack([1 - view.skin for view in direct])
    share = refused.sum(0) / (judged.sum(0) + 1e-3)
    either = np.maximum(share, share[:, ::-1])
    return np.asarray(either * (1 - regions(SIZE).middle), np.float32)


def _in_one_piece(allowed: Plane) -> Plane:
    """The piece round the nose, without what hair cuts off, kept off the border, where tones mix."""
    size = SIZE // 4
    small = (shrunk(allowed, size, size) > 0.5).astype(np.uint8)
    outlines, _ = cv2.findContours(small, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not outlines:
        return allowed
    piece = np.zeros((size, size), np.uint8)
    cv2.drawContours(piece, [max(outlines, key=cv2.contourArea)], -1, 1, cv2.FILLED)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
    piece = np.asarray(cv2.erode(piece, kernel), np.uint8) | (regions(size).centre * piece > 0)
    return stretched(blurred(piece.astype(np.float32), 0.014 * size), SIZE, SIZE)


def _mean_nearby(values: NDArray[np.float32], weight: Plane, sigma: float) -> NDArray[np.float32]:
    """Weighted Gaussian mean, `sigma` as a part of the atlas; far from any weight, the overall mean."""
    quarter = SIZE // 4
    w = shrunk(weight, quarter, quarter)
    v = shrunk(values * weight[..., None], quarter, quarter)
    mean = v.sum((0, 1)) / max(float(w.sum()), 1e-6)
    mass = blurred(w, sigma * quarter)[..., None]
    near = (blurred(v, sigma * quarter) + 2e-3 * mean) / (mass + 2e-3)
    return stretched(near.astype(np.float32), SIZE, SIZE)


def _matched(view: View, first: View) -> View:
    """A further photo in the light of the first one, as far as both show the same skin."""
    both = np.minimum(view.seen, first.seen) * view.skin * first.skin
    gain = (_mean_nearby(first.colour, both, 0.12) + 4) / (_mean_nearby(view.colour, both, 0.12) + 4)
    return View(view.colour * np.clip(gain, 0.4, 2.5), view.seen, view.skin)


def _mirrored(view: View) -> View:
    """The same face seen in a mirror, its light matched to the direct view where both are seen."""
    colour, seen, skin = (
        np.ascontiguousarray(plane[:, ::-1]) for plane in (view.colour, view.seen, view.skin)
    )
    both = np.minimum(seen, view.seen) * skin * view.skin
    gain = (_mean_nearby(view.colour, both, 0.06) + 4) / (_mean_nearby(colour, both, 0.06) + 4)
    return View(colour * np.clip(gain, 0.5, 2), seen, skin)


def _evenly_lit(colour: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give both halves of the face the light of the brighter one.

    A face is nearly symmetric, so that the smooth part of the difference between its halves is light.
    An edge-preserving filter keeps the step that side light leaves along the nose in that smooth part;
    the slow rest of the light is replaced by the target's own anyway.
    """
    size = SIZE // 4
    log = np.log(shrunk(colour, size, size) + 6)
    difference = np.ascontiguousarray(log[:, ::-1] - log)
    smooth = np.dstack(
        [
            cv2.bilateralFilter(cv2.medianBlur(np.ascontiguousarray(channel), 5), 15, 0.25, 0.03 * size)
            for channel in np.moveaxis(difference, 2, 0)
        ]
    )
    luminance = smooth @ BGR_TO_LUMINANCE
    towards_other = 1 / (1 + np.exp(-6 * luminance))
    gain = np.exp(np.clip(smooth, -1.2, 1.2) * towards_other[..., None]).astype(np.float32)
    lit = (colour + 6) * stretched(gain, SIZE, SIZE) - 6
    # Deep shadow holds noise, not detail: the other half, mirrored, is the better guess.
    lost = smoothstep(np.asarray(luminance, np.float32), 0.4, 0.9)
    lost = stretched(blurred(lost, 0.01 * size), SIZE, SIZE)
    return _evenly_tinted(np.asarray(lit + (lit[:, ::-1] - lit) * lost[..., None], np.float32))


def _evenly_tinted(colour: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take coloured light out of the skin: its tint is drawn towards the face's own median."""
    size = SIZE // 4
    part = regions(size)
    small = blurred(shrunk(colour, size, size), 0.012 * size) + 6
    tint = np.log(small / (small @ BGR_TO_LUMINANCE)[..., None])
    skin = part.core > 0
    strength = TINT_EVENED * (1 - part.lips) * part.face
    gain = np.exp((np.median(tint[skin], axis=0) - tint) * strength[..., None]).astype(np.float32)
    return np.asarray((colour + 6) * stretched(gain, SIZE, SIZE) - 6, np.float32)


def _filled(colour: NDArray[np.float32], allowed: Plane) -> NDArray[np.float32]:
    """Paint skin over what is no skin, from its surroundings at growing distances."""
    part = regions(SIZE)
    bare = allowed * part.face * (1 - 0.9 * part.features)
    paint = _mean_nearby(colour, bare, 0.12)
    for sigma in (0.04, 0.015):
        near = smoothstep(blurred(bare, sigma * SIZE), 0.05, 0.3)[..., None]
        paint = paint + (_mean_nearby(colour, bare, sigma) - paint) * near
    return np.asarray(paint + (colour - paint) * allowed[..., None], np.float32)
