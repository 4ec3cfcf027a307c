# Rows of counts that others were added to, or subtracted from.
#
# The counts of a row are c(a, y) + d(f, a, y), for an attribute a, each code y of labels, and the fold f
# of the token that asks. c is a table that does not change. d is in a hash table for each c: the fold
# and the ids of the symbols lead to a record, which knows the row of c and has a list of codes.
# So a fold that is left out has a few records of its own, and costs what its tokens cost.

cdef enum:
    MOST_IDS = 16
    FIRST_SLOTS = 64
    FIRST_ROOM = 1024
    # What a record has: the row of c, -1 without one; its first entry, -1 without one; and its key.
    ROW = 0
    HEAD = 1
    KEY = 2
    MOST_OF_KEY = 17

# A count is taken for zero if it is less than this share of what was ever added to it.
cdef double ROUNDING = 1e-9


cdef struct Records:
    uint64_t *slots                # half of the hash of a key, and 1 + where its record begins; or 0
    size_t capacity                # a power of two, at least twice the number of records
    size_t size


cdef struct Entry:
    double change
    double added                   # the sum of all positive changes
    int32_t code
    int32_t next                   # the next entry of the same record, -1 after the last


cdef class CountedRows:
    """The counts of the attributes of one template, which do not change.

    Parameters
    ----------
    number : int
        Tells it from all other tables.
    first : int32 (n_first + 1,)
    levels : list of int64 arrays
        As of ``index_runs``.
    indptr : int64 (n_rows + 1,)
    codes : int32 (n_entries,), from 0 on, ascending in each row
    weights : float64 (n_entries,)
    n_codes : int
        Codes from it on count in the sum of a row, but are left out.
    least : float
        A row whose counts sum to less is empty.
    """

    cdef:
        int32_t number
        const int32_t[::1] first
        list kept
        const int64_t *level[MOST_IDS]
        const int32_t *begins[MOST_IDS]    # where the ids after each tuple begin
        readonly Py_ssize_t n_ids
        const int64_t[::1] indptr
        const int32_t[::1] codes
        const double[::1] weights
        int64_t n_codes
        double least

    def __init__(self, number, first, levels, indptr, codes, weights, n_codes, least):
        cdef:
            const int64_t[::1] level
            int32_t[::1] begins
            int64_t at, rank, n_tuples
            Py_ssize_t k
        check_n_ids(len(levels) + 1)
        self.number, self.n_codes, self.least = number, n_codes, least
        self.first, self.n_ids, self.kept = first, len(levels) + 1, []
        self.indptr, self.codes, self.weights = indptr, codes, weights
        n_tuples = np.asarray(first).max(initial=-1) + 1
        for k, level in enumerate(levels):
            begins, rank = np.empty(n_tuples + 1, dtype=np.int32), -1
            for at in range(level.shape[0]):
                while rank < level[at] >> 32:
                    rank += 1
                    begins[rank] = <int32_t>at
            n_tuples = level.shape[0]
            begins[begins.shape[0] - 1] = <int32_t>n_tuples
            self.kept.append((level, begins))
            self.level[k], self.begins[k] = &level[0] if n_tuples else NULL, &begins[0]

    cdef void find(
        self, const int32_t *symbols, const int32_t[:, ::1] ids, const int64_t[::1] offsets,
        int64_t *rows,                 # (n_events,) OUT
    ) noexcept nogil:
        """The rows of events, -1 of those without one; what all need is fetched from memory at once."""
        cdef:
            int64_t s, event, rank, wanted, end
            int32_t id_
            Py_ssize_t k
        for s in range(offsets.shape[0] - 1):
            for event in range(offsets[s], offsets[s + 1]):
                id_ = symbol_of(symbols, ids, event, offsets[s], offsets[s + 1])
                rows[event] = -1
                if -1 <= id_ < self.first.shape[0] - 1:
                    rows[event] = self.first[id_ + 1]
        for k in range(self.n_ids - 1):
            for event in range(ids.shape[0]):
                if rows[event] >= 0:
                    prefetch(&self.begins[k][rows[event]])
            for event in range(ids.shape[0]):
                if rows[event] >= 0:
                    prefetch(&self.level[k][self.begins[k][rows[event]]])
            for s in range(offsets.shape[0] - 1):
                for event in range(offsets[s], offsets[s + 1]):
                    id_ = symbol_of(symbols + 2 * k + 2, ids, event, offsets[s], offsets[s + 1])
                    rank, rows[event] = rows[event], -1
                    if rank < 0 or id_ < -1:
                        continue
                    wanted, end = rank << 32 | (<int64_t>id_ + 1), self.begins[k][rank + 1]
                    rank = place_from(self.level[k], self.begins[k][rank], end, wanted)
                    if rank < end and self.level[k][rank] == wanted:
                        rows[event] = rank

    cdef void fetch(self, const int64_t *rows, int64_t n) noexcept nogil:
        """Fetch rows from memory ahead of their use."""
        cdef int64_t event
        for event in range(n):
            if rows[event] >= 0:
                prefetch(&self.indptr[rows[event]])
        for event in range(n):
            if rows[event] >= 0:
                prefetch(&self.codes[0] + self.indptr[rows[event]])
                prefetch(&self.weights[0] + self.indptr[rows[event]])

    cdef double count(self, int64_t row, int32_t code) noexcept nogil:
        """The count of a code in a row, which may be none."""
        cdef int64_t place, end
        if row < 0:
            return 0.0
        end = self.indptr[row + 1]
        place = place_from(&self.codes[0], self.indptr[row], end, code)
        return self.weights[place] if place < end and self.codes[place] == code else 0.0


