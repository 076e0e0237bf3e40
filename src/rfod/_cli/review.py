"""`rfod decide --review`: the findings of a scan one after the other, worst first, one key per answer."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from rfod._cli.console import Reporter, shown, stdout_console
from rfod._cli.keys import END, Terminal
from rfod._cli.repairing import repair_command
from rfod._cli.suspects import ScanFindings
from rfod._decisions.condition import parse_condition
from rfod._decisions.decision import Decision, Kind, decision_words
from rfod._decisions.decisions import Decisions, decide
from rfod._decisions.settled import shifted
from rfod._decisions.texts import cell_texts, key_texts
from rfod._evidence.wrong_cells import WrongCell
from rfod._findings.similar import similar_rows
from rfod._io.source import Batch
from rfod._table.encode import one_line
from rfod._table.table import Table
from rfod.detection import Detection
from rfod.exceptions import ParameterError, RFODError
from rfod.params import Params
from rfod.pipeline import scan_table

N_SHARED = 4  # values that a similar row is shown to share
WIDEST_NAME = 24


def start_review() -> None:
    """Raise `typer.BadParameter` where there is no terminal to review on."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise typer.BadParameter(
            "it asks on a terminal. Hint: --row and --column decide about a cell without one.", param_hint="--review"
        )


def review_table(
    batch: Batch,
    decisions: Decisions,
    params: Params,
    key: str | None,
    above: float,
    reporter: Reporter,
    given: str | None = None,
) -> bool:
    """Scan a table and ask about its findings; False if the review was interrupted. `given` is the file of the table,
    where it has one: a command to repair it is shown at the end."""
    table = batch.table
    with reporter.stage("forests"), reporter.remarks():
        settled = decide(table, Decisions(decisions.entries))
        found = scan_table(table, params, key=key, lines=batch.lines, decisions=settled)[1]
    with reporter.stage("findings"):
        cells = found.suspects(above)
    finished = review_cells(table, found, cells, decisions, key)
    if given is not None and len(decisions):
        command = repair_command(given, key, str(decisions.path))
        stdout_console().print(Text(shown(f"Hint: {command} carries them out.")), soft_wrap=True)
    return finished


def review_cells(
    table: Table, found: Detection, cells: Sequence[WrongCell], decisions: Decisions, key: str | None
) -> bool:
    """Ask about the cells of a table that are not decided yet; False if the review was interrupted."""
    decided = decisions.match(table).settle(table).masks
    left = [cell for cell in cells if cell.column not in decided or not decided[cell.column][cell.row]]
    with Terminal() as terminal:
        return Review(table, found, left, decisions, key, stdout_console(), terminal).run()


@dataclass(frozen=True)
class _Answered:
    """What was answered to a finding; None for one that was skipped."""

    place: int
    decision: Decision | None


