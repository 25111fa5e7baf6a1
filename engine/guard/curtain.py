"""What leaves in place of a frame that may not leave: held picture, cover, card, the user's picture."""

from __future__ import annotations

from engine.cards import Cards
from engine.config import GuardConfig, GuardPolicy
from engine.guard.cover import cover_picture, cover_regions
from engine.guard.guard import Verdict
from engine.types import Image, Shown


class Curtain:
    """Carries out the guard's policy for one stream; used by one thread.

    Args:
        cards: finished cards.
        has_picture: `cards` has a picture of the user's own.
    """

    def __init__(self, cards: Cards, has_picture: bool) -> None:
        self._cards = cards
        self._has_picture = has_picture
        self._held: Image | None = None
        self._held_s = 0.0

    def remember(self, image: Image, now_s: float) -> None:
        """Keep a finished, marked picture that was safe: it may be held."""
        self._held, self._held_s = image, now_s

    def card(self, reason: str, like: Image) -> Image:
        """A card of the size of a picture."""
        return self._cards.get(reason, like.shape[1], like.shape[0])

    def cover(self, reason: str, config: GuardConfig, image: Image) -> Image:
        """What leaves while nobody may be seen, whatever the picture shows.

        Args:
            reason: "panic", or "tracking-only", which lets a policy that blurs or pixelates do so.
            config: the policy; any other gives the card.
            image: may be covered in place, and is returned if it leaves, still without marks.
        """
        if reason != "panic" and config.policy in (GuardPolicy.BLUR, GuardPolicy.PIXELATE):
            cover_picture(image, config.policy)
            return image
        return self.card(reason, image)

    def draw(self, verdict: Verdict, config: GuardConfig, image: Image, now_s: float) -> tuple[Image, Shown]:
        """What leaves, for a verdict that is not safe.

        Args:
            verdict: why it is not.
            config: the policy.
            image: the frame with what could be swapped; may be covered in place, and is returned if it
                leaves, still without marks. Any other picture that is returned is finished.
            now_s: the frame's time, seconds.
        """
        policy = config.policy
        if verdict.reason == "panic":
            return self.card("panic", image), Shown.COVERED
        if policy is GuardPolicy.PASS:
            return image, Shown.PASSED
        if policy in (GuardPolicy.BLUR, GuardPolicy.PIXELATE):
            if verdict.regions is None:
                cover_picture(image, policy)
            else:
                cover_regions(image, verdict.regions, policy)
            return image, Shown.COVERED
        if policy is GuardPolicy.HOLD:
            if self._held is not None and 0 <= now_s - self._held_s <= config.hold_s:
                return self._held, Shown.HELD
            if verdict.reason == "doubtful" and verdict.regions is not None:
                # No face was lost, the detector only suspects one: no reason to hide the room.
                cover_regions(image, verdict.regions, GuardPolicy.PIXELATE)
                return image, Shown.COVERED
        if policy is GuardPolicy.PICTURE and self._has_picture:
            return self.card("picture", image), Shown.COVERED
        return self.card(verdict.reason, image), Shown.COVERED
