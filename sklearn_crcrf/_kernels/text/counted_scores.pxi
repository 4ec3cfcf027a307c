# State scores and edges of sequences of words, by weights that were counted.
#
# A state score is the sum of the rows of the slots of a token, each times its exponent: the label
# alone, twelve spelling features, the word, and its contexts, which are one to three symbols around the
# token. Sums are in the order of the slots, and compiled once, so that they are the sums of sparse/scores.pxi to
# the last bit. So the sums over the slots before the contexts can be kept for the commonest words.
#
# An edge scores ``transition + exponent * (sum of its rows)``, at the label pairs that have an entry.
#
# Strings are copied while the interpreter lock is held; all else needs no lock, but the spelling of
# unknown words that are not ASCII, which is Python's. The sequences of a batch are looked up together,
# so that one table after the other is in the cache, and what the memory is asked for is waited for
# together: they lie in one row of places, with ``reach`` places between them that are outside.

cdef enum:
    SHAPE = 8                      # of the spelling features
    LONG_SHAPE = 9
    LOWER = 10
    SIMPLE = 11
    LONGEST = 255                  # characters of a word that is spelled here
    SHAPE_LENGTH = 8
    LONG_SHAPE_LENGTH = 12
    WORD = N_FEATURES + 1          # slot of the word
    UNSEEN = 2                     # kind of words
    UNKNOWN = -2
    MOST_EDGE_SLOTS = 16

# The last characters whose presence is a bit of "simple", from bit 2 on.
cdef const char **ENDINGS = [
    b"ing", b"ogy", b"ed", b"s", b"ly", b"ion", b"tion", b"ity", b"ies"
]


def rows_are_sound(
    const int64_t[::1] base,       # (n_blocks,)
    const uint16_t[::1] offset,    # (n_rows + 1,)
    int shift,
    int64_t n_entries,
):
    """Whether rows begin at 0, do not overlap, and end at the last entry."""
    cdef:
        int64_t n = offset.shape[0], r, start, previous = 0
        bint is_sound = n > 0 and base.shape[0] == ((n - 1) >> shift) + 1
        bint rises = True
    if not is_sound:
        return False
    with nogil:
        for r in range(n):
            start = base[r >> shift] + offset[r]
            rises &= previous <= start
            previous = start
    return rises and base[0] + offset[0] == 0 and previous == n_entries


def edges_are_sound(dict arrays not None, int64_t n_labels):
    """Whether all labels of rows of edges are below ``n_labels``, and whether each row rises.

    arrays are as of :class:`CountedScores`; where the rows begin must have been checked.
    """
    cdef:
        Rows edge = rows_in(arrays, "edge", np.uint16)
        int64_t r, k, n_rows = arrays["edge.offset"].shape[0] - 1
        int32_t pair, previous
        bint in_range = True, rises = True
    with nogil:
        for r in range(n_rows):
            previous = -1
            for k in range(row_start(&edge, r), row_start(&edge, r + 1)):
                pair = pair_of_labels(&edge, k)
                in_range &= pair >= 0 and (pair & 0xffff) < n_labels and (pair >> 16) < n_labels
                rises &= pair > previous
                previous = pair
    return in_range, rises