cdef class EventTables:
    """The tables in which the same events are counted.

    Parameters
    ----------
    tables : list of (CountedRows, list of (column, shift), int)
        The symbols of the attribute of an event: each in a column, so many events after this one,
        and -1 outside of its sequence. And the number of the labelling that the table counts.
    """

    cdef:
        readonly list counted
        int32_t[:, :, ::1] symbols         # (n_tables, MOST_IDS, 2)
        int32_t[::1] labelling
        int64_t n_columns

    def __init__(self, tables):
        self.counted, self.n_columns = [counted for counted, *_ in tables], 0
        self.symbols = np.zeros((len(tables), MOST_IDS, 2), dtype=np.int32)
        self.labelling = np.array([number for *_, number in tables], dtype=np.int32)
        for k, (counted, symbols, _) in enumerate(tables):
            check_n_ids(len(symbols))
            if len(symbols) != counted.n_ids or min(symbols)[0] < 0:
                raise ValueError(f"attributes of {counted.n_ids} ids, symbols {symbols}")
            np.asarray(self.symbols)[k, : len(symbols)] = symbols
            self.n_columns = max(self.n_columns, max(symbols)[0] + 1)

    def __len__(self):
        return len(self.counted)


cdef class Changes:
    """What was added to counts, and subtracted from them, by table, fold, ids and code."""

    cdef:
        Records *tables            # of each CountedRows, by number
        int32_t *records
        Entry *entries
        int32_t *codes             # rows that are read
        double *counts
        int64_t n_tables, n_records, n_entries, record_room, entry_room, room
        int64_t[:, ::1] places         # of events: rows of counts, and places of records

    def __cinit__(self):
        self.record_room = self.entry_room = self.room = FIRST_ROOM
        self.records = <int32_t *>malloc(FIRST_ROOM * sizeof(int32_t))
        self.entries = <Entry *>malloc(FIRST_ROOM * sizeof(Entry))
        self.codes = <int32_t *>malloc(FIRST_ROOM * sizeof(int32_t))
        self.counts = <double *>malloc(FIRST_ROOM * sizeof(double))
        if not (self.records and self.entries and self.codes and self.counts):
            raise MemoryError

    def __dealloc__(self):
        for k in range(self.n_tables):
            free(self.tables[k].slots)
        free(self.tables)
        free(self.records)
        free(self.entries)
        free(self.codes)
        free(self.counts)

    def clear(self):
        """Take back all changes; the memory is kept."""
        for k in range(self.n_tables):
            memset(self.tables[k].slots, 0, self.tables[k].capacity * sizeof(uint64_t))
            self.tables[k].size = 0
        self.n_records = self.n_entries = 0

    def add(
        self,
        EventTables tables,
        const int32_t[:, ::1] ids,     # (n_events, n_columns) IN
        const int64_t[::1] offsets,    # (n_sequences + 1,) IN
        const int32_t[::1] folds,      # (n_events,) or (1,) IN
        labellings,
    ):
        """Add the weights of events; it returns False if a count falls below zero.

        Parameters
        ----------
        labellings : list of (int32 (n_events,), float64 (n_events,) or (1,))
            Codes, -1 for events that are not counted; and weights, negative to subtract events.
        """
        cdef:
            const int32_t[::1] codes
            const double[::1] weights
            CountedRows counted
            bint are_there = True
            int number, k
        check_events(tables, ids, offsets, folds)
        self.reserve(ids.shape[0])
        self.make_tables(max([counted.number for counted in tables.counted], default=-1) + 1)
        for number, (codes, weights) in enumerate(labellings):
            if codes.shape[0] != ids.shape[0] or weights.shape[0] not in (1, ids.shape[0]):
                raise ValueError(
                    f"{codes.shape[0]} codes and {weights.shape[0]} weights for {ids.shape[0]} events"
                )
            for k, counted in enumerate(tables.counted):
                if tables.labelling[k] == number and not self.add_to(
                    counted, &tables.symbols[k, 0, 0], ids, offsets, folds, codes, weights, &are_there
                ):
                    raise MemoryError
        return are_there

    cdef bint add_to(
        self, CountedRows counted, const int32_t *symbols, const int32_t[:, ::1] ids,
        const int64_t[::1] offsets, const int32_t[::1] folds, const int32_t[::1] codes,
        const double[::1] weights, bint *are_there,
    ) noexcept nogil:
        """Add the weights of events to a table; False without memory."""
        cdef:
            int32_t key[MOST_OF_KEY]
            int64_t s, event, start, stop, record
            int64_t *rows = &self.places[0, 0]
            double weight, count
            Entry *entry
        counted.find(symbols, ids, offsets, rows)
        counted.fetch(rows, ids.shape[0])
        for s in range(offsets.shape[0] - 1):
            start, stop = offsets[s], offsets[s + 1]
            for event in range(start, stop):
                weight = weights[event if weights.shape[0] > 1 else 0]
                if codes[event] < 0 or weight == 0.0:
                    continue
                key[0] = folds[event if folds.shape[0] > 1 else 0]
                read_symbols(symbols, counted.n_ids, ids, event, start, stop, key + 1)
                record = self.made_record(key, counted, rows[event])
                entry = self.entry_of(record, codes[event])
                if entry == NULL:
                    return False
                entry.change += weight
                if weight > 0.0:
                    entry.added += weight
                else:
                    count = counted.count(rows[event], codes[event])
                    if count + entry.change < -ROUNDING * (count + entry.added):
                        are_there[0] = False
        return True

    cdef make_tables(self, int64_t n):
        """Make hash tables up to a number."""
        cdef Records *tables
        if n <= self.n_tables:
            return
        tables = <Records *>realloc(self.tables, n * sizeof(Records))
        if tables == NULL:
            raise MemoryError
        self.tables = tables
        while self.n_tables < n:
            tables[self.n_tables] = Records(slots=NULL, capacity=FIRST_SLOTS, size=0)
            tables[self.n_tables].slots = <uint64_t *>calloc(FIRST_SLOTS, sizeof(uint64_t))
            if tables[self.n_tables].slots == NULL:
                raise MemoryError
            self.n_tables += 1

    cdef uint64_t *slot_of(
        self, const Records *table, const int32_t *key, Py_ssize_t n
    ) noexcept nogil:
        """The slot of the record of a key, or the free one that is its place."""
        cdef:
            uint64_t h = hash_of(key, n), slot
            size_t mask = table.capacity - 1, at = h & mask
            const int32_t *other
            Py_ssize_t k
        while table.slots[at] != 0:
            slot = table.slots[at]
            if slot >> 32 == h >> 32:
                other, k = self.records + (slot & UINT32_MAX) - 1 + KEY, 0
                while k < n and other[k] == key[k]:
                    k += 1
                if k == n:
                    break
            at = (at + 1) & mask
        return &table.slots[at]

    cdef int64_t made_record(
        self, const int32_t *key, CountedRows counted, int64_t row
    ) noexcept nogil:
        """Where the record of a key begins, which is made if it is not there; -1 without memory."""
        cdef:
            Py_ssize_t n = counted.n_ids + 1
            Records *table = &self.tables[counted.number]
            uint64_t *slot = self.slot_of(table, key, n)
            int32_t *record
        if slot[0] != 0:
            return <int64_t>(slot[0] & UINT32_MAX) - 1
        if 2 * (table.size + 1) > table.capacity:
            if not self.grow(table, n):
                return -1
            slot = self.slot_of(table, key, n)
        if self.n_records > <int64_t>UINT32_MAX - KEY - MOST_OF_KEY:
            return -1
        if self.n_records + KEY + n > self.record_room:
            record = <int32_t *>realloc(self.records, 2 * self.record_room * sizeof(int32_t))
            if record == NULL:
                return -1
            self.records, self.record_room = record, 2 * self.record_room
        record = self.records + self.n_records
        record[ROW], record[HEAD] = <int32_t>row, -1
        memcpy(record + KEY, key, n * sizeof(int32_t))
        slot[0] = hash_of(key, n) >> 32 << 32 | <uint64_t>(self.n_records + 1)
        table.size += 1
        self.n_records += KEY + n
        return self.n_records - KEY - n

    cdef bint grow(self, Records *table, Py_ssize_t n) noexcept nogil:
        """Make a table twice as large; False where there is no memory."""
        cdef:
            size_t old, capacity = table.capacity
            uint64_t *slots = table.slots
            uint64_t *larger = <uint64_t *>calloc(2 * capacity, sizeof(uint64_t))
        if larger == NULL:
            return False
        table.slots, table.capacity = larger, 2 * capacity
        for old in range(capacity):
            if slots[old] != 0:
                self.slot_of(table, self.records + (slots[old] & UINT32_MAX) - 1 + KEY, n)[0] = slots[old]
        free(slots)
        return True

    cdef Entry *entry_of(self, int64_t record, int32_t code) noexcept nogil:
        """The entry of a code, in the ascending list of a record; NULL without memory."""
        cdef:
            int32_t *place
            int32_t following
            Entry *entries
        if record < 0 or self.n_entries == INT32_MAX:
            return NULL
        if self.n_entries == self.entry_room:
            entries = <Entry *>realloc(self.entries, 2 * self.entry_room * sizeof(Entry))
            if entries == NULL:
                return NULL
            self.entries, self.entry_room = entries, 2 * self.entry_room
        place = &self.records[record + HEAD]
        while place[0] >= 0 and self.entries[place[0]].code < code:
            place = &self.entries[place[0]].next
        following = place[0]
        if following >= 0 and self.entries[following].code == code:
            return &self.entries[following]
        place[0] = <int32_t>self.n_entries
        self.entries[self.n_entries] = Entry(change=0.0, added=0.0, code=code, next=following)
        self.n_entries += 1
        return &self.entries[self.n_entries - 1]

    def rows(self, requests):
        """The rows of events: of one table after another, of one request after another.

        Parameters
        ----------
        requests : list of (EventTables, ids, offsets, folds)
            As of :meth:`add`.

        Returns
        -------
        indptr : int64 (n_rows + 1,)
        codes : int32 (n_entries,)
        counts : float64 (n_entries,), positive
        """
        cdef:
            EventTables tables
            CountedRows counted
            const int32_t[:, ::1] ids
            const int64_t[::1] offsets
            const int32_t[::1] folds
            int64_t[::1] indptr
            int32_t[::1] codes
            double[::1] counts
            int64_t row = 0
            int k
        for tables, ids, offsets, folds in requests:
            check_events(tables, ids, offsets, folds)
            self.reserve(ids.shape[0])
            row += len(tables) * ids.shape[0]
        indptr, row = np.zeros(row + 1, dtype=np.int64), 0
        for tables, ids, offsets, folds in requests:
            for k, counted in enumerate(tables.counted):
                if not self.read(
                    counted, &tables.symbols[k, 0, 0], ids, offsets, folds, &indptr[row]
                ):
                    raise MemoryError
                row += ids.shape[0]
        codes, counts = np.empty(indptr[row], dtype=np.int32), np.empty(indptr[row])
        if indptr[row]:
            memcpy(&codes[0], self.codes, indptr[row] * sizeof(int32_t))
            memcpy(&counts[0], self.counts, indptr[row] * sizeof(double))
        return np.asarray(indptr), np.asarray(codes), np.asarray(counts)

    cdef bint read(
        self, CountedRows counted, const int32_t *symbols, const int32_t[:, ::1] ids,
        const int64_t[::1] offsets, const int32_t[::1] folds, int64_t *indptr,
    ) noexcept nogil:
        """Write the rows of a table after those before, which end at indptr[0]; False without memory."""
        cdef:
            int32_t key[MOST_OF_KEY]
            int64_t s, event, start, stop, entry, at, end, out, n = ids.shape[0]
            int64_t *rows = &self.places[0, 0]
            int64_t *records = &self.places[1, 0]
            double count, scale, total
            int32_t code
            bint are_known = False
            const Records *table = NULL
        if counted.number < self.n_tables and self.tables[counted.number].size > 0:
            table, are_known = &self.tables[counted.number], True
            for s in range(offsets.shape[0] - 1):
                start, stop = offsets[s], offsets[s + 1]
                for event in range(start, stop):
                    key[0] = folds[event if folds.shape[0] > 1 else 0]
                    read_symbols(symbols, counted.n_ids, ids, event, start, stop, key + 1)
                    records[event] = <int64_t>(
                        self.slot_of(table, key, counted.n_ids + 1)[0] & UINT32_MAX
                    ) - 1
                    if records[event] >= 0:
                        rows[event] = self.records[records[event] + ROW]
                    else:
                        are_known = False
        if not are_known:
            counted.find(symbols, ids, offsets, rows)
        counted.fetch(rows, n)
        for event in range(n):
            entry, out, total, at, end = -1, indptr[event], 0.0, 0, 0
            if table != NULL and records[event] >= 0:
                entry = self.records[records[event] + HEAD]
            if rows[event] >= 0:
                at, end = counted.indptr[rows[event]], counted.indptr[rows[event] + 1]
            while at < end or entry >= 0:
                if out == self.room and not self.make_room():
                    return False
                count = scale = 0.0
                if entry < 0 or (at < end and counted.codes[at] <= self.entries[entry].code):
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
                    self.codes[out], self.counts[out] = code, count
                    total += count
                    out += code < counted.n_codes
            indptr[event + 1] = out if total >= counted.least else indptr[event]
        return True

    cdef reserve(self, int64_t n):
        """Make room for the places of n events."""
        if self.places is None or self.places.shape[1] < n:
            self.places = np.empty((2, max(n, FIRST_ROOM)), dtype=np.int64)

    cdef bint make_room(self) noexcept nogil:
        """Make room for more entries of rows that are read; False without memory."""
        cdef:
            int32_t *codes = <int32_t *>realloc(self.codes, 2 * self.room * sizeof(int32_t))
            double *counts
        if codes == NULL:
            return False
        self.codes = codes
        counts = <double *>realloc(self.counts, 2 * self.room * sizeof(double))
        if counts == NULL:
            return False
        self.counts, self.room = counts, 2 * self.room
        return True


