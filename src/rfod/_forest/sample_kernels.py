"""Compiled: rows of a kept sample that share the leaves of a row, and those that are nearest to it."""

import numpy as np

from rfod._forest.jit import ONE, ZERO, kernel


@kernel
def list_members(leaves, rows, most, counts, member_ends, members):
    """List the rows of each leaf, in the order of `rows` and at most so many of them: those of leaf l are then
    members[member_ends[l]:member_ends[l + 1]]. `leaves` (tree, row) as `route_and_average` has
    them; counts are zeros."""
    for tree in range(leaves.shape[0]):
        for row in rows:
            counts[leaves[tree, row]] += 1
    n_listed = ZERO
    for leaf in range(counts.shape[0]):
        member_ends[leaf] = n_listed
        n_listed += counts[leaf] if counts[leaf] < most else most
        counts[leaf] = 0
    member_ends[counts.shape[0]] = n_listed
    for tree in range(leaves.shape[0]):
        for row in rows:
            leaf = leaves[tree, row]
            if counts[leaf] < most:
                members[member_ends[leaf] + counts[leaf]] = row
                counts[leaf] += 1


@kernel
def weigh_members(leaves, in_bag, own, member_ends, members, out):
    """out[i, r] = how much row r of a sample counts for row i: per tree, the sample's rows in the leaf of i share a
    weight of 1, and out is the mean over trees. leaves (tree, i) are those of `route_and_average`; the rows of the
    sample in leaf l are members[member_ends[l]:member_ends[l + 1]]; own[i] is i's own place in the sample, or -1,
    and counts for nothing. `in_bag` as in `route_and_average`. A row without any company gets zeros."""
    for i in range(leaves.shape[1]):
        n_votes = ZERO
        for r in range(out.shape[1]):
            out[i, r] = 0.0
        for tree in range(leaves.shape[0]):
            if in_bag.shape[0] > 0 and in_bag[tree, i]:
                continue
            low, high = member_ends[leaves[tree, i]], member_ends[leaves[tree, i] + 1]
            n_others = high - low
            for place in range(low, high):
                if members[place] == own[i]:
                    n_others -= 1
            if n_others == 0:
                continue
            n_votes += 1
            for place in range(low, high):
                if members[place] != own[i]:
                    out[i, members[place]] += 1.0 / n_others
        for r in range(out.shape[1]):
            out[i, r] /= n_votes if n_votes > 0 else ONE


@kernel
def place_among_members(leaves, in_bag, own, member_ends, members, values, observed, out):
    """Of the members that `weigh_members` would weigh for row i: out[0, i] the weight of those with values below
    observed[i], out[1, i] that of those not above it. NaN for a row without any company."""
    for i in range(leaves.shape[1]):
        n_votes, below, up_to = ZERO, 0.0, 0.0
        for tree in range(leaves.shape[0]):
            if in_bag.shape[0] > 0 and in_bag[tree, i]:
                continue
            n_others, n_below, n_up_to = ZERO, ZERO, ZERO
            for place in range(member_ends[leaves[tree, i]], member_ends[leaves[tree, i] + 1]):
                is_other = members[place] != own[i]
                n_others += is_other
                n_below += is_other & (values[members[place]] < observed[i])
                n_up_to += is_other & (values[members[place]] <= observed[i])
            if n_others > 0:
                n_votes += 1
                below += n_below / n_others
                up_to += n_up_to / n_others
        out[0, i] = below / n_votes if n_votes > 0 else np.nan
        out[1, i] = up_to / n_votes if n_votes > 0 else np.nan


@kernel
def nearest_rows(rows, pieces, n_sample, is_categorical, own, n_copies, total, out):
    """out[i] = smallest sum over columns of the distances of row i from a row of the sample: |difference| of numbers, 0
    or 1 for sets; a gap is 1 away from any value. rows (row, column) and pieces (piece of the sample, column, row) are
    float32, gaps NaN; the last piece is filled up with anything. own[i], i's own place in the sample or -1, is passed
    over, and so is one exact copy: it may be the row itself. n_copies (rows) are zeros, total is as long as a piece.

    Plain loops along a piece, which stays in cache; the compiler turns them into vector instructions."""
    n_rows, n_columns, n_piece = rows.shape[0], rows.shape[1], pieces.shape[2]
    nothing, one = np.float32(0.0), np.float32(1.0)
    for i in range(n_rows):
        out[i] = np.inf
    for p in range(pieces.shape[0]):
        start = p * n_piece
        for i in range(n_rows):
            for r in range(n_piece):
                total[r] = nothing
            for j in range(n_columns):
                mine, others = rows[i, j], pieces[p, j]
                if mine != mine:
                    for r in range(n_piece):
                        total[r] += one if others[r] == others[r] else nothing
                elif is_categorical[j]:
                    for r in range(n_piece):
                        total[r] += one if others[r] != mine else nothing
                else:
                    for r in range(n_piece):
                        difference = abs(others[r] - mine)
                        total[r] += difference if difference == difference else one
            if start <= own[i] < start + n_piece:
                total[own[i] - start] = np.float32(np.inf)
            best = out[i]
            for r in range(n_piece if n_piece < n_sample - start else n_sample - start):
                if total[r] < best:
                    if total[r] == nothing and n_copies[i] == 0:
                        n_copies[i] = 1
                    else:
                        best = np.float64(total[r])
            out[i] = best