class Review:
    """Asks about cells; every decision is on the disk before the next cell is shown."""

    def __init__(
        self,
        table: Table,
        found: Detection,
        cells: Sequence[WrongCell],
        decisions: Decisions,
        key: str | None,
        console: Console,
        terminal: Terminal,
    ) -> None:
        self._table, self._found, self._cells, self._decisions = table, found, cells, decisions
        self._console, self._terminal = console, terminal
        self._findings = ScanFindings(found, None)
        self._place = 0
        self._answered: list[_Answered] = []
        self._key = key
        self._key_of = [] if key is None else key_texts(table, key)
        self._n_rows_with = Counter(self._key_of)
        self._fine: dict[str, np.ndarray] = {}
        self._answers: dict[str, tuple[str, Callable[[WrongCell], Decision | None]]] = {
            "r": ("replace", self._replace),
            "o": ("other value", self._other),
            "b": ("blank", lambda cell: self._decide(cell, "blank")),
            "f": ("fine", lambda cell: self._decide(cell, "fine")),
            "w": ("fine wherever", self._wherever),
        }

    @property
    def n_decided(self) -> int:
        """Decisions of this review that were not taken back."""
        return sum(answered.decision is not None for answered in self._answered)

    def run(self) -> bool:
        """Ask until all is answered or the person stops; False if they did by Ctrl-C."""
        finished = False
        try:
            while not finished:
                while self._place < len(self._cells) and self._is_fine(self._cells[self._place]):
                    self._place += 1
                if self._place >= len(self._cells):
                    self._say("No finding is left." if self._cells else "There are no findings.")
                    break
                self._show(self._cells[self._place])
                finished = self._answer(self._cells[self._place])
        except KeyboardInterrupt:
            self._end()
            return False
        self._end()
        return True

    def _end(self) -> None:
        n = self.n_decided
        self._say(f"{n:,} decision{'' if n == 1 else 's'} in {self._decisions.path}.")

    def _say(self, text: str) -> None:
        self._console.print(Text(shown(text)), soft_wrap=True)

    # ---------------------------------------------------------------------------------------------------- what is shown

    def _show(self, cell: WrongCell) -> None:
        n, console = len(self._cells), self._console
        counted = f"{self._place + 1:,} of {n:,} findings, {self.n_decided:,} decided"
        console.print()
        console.rule(Text(counted, style="bold"), align="left", characters="-", style="dim")
        console.print(Text(shown(self._findings.place_text(cell)), style="bold"), soft_wrap=True)
        width = min(WIDEST_NAME, max(len(one_line(name)) for name in self._table.names))
        for name in self._table.names:
            console.print(self._cell_line(cell, name, width), soft_wrap=True)
        console.print()
        console.print(Text(shown(cell.sentence)))
        self._show_similar(cell)
        console.print()
        self._print_choices(cell)

    def _print_choices(self, cell: WrongCell) -> None:
        """The keys and what they mean, no choice broken over two lines."""
        words = {letter: word for letter, (word, _) in self._answers.items()}
        if cell.suggested is None:
            del words["r"]
        else:
            words["r"] += f" by '{one_line(cell.suggested)}'"
        line = Text()
        for letter, word in (words | {"s": "skip", "u": "undo", "q": "quit"}).items():
            choice = Text(f"[{letter}]", style="bold") + Text(f" {shown(word)}  ")
            if len(line) and len(line) + len(choice) > self._console.width:
                self._console.print(line, soft_wrap=True)
                line = Text()
            line.append_text(choice)
        self._console.print(line, soft_wrap=True)

    def _cell_line(self, cell: WrongCell, name: str, width: int) -> Text:
        """One cell of the record, that of the finding marked."""
        text = cell_texts(self._table, name, np.array([cell.row]))[0]
        is_own = name == cell.column
        value = Text("(nothing)" if text is None else shown(one_line(text)), style="bold red" if is_own else "")
        start = Text(f"{'>' if is_own else ' '} {shown(one_line(name)):<{width}}  ", style="bold" if is_own else "dim")
        if is_own and cell.suggested is not None:
            value.append(f"  (suggested {shown(one_line(cell.suggested))})", style="green")
        for answered in self._answered:
            other = answered.decision
            if other is not None and other.wherever is None and answered.place != self._place:
                earlier = self._cells[answered.place]
                if (earlier.row, earlier.column) == (cell.row, name):
                    words = {"replace": f"replaced by {other.value}", "blank": "blanked", "fine": "fine"}[other.kind]
                    value.append(f"  ({shown(one_line(words))})", style="green")
        return start + value

    def _show_similar(self, cell: WrongCell) -> None:
        """Rows that are evidence for the suggestion, with what they share with the row of the cell."""
        rows = similar_rows(self._found.probabilities, cell)
        if not rows:
            return
        self._console.print(Text("\nSimilar rows:", style="bold"))
        for row in rows:
            texts = {name: cell_texts(self._table, name, np.array([row, cell.row])) for name in self._table.names}
            own = texts[cell.column][0]
            shared = [
                name for name in self._by_weight(cell) if texts[name][0] is not None and len(set(texts[name])) == 1
            ]
            words = ", ".join(f"{one_line(name)} {one_line(str(texts[name][0]))}" for name in shared[:N_SHARED])
            place = self._findings.place_text(replace(cell, row=row))
            held = "nothing" if own is None else f"'{one_line(own)}'"
            same = f"; the same {words}" if words else ""
            self._console.print(Text(shown(f"  {place}: {one_line(cell.column)} is {held}{same}")))

    def _by_weight(self, cell: WrongCell) -> list[str]:
        """The other columns, those that determine that of the cell first."""
        probabilities = self._found.probabilities
        c = probabilities.names.index(cell.column)
        first = [
            probabilities.names[j]
            for determinant in probabilities.collected.profile.determinants[c]
            for j in determinant.columns
        ]
        return list(dict.fromkeys([*first, *(name for name in self._table.names if name != cell.column)]))

    # ---------------------------------------------------------------------------------------------------------- answers

    def _answer(self, cell: WrongCell) -> bool:
        """Take an answer to the finding that is shown; True if the person stops."""
        while True:
            pressed = self._terminal.key().lower()
            if pressed in ("q", END):
                return True
            if pressed == "s":
                self._answered.append(_Answered(self._place, None))
                self._place += 1
                return False
            if pressed == "u":
                if self._undo():
                    return False
                continue
            if pressed not in self._answers:
                continue
            try:
                decision = self._answers[pressed][1](cell)
                if decision is not None:
                    self._decisions.add(decision)
            except RFODError as error:
                self._refuse(error)
                decision = None
            if decision is None:
                self._print_choices(cell)
                continue
            self._say(f"{self._said(decision, cell)}.")
            self._answered.append(_Answered(self._place, decision))
            self._place += 1
            if decision.wherever is not None:
                self._find_fine()
            return False

    def _refuse(self, error: RFODError) -> None:
        """Say what is wrong with an answer. What was typed ahead was meant for the answer that it had not."""
        self._terminal.forget()
        for text in str(error).splitlines():
            self._say(text)

    def _said(self, decision: Decision, cell: WrongCell) -> str:
        """A decision about a cell in words."""
        if decision.wherever is not None:
            return str(decision)
        return decision_words(decision, self._findings.place_text(cell))

    def _undo(self) -> bool:
        """Go back to the finding that was answered last, and take its decision back."""
        if not self._answered:
            self._say("There is nothing to undo.")
            return False
        last = self._answered.pop()
        if last.decision is not None:
            self._decisions.withdraw(last.decision)
            self._say(f"Taken back: {self._said(last.decision, self._cells[last.place])}.")
            self._find_fine()
        self._place = last.place
        return True

    def _decide(self, cell: WrongCell, kind: Kind, value: str | None = None) -> Decision:
        version = self._found.probabilities.decision.version
        text = self._key_of[cell.row] if self._key_of else None
        key = self._key if text is not None and self._n_rows_with[text] == 1 else None  # else by the other cells
        shift = self._found.judged.settled.shifts.get(cell.column, 0.0)
        chance = float(shifted(np.array([cell.probability]), -shift)[0])  # without what earlier decisions added
        return self._decisions.on_cell(
            self._table, cell.row, cell.column, kind, value, key=key, version=version, probability=chance
        )

    def _replace(self, cell: WrongCell) -> Decision | None:
        if cell.suggested is None:
            self._say("There is no suggestion: o takes another value.")
            return None
        return self._decide(cell, "replace", cell.suggested)

    def _other(self, cell: WrongCell) -> Decision | None:
        return self._ask("New value (Enter alone: back): ", lambda value: self._decide(cell, "replace", value))

    def _wherever(self, cell: WrongCell) -> Decision | None:
        self._say(
            f"{cell.column} is fine wherever ... (a condition like country = NZ and weight > 100; Enter alone: back)"
        )
        table = self._decisions.match(self._table).settle(self._table).table

        def fine_where(condition: str) -> Decision:
            holds = parse_condition(condition, table.names).holds(table)
            if not holds[cell.row]:
                raise ParameterError("The condition does not hold for this row.")
            self._say(f"It holds for {int(np.count_nonzero(holds)):,} rows.")
            version = self._found.probabilities.decision.version
            return Decision("fine", cell.column, wherever=condition, version=version)

        return self._ask("Condition: ", fine_where)

    def _ask(self, prompt: str, made: Callable[[str], Decision]) -> Decision | None:
        """The decision that a line makes, asked for until there is one; None for an empty line."""
        while True:
            self._console.print(Text(prompt), end="")
            self._console.file.flush()
            line = (self._terminal.line() or "").strip()
            if not line:
                return None
            try:
                return made(line)
            except RFODError as error:
                self._refuse(error)

    def _find_fine(self) -> None:
        """Look again which cells conditions say are fine."""
        conditions = [decision for decision in self._decisions if decision.wherever is not None]
        self._fine = dict(Decisions(conditions).match(self._table).settle(self._table).masks)

    def _is_fine(self, cell: WrongCell) -> bool:
        return cell.column in self._fine and bool(self._fine[cell.column][cell.row])
