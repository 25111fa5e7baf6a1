"""The still-head test: how much does the swapped face move on a head that does not?"""

from __future__ import annotations

import numpy as np

from app.bench import measures
from app.bench.subject import Subject, intended
from engine.identity.photo import SourcePhoto
from engine.types import Frame, Image

FRAMES, WARM_UP, NOISE = 45, 15, 2.0
"""One real frame again and again under fresh Gaussian noise (levels), about what a webcam in good
light has; the first frames let the filters settle."""


def still_jitter(subject: Subject, image: Image, photo: SourcePhoto, strength: float) -> float | None:
    """Jitter of the landmarks the swapper aims at, see `measures.jitter`; None if it makes no patch."""
    random = np.random.default_rng(1)
    tracker, swap = subject.tracker(), subject.swapper.follow(subject.swapper.prepare([photo]))
    aims = []
    for number in range(FRAMES):
        noise = random.normal(0, NOISE, image.shape).astype(np.float32)
        noisy = np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
        faces = tracker.update(Frame(number, number * 33_333_333, noisy))
        if not faces:
            continue
        face = max(faces, key=lambda one: one.width)
        if swap.patch(noisy, face, strength) is not None and number >= WARM_UP:
            aims.append(np.array(intended(swap, face)))
    return measures.jitter(aims)
