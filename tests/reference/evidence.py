"""Evidence on cells in plain Python: one text, one row and one pair of rows at a time."""

import math
from collections import Counter
from itertools import pairwise


def longest_common(a, b):
    """Letters of the longest common subsequence, by dynamic programming."""
    above = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for k, y in enumerate(b):
            row.append(above[k] + 1 if x == y else max(above[k + 1], row[k]))
        above = row
    return above[-1]


def edit_distance(a, b):
    """Letters to replace, add, leave out or swap with the next one, by dynamic programming."""
    table = [[max(i, k) if i * k == 0 else 0 for k in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for k in range(1, len(b) + 1):
            table[i][k] = min(table[i - 1][k] + 1, table[i][k - 1] + 1, table[i - 1][k - 1] + (a[i - 1] != b[k - 1]))
            if min(i, k) > 1 and a[i - 1] == b[k - 2] and a[i - 2] == b[k - 1]:
                table[i][k] = min(table[i][k], table[i - 2][k - 2] + 1)
    return table[-1][-1]


def are_near(a, b):
    """Whether deleting at most one letter from each makes two different texts equal."""
    return a != b and max(len(a), len(b)) - longest_common(a, b) <= 1


def letter_class(letter):
    """A for upper-case letters, a for other letters, 9 for digits, a blank for white space, or the letter itself."""
    if letter.isdecimal():
        return "9"
    if letter.isalpha():
        return "a" if letter.islower() else "A"
    return " " if letter.isspace() else letter


def runs(letters):
    """The letters without repetitions of the one before."""
    return "".join(x for k, x in enumerate(letters) if k == 0 or letters[k - 1] != x)


def marks(text):
    """Per mark, the set of its keys in a text."""
    classes = "".join(map(letter_class, text))
    words = runs("".join(x.lower() if x in "Aa9" else "\0" for x in classes)).replace("\0", "")
    plain = "".join("0" if kind == "9" else letter for letter, kind in zip(text, classes, strict=True))
    ended, framed = plain + "\0", "\0" + classes + "\0"
    return {
        "value": {text},
        "shape": {classes},
        "outline": {runs(classes)},
        "letters": {words},
        "skeleton": {"".join("a" if kind in "Aa9" else letter for letter, kind in zip(text, classes, strict=True))},
        "length": {len(text)},
        "gram1": set(plain),
        "gram2": {plain[k : k + 2] for k in range(len(plain) - 1)},
        "gram3": {ended[k : k + 3] for k in range(len(ended) - 2)},
        "class_gram": {framed[k : k + 3] for k in range(len(framed) - 2)},
    }


def rarest_rows(texts):
    """Per mark and text (one per row), how many rows share the rarest key of the text; infinite for texts without."""
    found = {}
    each = [marks(text) for text in texts]
    for mark in marks(""):
        counts = Counter(key for keys in each for key in keys[mark])
        found[mark] = [min((counts[key] for key in keys[mark]), default=math.inf) for keys in each]
    return found


def largest_break(rarest, most_rare):
    """The count above the largest ratio of neighbouring counts that leaves at most a share of the rows below it."""
    known = sorted(rows for rows in rarest if rows < math.inf)
    levels = sorted(set(known))
    best, found = 0.0, 1.0
    for low, high in pairwise(levels):
        below = sum(rows <= low for rows in known) / len(known)
        if below <= most_rare and high / low > best:
            best, found = high / low, float(high)
    return found


def votes(by, values, row):
    """Rows of a row's group, itself left out, that have the most frequent other value, and that have its own."""
    if by[row] is None:
        return 0, 0
    group = [k for k in range(len(by)) if k != row and by[k] == by[row]]
    others = [values[k] for k in group if values[k] is not None]
    counts = Counter(others)
    own = 0 if values[row] is None else counts.pop(values[row], 0)
    return max(counts.values(), default=0), own


def agreement(by, values):
    """Share of rows that agree with the others of their group, and share of rows in groups of at least two."""
    known = [k for k in range(len(by)) if by[k] is not None and values[k] is not None]
    pairs = [votes([by[k] for k in known], [values[k] for k in known], place) for place in range(len(known))]
    shared = [(rival, own) for rival, own in pairs if rival + own > 0]
    agree = [own >= max(rival, 1) for rival, own in shared]
    return (sum(agree) / len(agree) if agree else 0.0), (len(shared) / len(known) if known else 0.0)


def sum_of_leaves(trees, row):
    """Walks each tree, a list of nodes (input, limit, left, right), input None in leaves, and adds up the leaves."""
    total = 0.0
    for nodes in trees:
        node = nodes[0]
        while node[0] is not None:
            node = nodes[node[2] if row[node[0]] <= node[1] else node[3]]
        total += node[1]
    return total
