# Rows of counts that others were added to, or subtracted from.
#
# The counts of a row are c(a, y) + d(f, a, y), for an attribute a, each code y of labels, and the fold f
# of the token that asks. c is a table that does not change. d is in a hash table: the number of a
# template, the fold and the ids of the symbols of a lead from node to node, and the last node has a list
# of codes. So a fold that is left out has a few nodes of its own, and costs what its tokens cost.

cdef enum:
    MOST_IDS = 16
    FIRST_NODES = 256

# A count is taken for zero if it is less than this share of what was ever added to it.
cdef double ROUNDING = 1e-9


cdef struct Entry:
    double change
    double added                   # the sum of all positive changes
    int32_t code
    int32_t next                   # the next entry of the same node, -1 after the last


cdef class CountedRows:
    """The counts of the attributes of one template, which do not change.

    Parameters
    ----------
    first : int32 (n_first + 1,)
    levels : list of int64 arrays
        As of ``index_runs``.
    indptr : int64 (n_rows + 1,)
    codes : int32 (n_entries,), from 0 on, ascending in each row
    weights : float64 (n_entries,)
    """

    cdef:
        const int32_t[::1] first
        list levels
        const int64_t *level[MOST_IDS]
        int64_t sizes[MOST_IDS]
        readonly Py_ssize_t n_ids
        const int64_t[::1] indptr
        const int32_t[::1] codes
        const double[::1] weights

    def __init__(self, first, levels, indptr, codes, weights):
        cdef:
            const int64_t[::1] level
            Py_ssize_t k
        if len(levels) >= MOST_IDS:
            raise ValueError(f"rows of more than {MOST_IDS} ids cannot change")
        self.first, self.levels, self.n_ids = first, list(levels), len(levels) + 1
        self.indptr, self.codes, self.weights = indptr, codes, weights
        for k, level in enumerate(levels):
            self.sizes[k] = level.shape[0]
            self.level[k] = &level[0] if level.shape[0] else NULL

    cdef int64_t find(self, const int32_t *ids) noexcept nogil:
        """The row of a tuple of ids, -1 if there is none."""
        cdef:
            int64_t rank, wanted
            Py_ssize_t k
        if ids[0] < -1 or ids[0] + 1 >= self.first.shape[0]:
            return -1
        rank = self.first[ids[0] + 1]
        for k in range(self.n_ids - 1):
            if rank < 0 or ids[k + 1] < -1:
                return -1
            wanted = rank << 32 | (<int64_t>ids[k + 1] + 1)
            rank = place_from(self.level[k], 0, self.sizes[k], wanted)
            if rank == self.sizes[k] or self.level[k][rank] != wanted:
                return -1
        return rank


cdef class EventIds:
    """The ids of the symbols of events: columns, each at an offset from the token of the event.

    Parameters
    ----------
    columns : list of (int32 (n_events,), int)
        An id outside of a sequence is -1. Where an offset is not 0, events are tokens.
    offsets : int64 (n_sequences + 1,)
    """

    cdef:
        list kept
        const int32_t *columns[MOST_IDS]
        int64_t shifts[MOST_IDS]
        Py_ssize_t n_ids
        readonly int64_t n_events
        const int64_t[::1] offsets

    def __init__(self, columns, const int64_t[::1] offsets):
        cdef:
            const int32_t[::1] ids
            Py_ssize_t k
            int64_t s
        if len(columns) > MOST_IDS:
            raise ValueError(f"rows of more than {MOST_IDS} ids cannot change")
        self.kept, self.offsets, self.n_ids = [], offsets, len(columns)
        self.n_events = offsets[offsets.shape[0] - 1]
        for s in range(offsets.shape[0] - 1):
            if not 0 <= offsets[s] <= offsets[s + 1]:
                raise ValueError("offsets must not fall")
        for k, (ids, shift) in enumerate(columns):
            if ids.shape[0] != self.n_events:
                raise ValueError(f"{ids.shape[0]} ids for {self.n_events} events")
            self.kept.append(ids)
            self.columns[k] = &ids[0] if ids.shape[0] else NULL
            self.shifts[k] = shift

    cdef void read(self, int64_t event, int64_t start, int64_t stop, int32_t *ids) noexcept nogil:
        """Read the ids of an event of the sequence from start to stop."""
        cdef:
            int64_t place
            Py_ssize_t k
        for k in range(self.n_ids):
            place = event + self.shifts[k]
            ids[k] = self.columns[k][place] if start <= place < stop else -1