cdef class CountedScores:
    """The weights, in arrays that are checked beforehand; see the fields in _counted_scores.pxd.

    words, features and others are tables of strings; spell returns the twelve spelling features of a
    word that is not ASCII, or long. A sequence is a list of words; with other columns, a list of lists:
    the words, and the symbols of each other column.
    """

    def __cinit__(
        self, FrozenStrings words not None, list features not None, list others not None, spell,
        dict arrays not None, int64_t first_word_row, double edge_exponent,
    ):
        cdef:
            int g
            Pairs *pairs
            FrozenStrings table
        self.words, self.features, self.others = words, features, others
        self.spell, self.kept = spell, dict(arrays)
        for g in range(N_FEATURES):
            table = features[g]
            self.feature_tables[g] = table.table
        self.other_tables = <Strings *>calloc(len(others) + 1, sizeof(Strings))
        if self.other_tables == NULL:
            raise MemoryError
        for g in range(len(others)):
            table = others[g]
            self.other_tables[g] = table.table
        self.first_word_row, self.edge_exponent = first_word_row, edge_exponent
        # The previous labels of edges into one label are side by side.
        self.into = np.ascontiguousarray(arrays["transition"].T)
        self.n_labels = self.into.shape[0]
        self.spelling_rows, self.context_ids = arrays["spelling_rows"], arrays["context_ids"]
        self.n_words, self.n_own = self.context_ids.shape[0], self.context_ids.shape[1] + 1
        self.n_columns, self.n_texts = self.n_own + len(others), 1 + len(others)
        self.context_features, self.flags = arrays["context_features"], arrays["flags"]
        self.symbol_rows, self.symbol_starts = arrays["symbol_rows"], arrays["symbol_starts"]
        self.kinds, self.exponents = arrays["kinds"], arrays["exponents"]
        self.n_all_columns = self.n_columns + arrays["n_derived"]
        self.n_slots, self.n_edge_slots = self.exponents.shape[1], arrays["n_edge_slots"]
        if self.n_edge_slots > MOST_EDGE_SLOTS:
            raise ValueError(f"more than {MOST_EDGE_SLOTS} kinds of rows of edges")
        self.pair_slots, self.single_slots = arrays["pair_slots"], arrays["single_slots"]
        self.single_rows, self.single_starts = arrays["single_rows"], arrays["single_starts"]
        self.state = rows_in(arrays, "state", np.uint8)
        self.edge = rows_in(arrays, "edge", np.uint16)
        groups = arrays["groups"]
        self.n_groups = len(groups)
        self.pairs = <Pairs *>calloc(self.n_groups + 1, sizeof(Pairs))
        if self.pairs == NULL:
            raise MemoryError
        for g in range(self.n_groups):
            pairs = &self.pairs[g]
            pairs.column, pairs.second_column, pairs.distance, pairs.derived = groups[g]
            pairs.indptr = <const int32_t *>address_in(arrays, f"pairs{g}.indptr")
            pairs.second = <const int32_t *>address_in(arrays, f"pairs{g}.second")
            pairs.bits = <const uint64_t *>address_in(arrays, f"pairs{g}.bits")
            pairs.rank = <const int32_t *>address_in(arrays, f"pairs{g}.rank")
            pairs.n_bits = arrays[f"pairs{g}.bits"].shape[1]
            pairs.n_first = len(arrays[f"pairs{g}.indptr"]) - 1
        self.reach = arrays["reach"]
        self.make_prefixes(arrays["common"])

    def __dealloc__(self):
        free(self.pairs)
        free(self.other_tables)

    def make_prefixes(self, common):
        """Sums over the first slots: of the label alone for each kind, then of common words."""
        cdef:
            const int32_t[::1] words = common
            int64_t i, s
            int32_t word, row
            int8_t kind
        self.prefixes = np.zeros((3 + len(common), self.n_labels))
        self.prefix_of_word = np.array(self.kinds, dtype=np.int32)
        for i in range(3):
            self.add_row(0, self.exponents[i, 0], &self.prefixes[i, 0])
        for i in range(3, self.prefixes.shape[0]):
            word = words[i - 3]
            kind = self.kinds[word]
            self.prefix_of_word[word] = <int32_t>i
            self.add_row(0, self.exponents[kind, 0], &self.prefixes[i, 0])
            for s in range(1, WORD + 1):
                row = self.spelling_rows[word, s - 1] if s < WORD else self.word_row(word)
                self.add_row(row, self.exponents[kind, s], &self.prefixes[i, 0])

    cdef void add_row(self, int32_t row, double factor, double *out) noexcept nogil:
        cdef WeightedRow weighted
        add_weighted(&self.state, &weighted, weigh_row(&self.state, row, factor, &weighted), out)

    cdef int32_t word_row(self, int32_t word) noexcept nogil:
        return -1 if self.kinds[word] == UNSEEN else <int32_t>(self.first_word_row + word)

    cdef list read(self, object tokens, Work *work):
        """Copy the strings of one more sequence to ``work``, which is zero before the first one.

        Returns the words. The caller frees ``work``, also if this fails.
        """
        cdef:
            list words
            int64_t i
        if work.texts == NULL:
            work.texts = <Attributes *>calloc(self.n_texts, sizeof(Attributes))
            if work.texts == NULL:
                raise MemoryError
        words = read_strings(tokens if self.n_texts == 1 else tokens[0], work.texts)
        for i in range(1, self.n_texts):
            if len(read_strings(tokens[i], &work.texts[i])) != len(words):
                raise ValueError("tokens: all columns must have the same length")
        return words

    cdef int arrange(self, list sequences, Work *work) except -1:
        """Make place for all sequences that were read, given their words."""
        cdef:
            list words
            Py_ssize_t t = 0, k
            Text text
        self.make_room(len(sequences), work)
        for k in range(len(sequences)):
            words = sequences[k]
            for i in range(len(words)):
                work.edge_row[t] = t if i else -1
                work.place[t] = <int32_t>(t + k * self.reach)
                text = text_of(<PyObject *>words[i])
                if text.kind != 1 or text.length > LONGEST or not is_ascii(text):
                    self.read_odd_word(t, words[i], work)
                t += 1
        return 0

    cdef int make_room(self, int64_t n_sequences, Work *work) except -1:
        cdef int64_t n, n_ids, n_numbers, n_weighted = 2 * self.n_slots
        work.n = n = work.texts.n_tokens if work.texts != NULL else 0
        work.stride = n + self.reach * (n_sequences + 1)
        n_ids = self.n_all_columns * work.stride
        n_numbers = n_ids + work.stride + n * (N_FEATURES + 3 + self.n_slots + self.n_edge_slots)
        work.memory = malloc(
            n_weighted * sizeof(WeightedRow) + (2 * n + 1) * 8 + n_numbers * 4 + n
        )
        if work.memory == NULL:
            raise MemoryError
        work.weighted = <WeightedRow *>work.memory
        work.edge_row = <int64_t *>(work.weighted + n_weighted)
        work.edge_indptr = work.edge_row + n
        work.ids = <int32_t *>(work.edge_indptr + n + 1)
        work.found = work.ids + n_ids
        work.place = work.found + work.stride
        work.spelling = work.place + n
        work.own = work.spelling + n * N_FEATURES
        work.prefix = work.own + n
        work.rows = work.prefix + n
        work.kind = <int8_t *>(work.rows + n * (self.n_slots + self.n_edge_slots))
        memset(work.ids, -1, n_ids * sizeof(int32_t))
        memset(work.kind, -1, n)
        return 0

    cdef int read_odd_word(self, Py_ssize_t t, str word, Work *work) except -1:
        """Write the spelling of an unknown word that is not ASCII, or long."""
        cdef:
            Text text = text_of(<PyObject *>word)
            int j
        if find_symbol(&self.words.table, text) >= 0:
            return 0
        work.kind[t] = UNSEEN
        for j, symbol in enumerate(self.spell(word)):
            text = text_of(<PyObject *>symbol)
            self.set_symbol(work, t, j, find_symbol(&self.feature_tables[j], text))
        return 0

    cdef void look_up_words(self, Work *work) noexcept nogil:
        """Write what is known of all words, and the ids of the symbols of other columns."""
        cdef:
            int64_t t, k, id
            int32_t *ids
        look_up(&self.words.table, work.texts)
        for t in range(work.n):
            self.look_up_word(t, work.texts.found[t].id, work)
        for k in range(1, self.n_texts):
            look_up(&self.other_tables[k - 1], &work.texts[k])
            ids = work.ids + (self.n_own + k - 1) * work.stride + self.reach
            for t in range(work.n):
                id = work.texts[k].found[t].id
                ids[work.place[t]] = <int32_t>id if id >= 0 else UNKNOWN

    cdef void look_up_word(self, Py_ssize_t t, int32_t id, Work *work) noexcept nogil:
        """Write what is known of a word, whose number is ``id``, -1 if it is unknown."""
        cdef:
            int64_t c
            int32_t *ids = work.ids + self.reach + work.place[t]
            const Attribute *word
        if id >= 0:
            work.kind[t], work.own[t] = self.kinds[id], self.word_row(id)
            work.prefix[t] = self.prefix_of_word[id]
            ids[0] = id
            for c in range(1, self.n_own):
                ids[c * work.stride] = self.context_ids[id, c - 1]
            memcpy(
                work.spelling + t * N_FEATURES, &self.spelling_rows[id, 0],
                N_FEATURES * sizeof(int32_t),
            )
            return
        work.prefix[t] = UNSEEN
        work.own[t] = -1
        ids[0] = UNKNOWN
        if work.kind[t] != UNSEEN:
            work.kind[t] = UNSEEN
            word = &work.texts.found[t]
            self.spell_ascii(
                <const unsigned char *>work.texts.text + word.start, word.length, work, t
            )

    cdef void set_symbol(self, Work *work, Py_ssize_t t, int feature, int32_t id) noexcept nogil:
        """Write the row of a symbol of a spelling feature, and its number for the contexts."""
        cdef:
            int64_t c
            int32_t start = self.symbol_starts[feature], stop = self.symbol_starts[feature + 1]
            bint is_known = 0 <= id < stop - start
        work.spelling[t * N_FEATURES + feature] = self.symbol_rows[start + id] if is_known else -1
        for c in range(1, self.n_own):
            if self.context_features[c - 1] == feature:
                work.ids[c * work.stride + self.reach + work.place[t]] = id if is_known else UNKNOWN

    cdef void spell_ascii(
        self, const unsigned char *word, int64_t n, Work *work, Py_ssize_t t
    ) noexcept nogil:
        """The spelling features of an unknown word; see feature_extraction/spelling.py."""
        cdef:
            char[LONGEST + 1] marked
            char[SHAPE_LENGTH] shape
            char[LONG_SHAPE_LENGTH] long_shape
            int64_t length = 0, i, k
            unsigned char c, kind, last = 0
            int flags = 0
        marked[0] = c"^"
        for i in range(n):
            c = word[i]
            marked[i + 1] = c + 32 if c"A" <= c <= c"Z" else c
            kind = class_of(c)
            if i < LONG_SHAPE_LENGTH:
                long_shape[i] = kind
            if length < SHAPE_LENGTH and (
                kind != last or (kind != c"X" and kind != c"x" and kind != c"d")
            ):
                shape[length] = kind
                length += 1
            last = kind
            flags |= 2 * (c == c"-")
        if n and class_of(word[0]) != c"x" and is_letter_or_digit(word[0]):
            flags |= 1
        for i in range(9):
            flags |= ends_in(word, n, ENDINGS[i]) << (i + 2)
        for k in range(1, 6):
            self.set_text(work, t, <int>k - 1, marked + max(0, n + 1 - k), min(k, n + 1))
        self.set_text(work, t, 5, <const char *>word, min(n, 1))
        self.set_text(work, t, 6, <const char *>word, min(n, 3))
        self.set_text(work, t, 7, <const char *>word, min(n, 4))
        self.set_text(work, t, SHAPE, shape, length)
        self.set_text(work, t, LONG_SHAPE, long_shape, min(n, LONG_SHAPE_LENGTH))
        self.set_text(work, t, LOWER, marked + 1, n)
        self.set_symbol(work, t, SIMPLE, self.flags[flags])

    cdef void set_text(
        self, Work *work, Py_ssize_t t, int feature, const char *symbol, int64_t n
    ) noexcept nogil:
        cdef Text text = Text(symbol, n, 1, NULL)
        self.set_symbol(work, t, feature, find_symbol(&self.feature_tables[feature], text))

    cdef void find(self, Work *work) noexcept nogil:
        """Look up all words, and the rows of their slots."""
        if work.n:
            self.look_up_words(work)
            self.find_rows(work)

    cdef void write_scores(
        self, const Work *work, int64_t start, int64_t stop, int64_t stride, double *out
    ) noexcept nogil:
        """Write the state scores of some tokens, (stop - start, n_labels) in rows of ``stride``."""
        cdef:
            int64_t t, n_weighted, n_next = 0
            WeightedRow *rows = work.weighted
            WeightedRow *next_rows = rows + self.n_slots
        for t in range(start, min(start + 2, stop)):
            self.fetch_starts(work, t)
        if start < stop:
            n_next = self.weigh_rows(work, start, next_rows)
        for t in range(start, stop):
            rows, next_rows = next_rows, rows
            n_weighted = n_next
            if t + 2 < stop:
                self.fetch_starts(work, t + 2)
            if t + 1 < stop:
                n_next = self.weigh_rows(work, t + 1, next_rows)
            memcpy(out, &self.prefixes[work.prefix[t], 0], self.n_labels * sizeof(double))
            add_weighted(&self.state, rows, n_weighted, out)
            out += stride

    cdef void fetch_starts(self, const Work *work, int64_t t) noexcept nogil:
        """Ask the memory for where the rows of a token begin."""
        cdef:
            int64_t s, n_rows = self.n_slots + self.n_edge_slots
            const int32_t *rows = work.rows + t * n_rows
        for s in range(1, n_rows):
            fetch_start(&self.state if s < self.n_slots else &self.edge, rows[s])

    cdef int64_t weigh_rows(self, const Work *work, int64_t t, WeightedRow *out) noexcept nogil:
        """Write the rows that are to be added to the prefix of a token, and return how many.

        All that is needed of them and of the edges is asked of the memory.
        """
        cdef:
            int64_t s, n = 0
            const int32_t *rows = work.rows + t * (self.n_slots + self.n_edge_slots)
        fetch_row(&self.prefixes[work.prefix[t], 0], self.n_labels)
        for s in range(1, self.n_slots):
            n += weigh_row(&self.state, rows[s], self.exponents[work.kind[t], s], out + n)
        for s in range(n):
            fetch_weights(&self.state, out + s)
        for s in range(self.n_edge_slots):
            fetch_edges(&self.edge, rows[self.n_slots + s])
        return n

    cdef void find_rows(self, Work *work) noexcept nogil:
        """Write the rows of all slots; no rows for slots that are in the prefix."""
        cdef:
            int64_t t, i, g, id, slot, shift, n_rows = self.n_slots + self.n_edge_slots
            int32_t row
            int32_t *rows
            const int32_t *ids
            const Pairs *pairs
        for i in range(work.n * n_rows):
            work.rows[i] = -1
        for t in range(work.n):
            rows = work.rows + t * n_rows
            if work.prefix[t] < 3:
                memcpy(rows + 1, work.spelling + t * N_FEATURES, N_FEATURES * sizeof(int32_t))
                rows[WORD] = work.own[t]
        for i in range(self.single_slots.shape[0]):
            ids = work.ids + self.single_slots[i, 1] * work.stride + self.single_slots[i, 2]
            for t in range(work.n):
                id = <int64_t>ids[work.place[t]] + 1
                row = -1
                if 0 <= id < self.single_starts[i + 1] - self.single_starts[i]:
                    row = self.single_rows[self.single_starts[i] + id]
                work.rows[t * n_rows + self.single_slots[i, 3]] = row
        # Slots are in the order of groups.
        i = 0
        for g in range(self.n_groups):
            pairs = &self.pairs[g]
            self.find_pairs(work, pairs)
            while i < self.pair_slots.shape[0] and self.pair_slots[i, 0] == g:
                shift, slot = self.pair_slots[i, 2], self.pair_slots[i, 3]
                for t in range(work.n):
                    row = pair_row(pairs, self.pair_slots[i, 1], work.found[work.place[t] + shift])
                    work.rows[t * n_rows + slot] = row + self.pair_slots[i, 4] if row >= 0 else -1
                i += 1

    cdef void find_pairs(self, Work *work, const Pairs *pairs) noexcept nogil:
        """Look up the pair that begins at each place of the padded sequence, also as new ids."""
        cdef:
            int64_t start = 0, p
            int32_t *ids
        while start < work.stride:
            find_some_pairs(
                pairs, work.ids + pairs.column * work.stride,
                work.ids + pairs.second_column * work.stride, work.stride, start,
                min(start + TEAM, work.stride), work.found,
            )
            start += TEAM
        if pairs.derived >= 0:
            ids = work.ids + pairs.derived * work.stride
            for p in range(work.stride):
                ids[p] = work.found[p] if work.found[p] >= 0 else UNKNOWN

    cdef int64_t most_edges(self, const Work *work, int64_t start, int64_t stop) noexcept nogil:
        """The largest possible number of edges into some tokens."""
        cdef:
            int64_t t, k, n = 0, n_rows = self.n_slots + self.n_edge_slots
        for t in range(start, stop):
            for k in range(self.n_slots, n_rows if work.edge_row[t] >= 0 else 0):
                n += row_length(&self.edge, work.rows[t * n_rows + k])
        return n

    cdef int64_t merge_edges(
        self, Work *work, int64_t start, int64_t stop, double *score, int32_t *previous,
        int32_t *current,
    ) noexcept nogil:
        """Write the edges into some tokens, but the first of a sequence; return how many."""
        cdef int64_t t, n = 0, n_rows = self.n_slots + self.n_edge_slots
        for t in range(start, stop):
            work.edge_indptr[t] = n
            if work.edge_row[t] >= 0:
                n += self.merge_rows(
                    work.rows + t * n_rows + self.n_slots, score + n, previous + n, current + n
                )
        work.edge_indptr[stop] = n
        return n

    cdef int64_t merge_rows(
        self, const int32_t *rows, double *score, int32_t *previous, int32_t *current
    ) noexcept nogil:
        """Write the scores of the edges that have an entry in one of the rows; return how many."""
        cdef:
            int64_t n = 0, n_merged, k
            int64_t[MOST_EDGE_SLOTS] at, end
            int64_t n_kinds = 0
        for k in range(self.n_edge_slots):
            if row_length(&self.edge, rows[k]):
                at[n_kinds] = row_start(&self.edge, rows[k])
                end[n_kinds] = row_start(&self.edge, rows[k] + 1)
                n_kinds += 1
        n_merged = merge_gains(&self.edge, n_kinds, at, end, score, current)
        for k in range(n_merged):
            if score[k] != 0.0:
                previous[n], current[n] = current[k] & 0xffff, current[k] >> 16
                score[n] = self.into[current[n], previous[n]] + self.edge_exponent * score[k]
                n += 1
        return n


cdef void free_work(Work *work, int64_t n_texts) noexcept nogil:
    cdef int64_t k
    if work.texts != NULL:
        for k in range(n_texts):
            free_attributes(&work.texts[k])
    free(work.texts)
    free(work.memory)


cdef inline int32_t find_symbol(const Strings *table, Text text) noexcept nogil:
    return find_text(table, &text, hash_text(text, &table.key))
