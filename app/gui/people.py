"""Choosing who in the picture is swapped, with which face: by click, by key, or in the panel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtWidgets import QMenu

from app.gui.bridge import Bridge
from app.gui.preview import Preview
from app.gui.sources import Sources
from app.gui.swap_panel import SwapPanel
from app.gui.wanted import Wanted
from engine.config import Who
from engine.events import Event


class People(QObject):
    """Keeps preview, panel and engine in step with what is wanted.

    Args:
        faces: which faces there are, and which of them is worn.
    """

    def __init__(
        self, preview: Preview, panel: SwapPanel, faces: Sources, bridge: Bridge, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._preview, self._panel, self._faces, self._bridge = preview, panel, faces, bridge
        self.wanted = Wanted(panel.who.currentData())
        preview.person_picked.connect(self._ask)
        panel.who_changed.connect(lambda who: self._set(replace(self.wanted, who=who)))
        faces.worn.connect(lambda number: self._set(replace(self.wanted, worn=number)))
        faces.face_removed.connect(lambda number: self._set(self.wanted.without(number)))
        bridge.happened.connect(self._happened)
        bridge.ended.connect(lambda: self._set(self.wanted.strangers()))
        self._show()

    def menu(self, person: int) -> QMenu:
        """What may be done about a person in the picture."""
        menu = QMenu(self._preview)
        wanted = self.wanted
        chosen = wanted.who is Who.CHOSEN
        worn = wanted.persons.get(person) if chosen else None
        only = chosen and set(wanted.persons) == {person}
        self._add(menu, self.tr("Swap &only this person"), lambda: wanted.only(person), only)
        if self._faces.count > 1:
            menu.addSeparator()
            for number in range(self._faces.count):
                text = self.tr("Wears face &%d") % (number + 1)
                self._add(menu, text, partial(self._given, person, number), worn == number)
        if worn is not None and not only:
            self._add(menu, self.tr("Show this person's &real face"), lambda: wanted.leave(person))
        menu.addSeparator()
        self._add(
            menu, self.tr("Swap the &largest face"), lambda: replace(wanted, who=Who.LARGEST),
            wanted.who is Who.LARGEST,
        )  # fmt: skip
        self._add(
            menu, self.tr("Swap &every face"), lambda: replace(wanted, who=Who.ALL), wanted.who is Who.ALL
        )
        return menu

    def _given(self, person: int, number: int) -> Wanted:
        return self.wanted.give(person, number, self._preview.persons())

    def _add(self, menu: QMenu, text: str, made: Callable[[], Wanted], on: bool = False) -> None:
        action = menu.addAction(text, lambda: self._set(made()))
        action.setCheckable(True)
        action.setChecked(on)

    def _ask(self, person: int, where: QPoint) -> None:
        menu = self.menu(person)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(where)

    def _happened(self, event: Event) -> None:
        if event.kind == "choice-lost":
            self._set(self.wanted.strangers())

    def _set(self, wanted: Wanted) -> None:
        if wanted == self.wanted:
            return
        self.wanted = wanted
        self._bridge.set_choice(wanted.choice())
        self._show()

    def _show(self) -> None:
        wanted = self.wanted
        several = self._faces.count > 1
        marks = {
            person: self.tr("Face %d") % (source + 1) if several else self.tr("Swapped")
            for person, source in wanted.persons.items()
        }
        self._preview.set_marks(marks if wanted.who is Who.CHOSEN else {})
        self._panel.show_wanted(wanted.who, len(wanted.persons), choosing=wanted.choosing)