cdef class Changes:
    """What was added to counts, and subtracted from them, by template, fold, ids and code."""

    cdef:
        Table nodes                # from node << 32 | id + 1 to the next node
        int32_t *heads             # the first entry of each node, -1 if it has none
        Entry *entries
        int64_t n_nodes, n_entries, node_room, entry_room

    def __cinit__(self):
        self.nodes.capacity, self.nodes.size = FIRST_NODES, 0
        self.nodes.slots = <Slot *>calloc(FIRST_NODES, sizeof(Slot))
        self.n_nodes, self.node_room, self.n_entries, self.entry_room = 1, 64, 0, 64
        self.heads = <int32_t *>malloc(self.node_room * sizeof(int32_t))
        self.entries = <Entry *>malloc(self.entry_room * sizeof(Entry))
        if self.nodes.slots == NULL or self.heads == NULL or self.entries == NULL:
            raise MemoryError
        self.heads[0] = -1

    def __dealloc__(self):
        free(self.nodes.slots)
        free(self.heads)
        free(self.entries)

    def __len__(self):
        return self.n_entries

    def add(
        self,
        int32_t number,
        EventIds events,
        const int32_t[::1] folds,  # (n_events,) or (1,) IN
        const int32_t[::1] codes,  # (n_events,), -1 for events that are not counted IN
        const double[::1] weights, # (n_events,) or (1,), negative to subtract IN
        CountedRows counted=None,
    ):
        """Add the weights of events.

        With ``counted``, the counts of the template that do not change, it returns False if a count
        falls below zero.
        """
        cdef:
            int32_t ids[MOST_IDS]
            int64_t s, event, start, stop, entry, node
            double weight
            bint are_there = True, is_enough = True
        check_events(events, folds, codes, weights)
        if counted is not None and counted.n_ids != events.n_ids:
            raise ValueError(f"events of {events.n_ids} ids, counts of {counted.n_ids}")
        with nogil:
            for s in range(events.offsets.shape[0] - 1):
                start, stop = events.offsets[s], events.offsets[s + 1]
                for event in range(start, stop):
                    weight = weights[event if weights.shape[0] > 1 else 0]
                    if codes[event] < 0 or weight == 0.0:
                        continue
                    events.read(event, start, stop, ids)
                    node = self.child(0, number)
                    node = self.child(node, folds[event if folds.shape[0] > 1 else 0])
                    for k in range(events.n_ids):
                        node = self.child(node, ids[k])
                    entry = self.entry_of(node, codes[event])
                    if entry < 0:
                        is_enough = False
                        break
                    self.entries[entry].change += weight
                    if weight > 0.0:
                        self.entries[entry].added += weight
                    elif counted is not None and is_below(counted, ids, &self.entries[entry]):
                        are_there = False
        if not is_enough:
            raise MemoryError
        return are_there

    cdef int64_t child(self, int64_t node, int32_t id_) noexcept nogil:
        """The node after a node and an id, which is made if it is not there; -1 without memory."""
        cdef:
            int64_t key = node << 32 | (<int64_t>id_ + 1)
            Slot *slot
            int32_t *heads
        if node < 0:
            return -1
        slot = find(&self.nodes, key, mix(key))
        if slot.entry != 0:
            return slot.entry - 1
        if self.n_nodes == INT32_MAX or not reserve_one(&self.nodes):
            return -1
        if self.n_nodes == self.node_room:
            heads = <int32_t *>realloc(self.heads, 2 * self.node_room * sizeof(int32_t))
            if heads == NULL:
                return -1
            self.heads, self.node_room = heads, 2 * self.node_room
        slot = find(&self.nodes, key, mix(key))
        slot.key, slot.entry = key, self.n_nodes + 1
        self.nodes.size += 1
        self.heads[self.n_nodes] = -1
        self.n_nodes += 1
        return self.n_nodes - 1

    cdef int64_t known_child(self, int64_t node, int32_t id_) noexcept nogil:
        """The node after a node and an id; -1 if it is not there."""
        cdef int64_t key = node << 32 | (<int64_t>id_ + 1)
        return find(&self.nodes, key, mix(key)).entry - 1 if node >= 0 else -1

    cdef int64_t entry_of(self, int64_t node, int32_t code) noexcept nogil:
        """The entry of a code, in the ascending list of a node; -1 without memory."""
        cdef:
            int32_t *place
            int32_t following
            Entry *entries
        if node < 0 or self.n_entries == INT32_MAX:
            return -1
        if self.n_entries == self.entry_room:
            entries = <Entry *>realloc(self.entries, 2 * self.entry_room * sizeof(Entry))
            if entries == NULL:
                return -1
            self.entries, self.entry_room = entries, 2 * self.entry_room
        place = &self.heads[node]
        while place[0] >= 0 and self.entries[place[0]].code < code:
            place = &self.entries[place[0]].next
        following = place[0]
        if following >= 0 and self.entries[following].code == code:
            return following
        place[0] = <int32_t>self.n_entries
        self.entries[self.n_entries] = Entry(change=0.0, added=0.0, code=code, next=following)
        self.n_entries += 1
        return self.n_entries - 1

    def rows(self, requests):
        """The rows of events, of several templates one after another.

        Parameters
        ----------
        requests : list of (number, CountedRows, EventIds, folds, least, n_codes)
            A row whose counts sum to less than ``least`` is empty. Codes from ``n_codes`` on
            count in the sum, but are left out.

        Returns
        -------
        indptr : int64 (n_events of all requests + 1,)
        codes : int32 (n_entries,)
        counts : float64 (n_entries,), positive
        """
        cdef:
            int64_t n_rows = 0, n_entries = 0, row = 0, n_kept
            CountedRows counted
            EventIds events
            const int32_t[::1] folds
            int64_t[::1] places, nodes, indptr
            int32_t[::1] codes
            double[::1] counts
            double least
        for _, counted, events, folds, *_ in requests:
            if counted.n_ids != events.n_ids or folds.shape[0] not in (1, events.n_events):
                raise ValueError("events do not fit their counts or folds")
            n_rows += events.n_events
        places, nodes = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
        for number, counted, events, folds, *_ in requests:
            n_entries += self.locate(number, counted, events, folds, places[row:], nodes[row:])
            row += events.n_events
        indptr = np.zeros(n_rows + 1, dtype=np.int64)
        codes, counts = np.empty(n_entries, dtype=np.int32), np.empty(n_entries)
        row = 0
        for _, counted, events, _, least, n_codes in requests:
            self.merge(
                counted, places[row : row + events.n_events], nodes[row:], least, n_codes,
                indptr[row:], codes, counts,
            )
            row += events.n_events
        n_kept = indptr[n_rows]
        return np.asarray(indptr), np.asarray(codes)[:n_kept], np.asarray(counts)[:n_kept]

    cdef int64_t locate(
        self, int32_t number, CountedRows counted, EventIds events, const int32_t[::1] folds,
        int64_t[::1] places, int64_t[::1] nodes,
    ):
        """Where the counts of events are, and the nodes of their changes; how many entries at most."""
        cdef:
            int32_t ids[MOST_IDS]
            int64_t s, event, start, stop, node, root, entry, n_entries = 0
            Py_ssize_t k
        with nogil:
            root = self.known_child(0, number)
            for s in range(events.offsets.shape[0] - 1):
                start, stop = events.offsets[s], events.offsets[s + 1]
                for event in range(start, stop):
                    events.read(event, start, stop, ids)
                    places[event] = counted.find(ids)
                    if places[event] >= 0:
                        n_entries += (
                            counted.indptr[places[event] + 1] - counted.indptr[places[event]]
                        )
                    node = self.known_child(root, folds[event if folds.shape[0] > 1 else 0])
                    for k in range(events.n_ids):
                        node = self.known_child(node, ids[k])
                    nodes[event] = node
                    entry = self.heads[node] if node >= 0 else -1
                    while entry >= 0:
                        n_entries += 1
                        entry = self.entries[entry].next
        return n_entries

    cdef void merge(
        self, CountedRows counted, const int64_t[::1] places, const int64_t[::1] nodes,
        double least, int64_t n_codes, int64_t[::1] indptr, int32_t[::1] codes, double[::1] counts,
    ):
        """Write the rows of events after those before; a row starts where the row before ends."""
        cdef:
            int64_t event, at, stop, entry, out
            double count, scale, total
            int32_t code
        with nogil:
            for event in range(places.shape[0]):
                out, total = indptr[event], 0.0
                at = stop = 0
                if places[event] >= 0:
                    at, stop = counted.indptr[places[event]], counted.indptr[places[event] + 1]
                entry = self.heads[nodes[event]] if nodes[event] >= 0 else -1
                while at < stop or entry >= 0:
                    count = scale = 0.0
                    if entry < 0 or (at < stop and counted.codes[at] <= self.entries[entry].code):
                        code, count = counted.codes[at], counted.weights[at]
                        scale = count
                        at += 1
                    else:
                        code = self.entries[entry].code
                    if entry >= 0 and self.entries[entry].code == code:
                        count += self.entries[entry].change
                        scale += self.entries[entry].added
                        entry = self.entries[entry].next
                    if count > ROUNDING * scale:
                        codes[out], counts[out] = code, count
                        total += count
                        out += code < n_codes
                indptr[event + 1] = out if total >= least else indptr[event]


