"""What the requests of one reply teach about the model that is asked."""

from collections.abc import Collection

from chatapp.models import Upstream
from chatapp.models.platform.lessons import (
    ConcessionLesson,
    ContextLesson,
    FieldsLesson,
    ImagesLesson,
    Lesson,
    UsageOptionLesson,
)
from chatapp.upstream.wire.requests.concessions import Concession


class Lessons:
    """What one model taught. It holds for the next request at once; `store` makes it last."""

    def __init__(self, upstream: Upstream, model: str) -> None:
        self._upstream, self._model = upstream, model
        self._learned: list[Lesson] = []
        self._untried: Concession | None = None  # made in the latest request, not answered yet

    def learn_usage_option(self) -> None:
        self._learn(UsageOptionLesson())

    def learn_images(self) -> None:
        self._learn(ImagesLesson())

    def learn_fields(self, fields: Collection[str]) -> None:
        self._learn(FieldsLesson(tuple(fields)))

    def learn_context(self, tokens: int | None) -> None:
        self._learn(ContextLesson(tokens))

    def concede(self, concession: Concession, is_lasting: bool = True) -> None:
        """Make a concession; it lasts, if it may, once the model has answered."""
        self._upstream.learn_concession(self._model, concession)
        self._untried = concession if is_lasting else None

    def confirm(self) -> None:
        """Note that the model has answered, so that the latest concession helped."""
        if self._untried:
            self._learned.append(ConcessionLesson(self._untried))
            self._untried = None

    @property
    def refused_context(self) -> bool:
        """Whether the model has just refused a request as too long."""
        return any(isinstance(lesson, ContextLesson) for lesson in self._learned)

    def store(self) -> None:
        """Store what was learned, for all processes."""
        if self._learned:
            Upstream.learn(self._upstream.pk, self._model, self._learned)

    def _learn(self, lesson: Lesson) -> None:
        self._upstream.apply_lesson(self._model, lesson)
        self._learned.append(lesson)
