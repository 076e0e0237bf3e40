"""Single keys and lines from a terminal."""

from __future__ import annotations

import os
import select
import sys
from types import TracebackType

ESCAPE, END = "\x1b", ""
_SEQUENCE_SECONDS = 0.05  # within which the rest of what an arrow key sends arrives


class Terminal:
    """Reads keys as they are pressed. The terminal is as it was before when the block ends."""

    def __init__(self) -> None:
        self._ahead = b""  # typed after the end of a line, before that was read

    def __enter__(self) -> Terminal:
        if sys.platform != "win32":
            import termios
            import tty

            self._file = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._file)
            tty.setcbreak(self._file, termios.TCSADRAIN)
            self._keys = termios.tcgetattr(self._file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if sys.platform != "win32":
            import termios

            termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def key(self) -> str:
        """The next key; `END` where nobody types any more. Arrows and the like are `ESCAPE`."""
        if sys.platform == "win32":
            import msvcrt

            pressed = msvcrt.getwch()
            if pressed == "\x03":
                raise KeyboardInterrupt
            return pressed
        data = self._take()
        if data == b"\x04":  # Ctrl-D
            return END
        if data == ESCAPE.encode():
            self._skip_sequence()
        while data and len(data) < 4:  # a letter of several bytes
            try:
                return data.decode()
            except UnicodeDecodeError:
                data += self._take()
        return END if not data else "?"

    def _take(self) -> bytes:
        """The next byte; none at the end."""
        if not self._ahead:
            return os.read(self._file, 1)
        first, self._ahead = self._ahead[:1], self._ahead[1:]
        return first

    def _skip_sequence(self) -> None:
        """Read what follows an escape: [ or O, and all to the letter that ends it."""
        is_first = True
        while select.select([self._file], [], [], _SEQUENCE_SECONDS)[0]:
            data = os.read(self._file, 1)
            if not is_first and b"@" <= data <= b"~":
                return
            if is_first and data not in (b"[", b"O"):
                return
            is_first = False

    def forget(self) -> None:
        """Drop what was typed and not read yet."""
        if sys.platform == "win32":
            import msvcrt

            while msvcrt.kbhit():
                msvcrt.getwch()
            return
        import termios

        self._ahead = b""
        termios.tcflush(self._file, termios.TCIFLUSH)

    def line(self) -> str | None:
        """A line, edited as the terminal does; None where nobody types any more."""
        if sys.platform == "win32":
            return input()
        import termios

        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)
        try:
            data, self._ahead = self._ahead, b""
            while b"\n" not in data:
                more = os.read(self._file, 4096)
                if not more:
                    return None
                data += more
        finally:
            termios.tcsetattr(self._file, termios.TCSADRAIN, self._keys)
        line, _, self._ahead = data.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")
