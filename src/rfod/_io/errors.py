"""What can go wrong with a file, always with its name and a way out."""

from rfod.exceptions import RFODError


class InputError(RFODError, ValueError):
    """A file, stream or database cannot be read as a table."""


class OutputError(RFODError, OSError):
    """An answer cannot be written where it should go."""
