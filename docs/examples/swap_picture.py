"""Swap the face in a picture: python swap_picture.py PHOTO PICTURE RESULT.png

Without arguments, the built-in portrait is put on the built-in demo camera's person.
"""

import sys
from pathlib import Path

from engine import Frame, Shown
from engine.build import make_tracker
from engine.identity.demo import demo_photo
from engine.identity.import_photo import read_photo
from engine.identity.picture import read_picture
from engine.pipeline import Pipeline, Plan
from engine.sinks.picture import write_picture
from engine.sources.demo import DemoSource
from engine.swap import make_swapper
from engine.types import Image


def demo_picture() -> Image:
    demo = DemoSource((640, 480), seed=3)
    demo.open()
    return demo.picture(30)


def main(photo: str = "", picture: str = "", result: str = "swapped.png") -> None:
    source = read_photo(photo) if photo else demo_photo()
    image = read_picture(picture) if picture else demo_picture()

    swapper = make_swapper("mesh")
    identity = swapper.prepare([source])
    pipeline = Pipeline(make_tracker(thorough=True), swapper, Plan({0: identity}))

    output = pipeline.process(Frame(id=0, captured_ns=0, image=image, pts=0.0))
    if output.shown is not Shown.SWAPPED:
        sys.exit(f"Nothing was swapped: {output.reason or 'no face found'}.")
    write_picture(Path(result), output.image)
    times = ", ".join(f"{stage} {ms:.0f} ms" for stage, ms in output.stage_ms.items())
    print(f"{len(output.swapped)} face(s) swapped into {result} ({times}).")


if __name__ == "__main__":
    main(*sys.argv[1:])