cdef inline uint64_t hash_of(const int32_t *key, Py_ssize_t n) noexcept nogil:
    cdef:
        uint64_t h = 0
        Py_ssize_t k
    for k in range(n):
        h = (h ^ <uint32_t>key[k]) * <uint64_t>0x9e3779b97f4a7c15
        h ^= h >> 32
    return h


cdef inline int32_t symbol_of(
    const int32_t *symbol, const int32_t[:, ::1] ids, int64_t event, int64_t start, int64_t stop
) noexcept nogil:
    """The id of a symbol, a column and a shift, of an event of the sequence from start to stop."""
    cdef int64_t place = event + symbol[1]
    return ids[place, symbol[0]] if start <= place < stop else -1


cdef inline void read_symbols(
    const int32_t *symbols, Py_ssize_t n, const int32_t[:, ::1] ids, int64_t event, int64_t start,
    int64_t stop, int32_t *found,
) noexcept nogil:
    """The ids of the symbols of an event."""
    cdef Py_ssize_t k
    for k in range(n):
        found[k] = symbol_of(symbols + 2 * k, ids, event, start, stop)


cdef check_n_ids(Py_ssize_t n):
    if n > MOST_IDS:
        raise ValueError(f"rows of more than {MOST_IDS} ids cannot change")


cdef check_events(
    EventTables tables, const int32_t[:, ::1] ids, const int64_t[::1] offsets,
    const int32_t[::1] folds,
):
    cdef int64_t s, n_events = offsets[offsets.shape[0] - 1]
    for s in range(offsets.shape[0] - 1):
        if not 0 <= offsets[s] <= offsets[s + 1]:
            raise ValueError("offsets must not fall")
    if ids.shape[0] != n_events or ids.shape[1] < tables.n_columns:
        raise ValueError(f"{ids.shape[0]} x {ids.shape[1]} ids for {n_events} events")
    if folds.shape[0] not in (1, n_events):
        raise ValueError(f"{folds.shape[0]} folds for {n_events} events")
