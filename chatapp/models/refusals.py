"""Why what a person asks for is not done."""


class Refused(Exception):
    """As a sentence for the person: what is not, and what to do."""


class NotHere(Refused):
    """The conversation was deleted, or never was this person's."""

    def __init__(self) -> None:
        super().__init__("This conversation is not here any more. Start a new chat.")


class StillStreaming(Refused):
    """A reply is being written in the conversation, in whatever process."""

    def __init__(self) -> None:
        super().__init__("A reply is still being written here. Stop it, or wait for its end.")
