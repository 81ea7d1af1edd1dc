"""Exceptions for requests of a person that are refused."""


class Refused(Exception):
    """Refuses a request. The message is a sentence for the person: what is wrong, what to do."""


class NotHere(Refused):
    """The conversation was deleted, or belongs to somebody else."""

    def __init__(self) -> None:
        super().__init__("This chat no longer exists. Start a new chat.")


class StillStreaming(Refused):
    """A reply is being written in the conversation, in any process."""

    def __init__(self) -> None:
        super().__init__("A reply is still being written here. Stop it, or wait for it to finish.")
