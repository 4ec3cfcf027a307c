from libc.stdint cimport int32_t, int64_t, int8_t, uint32_t

from sklearn_crcrf._kernels.text.packed_rows cimport Rows, WeightedRow
from sklearn_crcrf._kernels.text.pair_tables cimport Pairs
from sklearn_crcrf._kernels.text.strings cimport FrozenStrings, Strings


cdef struct Attribute:
    size_t start                   # of its text in the bytes of all texts
    Py_ssize_t length              # in characters
    int kind                       # bytes per character
    uint32_t hash
    int32_t id                     # -1 if it is unknown
    double value


cdef struct Attributes:
    # Of the tokens of one sequence: token t has attributes first[t] to first[t + 1]
    int64_t n_tokens
    int64_t *first                 # (n_tokens + 1,)
    Attribute *found
    int64_t n
    int64_t n_read                 # items of the feature dicts of the last token, and these dicts
    int64_t room
    char *text
    size_t used
    size_t text_room


cdef class AttributeReader:
    cdef:
        FrozenStrings strings
        str separator
        tuple lists                # types of tokens that are lists of attributes
        bint decodes               # whether strings may be bytes
        bint is_single             # whether values are of single precision
        object where               # names a token of a fit, where attributes that are 0 count, or None

    cdef list read(self, object tokens, Attributes *out)
    cdef int read_token(self, object token, Py_ssize_t position, Attributes *out) except -1
    cdef int read_items(
        self, dict token, str prefix, int level, Py_ssize_t position, Attributes *out
    ) except -1
    cdef int read_dict(
        self, str prefix, str key, dict value, int level, Py_ssize_t position, Attributes *out
    ) except -1
    cdef int read_value(
        self, str prefix, str key, object value, int level, Py_ssize_t position, Attributes *out
    ) except -1
    cdef double number(self, str key, object value, Py_ssize_t position) except? -1
    cdef list members(self, object value, str what, Py_ssize_t position, object token=*)
    cdef str text(self, object value, str what, Py_ssize_t position, object token=*)
    cdef str place(self, Py_ssize_t position)
    cdef object wrong(self, str what, Py_ssize_t position, object value, str advice=*)


cdef list read_strings(object tokens, Attributes *out)
cdef void look_up(const Strings *table, Attributes *attributes) noexcept nogil
cdef void free_attributes(Attributes *attributes) noexcept nogil


cdef enum: N_FEATURES = 12         # of the spelling


cdef struct Work:
    # The tokens of some sequences, in memory that belongs to a call
    void *memory
    Attributes *texts              # (n_texts,) copies of words, and of the symbols of other columns
    int64_t n
    int64_t stride                 # n + (n_sequences + 1) * reach
    int32_t *place                 # (n,) of each token, less reach
    int32_t *ids                   # (n_all_columns, stride) -1 outside of the sequence, -2 unknown
    int32_t *spelling              # (n, N_FEATURES) rows
    int32_t *own                   # (n,) the row of the word, -1 for none
    int32_t *prefix                # (n,) row of the sums over the first slots
    int8_t *kind                   # (n,) -1 until the word is looked up
    int32_t *found                 # (stride,) the pair at each place
    int32_t *rows                  # (n, n_slots + n_edges)
    WeightedRow *weighted          # (2 * n_slots,) the rows of a token, and of the next one
    int64_t *edge_row              # (n,) t, -1 for the first token of a sequence
    int64_t *edge_indptr           # (n + 1,)


cdef class CountedScores:
    cdef:
        FrozenStrings words
        list features              # tables of the symbols of spelling features
        list others                # tables of the symbols of other columns
        Strings feature_tables[N_FEATURES]
        Strings *other_tables
        object spell
        Rows state, edge
        Pairs *pairs
        int64_t n_labels, n_words, n_own, n_columns, n_all_columns, n_texts
        int64_t n_slots, n_edge_slots, n_groups, reach, first_word_row
        double edge_exponent
        # Columns of ids are of words, then of spelling features, n_own in all, then of the other
        # columns; these n_columns come before the derived columns.
        const int32_t[:, ::1] spelling_rows    # (n_words, N_FEATURES)
        const int32_t[:, ::1] context_ids      # (n_words, n_own - 1)
        const int32_t[::1] context_features    # (n_own - 1,)
        const int32_t[::1] symbol_rows
        const int32_t[::1] symbol_starts       # (N_FEATURES + 1,) of each feature
        const int32_t[::1] flags               # (2048,) ids of the symbols of "simple"
        const int8_t[::1] kinds                # (n_words,)
        const double[:, ::1] exponents         # (3, n_slots)
        const int32_t[:, ::1] pair_slots       # (n, 5) group, member, shift, slot, first row
        const int32_t[:, ::1] single_slots     # (n, 4) table, column, offset, slot
        const int32_t[::1] single_rows         # of all tables
        const int64_t[::1] single_starts       # (n_tables + 1,)
        const double[:, ::1] into              # (n_labels, n_labels) transitions, row = label
        double[:, ::1] prefixes                # (3 + n_common, n_labels)
        int32_t[::1] prefix_of_word            # (n_words,)
        dict kept

    cdef void add_row(self, int32_t row, double factor, double *out) noexcept nogil
    cdef list read(self, object tokens, Work *work)
    cdef int arrange(self, list sequences, Work *work) except -1
    cdef int make_room(self, int64_t n_sequences, Work *work) except -1
    cdef int read_odd_word(self, Py_ssize_t t, str word, Work *work) except -1
    cdef int32_t word_row(self, int32_t word) noexcept nogil
    cdef void look_up_words(self, Work *work) noexcept nogil
    cdef void look_up_word(self, Py_ssize_t t, int32_t id, Work *work) noexcept nogil
    cdef void set_symbol(self, Work *work, Py_ssize_t t, int feature, int32_t id) noexcept nogil
    cdef void spell_ascii(
        self, const unsigned char *word, int64_t n, Work *work, Py_ssize_t t
    ) noexcept nogil
    cdef void set_text(
        self, Work *work, Py_ssize_t t, int feature, const char *symbol, int64_t n
    ) noexcept nogil
    cdef void find(self, Work *work) noexcept nogil
    cdef void write_scores(
        self, const Work *work, int64_t start, int64_t stop, int64_t stride, double *out
    ) noexcept nogil
    cdef void fetch_starts(self, const Work *work, int64_t t) noexcept nogil
    cdef int64_t weigh_rows(self, const Work *work, int64_t t, WeightedRow *out) noexcept nogil
    cdef void find_rows(self, Work *work) noexcept nogil
    cdef void find_pairs(self, Work *work, const Pairs *pairs) noexcept nogil
    cdef int64_t most_edges(self, const Work *work, int64_t start, int64_t stop) noexcept nogil
    cdef int64_t merge_edges(
        self, Work *work, int64_t start, int64_t stop, double *score, int32_t *previous,
        int32_t *current,
    ) noexcept nogil
    cdef int64_t merge_rows(
        self, const int32_t *rows, double *score, int32_t *previous, int32_t *current
    ) noexcept nogil


cdef void free_work(Work *work, int64_t n_texts) noexcept nogil
