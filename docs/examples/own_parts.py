"""A source and a sink of one's own: python own_parts.py

The source plays ten pictures, as a file would; the sink measures how bright they come out.
"""

from engine import Frame, Output, Session, SessionConfig
from engine.identity.demo import demo_photo
from engine.sinks.base import StreamInfo
from engine.sources.base import SourceInfo
from engine.sources.demo import DemoSource
from engine.swap import make_swapper


class TenPictures:
    """Not live: every frame gets through, none is dropped."""

    def __init__(self) -> None:
        self.count = 0
        self.demo = DemoSource((320, 240), seed=3)

    def open(self) -> SourceInfo:
        self.demo.open()
        return SourceInfo("ten pictures", 320, 240, fps=25, live=False, frames=10)

    def read(self) -> Frame | None:
        if self.count == 10:
            return None
        number, self.count = self.count, self.count + 1
        return Frame(number, number * 40_000_000, self.demo.picture(number), pts=number / 25)

    def close(self) -> None:
        """A source that waits must make a waiting `read` return here."""
        self.demo.close()


class Brightness:
    """All its methods are called on one thread, its own."""

    name = "brightness"

    def open(self, stream: StreamInfo) -> None:
        self.values: list[float] = []

    def write(self, output: Output) -> None:
        self.values.append(float(output.image.mean()))

    def close(self) -> None:
        print(f"{len(self.values)} pictures, brightness {min(self.values):.0f} to {max(self.values):.0f}")


def main() -> None:
    swapper = make_swapper("mesh")
    identity = swapper.prepare([demo_photo()])
    with Session(
        SessionConfig(), TenPictures(), [Brightness()], identity=identity, swapper=swapper
    ) as session:
        print("finished:", session.wait(60))


if __name__ == "__main__":
    main()
