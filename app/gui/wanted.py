"""Who is swapped, with which face: the window's answer before it becomes the engine's `FaceChoice`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from engine.config import Who
from engine.track.choice import FaceChoice, Which


@dataclass(frozen=True)
class Wanted:
    """What was chosen.

    Attributes:
        who: the largest, all, or chosen persons.
        worn: number of the face that everybody wears who was not given another.
        persons: face by person (`Face.id`), for chosen ones; everybody is swapped while there are none,
            so that nobody's real face is seen only because nobody was chosen yet.
    """

    who: Who = Who.LARGEST
    worn: int = 0
    persons: Mapping[int, int] = field(default_factory=dict)

    @property
    def choosing(self) -> bool:
        """Persons are to be chosen, and none was yet."""
        return self.who is Who.CHOSEN and not self.persons

    def choice(self) -> FaceChoice:
        """The same for the engine."""
        if self.who is Who.CHOSEN and self.persons:
            return FaceChoice(Which.PERSONS, sources=self.persons)
        return FaceChoice(Which.LARGEST if self.who is Who.LARGEST else Which.ALL, self.worn)

    def only(self, person: int) -> Wanted:
        """This person and nobody else, with the face that they have now."""
        return replace(self, who=Who.CHOSEN, persons={person: self.persons.get(person, self.worn)})

    def give(self, person: int, source: int, present: Iterable[int]) -> Wanted:
        """Give a person a face; nobody who is swapped now is left out for it.

        Args:
            present: the persons in the picture.
        """
        persons = self.persons
        if self.who is not Who.CHOSEN or not persons:
            persons = dict.fromkeys(present, self.worn)
        return replace(self, who=Who.CHOSEN, persons={**persons, person: source})

    def leave(self, person: int) -> Wanted:
        """Show this person as they are; the last one stays swapped."""
        rest = {key: source for key, source in self.persons.items() if key != person}
        return replace(self, persons=rest or self.persons)

    def strangers(self) -> Wanted:
        """Persons are numbered anew: nobody is chosen any more."""
        return replace(self, persons={})

    def without(self, source: int) -> Wanted:
        """A face is gone, and those after it move up; who wore it wears the first."""

        def moved(other: int) -> int:
            return 0 if other == source else other - (other > source)

        persons = {person: moved(one) for person, one in self.persons.items()}
        return replace(self, worn=moved(self.worn), persons=persons)
