"""Takes docs/images/*.png: the window with the demo camera and the built-in face, while it runs.

    python packaging/screenshot.py docs/images/window.png [SECONDS]
    python packaging/screenshot.py figures.png SECONDS Figures    # a tab; cropped for the docs

Of the time given (30 s) the moment with the highest rate is kept; run it on an idle machine.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app import screen  # noqa: E402
from app.gui import theme  # noqa: E402
from app.gui.main_window import MainWindow  # noqa: E402
from app.gui.settings import Settings  # noqa: E402
from app.options import CameraConfig  # noqa: E402
from engine.identity.library import IdentityLibrary  # noqa: E402
from engine.types import Shown  # noqa: E402

_SETTLED_S = 6.0


def main(path: str, seconds: float, tab: str) -> None:
    """Run the window and keep its best moment."""
    screen.forget_foreign_plugins()
    application = QApplication([])
    theme.apply(application)
    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        window = MainWindow(IdentityLibrary(Path(folder)), settings=Settings(camera=CameraConfig("demo")))

        def look() -> None:
            nonlocal best
            stats, output = window.bridge.stats(), window.stage.preview.output
            if stats is None or output is None or stats.seconds < _SETTLED_S or stats.fps <= best:
                return
            if output.shown is Shown.SWAPPED and window.status.state.text() == "Live":
                best = stats.fps
                window.grab().save(path)

        tabs = [window.sidebar.tabText(at) for at in range(window.sidebar.count())]
        window.sidebar.setCurrentIndex(tabs.index(tab))
        timer = QTimer(window)
        timer.timeout.connect(look)
        timer.start(500)
        QTimer.singleShot(round(seconds * 1000), window.close)
        window.start_when_ready()
        window.show()
        application.exec()
    print(f"{path}: {best:.0f} fps" if best else "nothing was swapped; try again")


if __name__ == "__main__":
    main(sys.argv[1], float((sys.argv[2:] or ["30"])[0]), (sys.argv[3:] or ["Swap"])[0])