cdef bint reserve_one(Table *table) noexcept nogil:
    """Make room for one more key; False where there is no memory."""
    cdef:
        size_t old, capacity = table.capacity
        Slot *slots = table.slots
    if 2 * (<size_t>table.size + 1) <= capacity:
        return True
    table.slots = <Slot *>calloc(4 * capacity, sizeof(Slot))
    if table.slots == NULL:
        table.slots = slots
        return False
    table.capacity = 4 * capacity
    for old in range(capacity):
        if slots[old].entry != 0:
            find(table, slots[old].key, mix(slots[old].key))[0] = slots[old]
    free(slots)
    return True


cdef bint is_below(CountedRows counted, const int32_t *ids, const Entry *entry) noexcept nogil:
    """Whether a count, after its changes, is below zero by more than rounding."""
    cdef:
        int64_t row = counted.find(ids), place, stop
        double count = 0.0
    if row >= 0:
        stop = counted.indptr[row + 1]
        place = place_from(&counted.codes[0], counted.indptr[row], stop, entry.code)
        if place < stop and counted.codes[place] == entry.code:
            count = counted.weights[place]
    return count + entry.change < -ROUNDING * (count + entry.added)


cdef check_events(
    EventIds events, const int32_t[::1] folds, const int32_t[::1] codes, const double[::1] weights
):
    if folds.shape[0] not in (1, events.n_events) or codes.shape[0] != events.n_events:
        raise ValueError(f"{codes.shape[0]} codes or {folds.shape[0]} folds do not fit the events")
    if weights.shape[0] not in (1, events.n_events):
        raise ValueError(f"{weights.shape[0]} weights for {events.n_events} events")
