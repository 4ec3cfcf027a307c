# The attributes of the tokens of one sequence, as numbers.
#
# While Python objects are read, which needs the interpreter lock, the texts of all attributes are
# copied one after the other. Then they are looked up without the lock, in small batches: each step
# requests the memory that the next step reads.

cdef extern from "Python.h":
    bint is_float "PyFloat_CheckExact"(PyObject *)
    double PyFloat_AS_DOUBLE(PyObject *)
    bint PyBool_Check(PyObject *)
    bint is_int "PyLong_CheckExact"(PyObject *)
    bint is_dict "PyDict_CheckExact"(PyObject *)
    long long PyLong_AsLongLongAndOverflow(PyObject *, int *overflow)
    bint PyUnicode_IS_COMPACT(PyObject *)
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t)

cdef enum:
    BATCH = 64
    MARGIN = 16                    # bytes between texts
    TOKENS_AT_ONCE = 128

cdef str COLON = ":", TRUE = "True"
cdef tuple LISTS = (list, tuple, set, frozenset)
cdef tuple ITERABLES = (*LISTS, Iterator, np.ndarray, Set)
cdef tuple NESTED = (dict, *LISTS)
cdef tuple SCALARS = (str, Number, np.bool_)


cdef class AttributeReader:
    """Reads tokens that are strings or feature dicts.

    strings has the names of all attributes; separator stands between a key and a string; with
    lists, a token may also be a list, or any iterable, of attributes, and strings may be bytes, as in CRFsuite.
    """

    def __cinit__(self, FrozenStrings strings, str separator, bint lists, bint is_single):
        self.strings, self.separator = strings, separator
        self.lists, self.decodes, self.is_single = ITERABLES if lists else (), lists, is_single

    def attributes(self, tokens):
        """For each token, a list of (number, value) in reading order; -1 for unknown attributes."""
        cdef:
            Attributes found
            int64_t t, k
        kept = self.read(tokens, &found)
        try:
            look_up(&self.strings.table, &found)
            return [
                [
                    (found.found[k].id, found.found[k].value)
                    for k in range(found.first[t], found.first[t + 1])
                ]
                for t in range(len(kept))
            ]
        finally:
            free_attributes(&found)

    cdef list read(self, object tokens, Attributes *out):
        """Read all tokens; return them, in a list that nobody else can change.

        The caller frees ``out``, unless this fails.
        """
        cdef:
            list kept
            Py_ssize_t t
        memset(out, 0, sizeof(Attributes))
        kept = as_list(tokens)
        out.n_tokens = len(kept)
        out.first = <int64_t *>malloc((len(kept) + 1) * sizeof(int64_t))
        try:
            if out.first == NULL:
                raise MemoryError
            for t in range(len(kept)):
                out.first[t], out.n_read = out.n, 0
                self.read_token(kept[t], t, out)
            out.first[len(kept)] = out.n
        except BaseException:
            free_attributes(out)
            raise
        return kept

    cdef int read_token(self, object token, Py_ssize_t position, Attributes *out) except -1:
        cdef Py_ssize_t k
        if type(token) is dict:
            return self.read_items(token, None, 1, position, out)
        if isinstance(token, str) and self.separator is not None:
            return add(out, NULL, <PyObject *>token, NULL, NULL, 1.0)
        if isinstance(token, self.lists):
            # An attribute counts as often as it occurs.
            if type(token) is list and are_strings(token):
                for k in range(len(<list>token)):
                    add(out, NULL, PyList_GET_ITEM(<PyObject *>token, k), NULL, NULL, 1.0)
                return 0
            for attribute in self.members(token, "attributes must be str", position, token):
                add(out, NULL, <PyObject *>attribute, NULL, NULL, 1.0)
            return 0
        if isinstance(token, Mapping):
            return self.read_items(dict(token), None, 1, position, out)
        what = "the token must be a dict" if self.separator is None else (
            "the token must be a str or a dict"
        )
        raise self.wrong(what, position, token, advice_on(token))

    cdef int read_items(
        self, dict token, str prefix, int level, Py_ssize_t position, Attributes *out
    ) except -1:
        """Read a feature dict in ``level - 1`` others; ``prefix`` is their keys."""
        cdef:
            Py_ssize_t at = 0
            PyObject *before = NULL if prefix is None else <PyObject *>prefix
            PyObject *separator = NULL if self.separator is None else <PyObject *>self.separator
            PyObject *key
            PyObject *value
            long long number
            int overflow
        out.n_read += 1 + len(token)
        while PyDict_Next(token, &at, &key, &value):
            if not PyUnicode_Check(key):
                name = self.text(<object>key, "a key of a feature dict must be a str", position)
                self.read_items({name: <object>value}, prefix, level, position, out)
            elif PyUnicode_Check(value):
                add(out, before, key, separator, value, 1.0)
            elif separator == NULL and (PyBool_Check(value) or is_int(value)):
                text = str(<object>value)
                add(out, before, key, NULL, <PyObject *>text, 1.0)
            elif separator == NULL and not is_dict(value):
                self.read_value(prefix, <str>key, <object>value, level, position, out)
            elif is_float(value) and is_moderate(PyFloat_AS_DOUBLE(value)):
                add(out, before, key, NULL, NULL, PyFloat_AS_DOUBLE(value))
            elif PyBool_Check(value):
                # An attribute that is 0 changes no score.
                if <object>value is True or self.where is not None:
                    add(out, before, key, NULL, NULL, <double>(<object>value is True))
            elif is_dict(value):
                self.read_dict(prefix, <str>key, <dict>value, level, position, out)
            else:
                if is_int(value):
                    number = PyLong_AsLongLongAndOverflow(value, &overflow)
                    if not overflow:
                        if number != 0 or self.where is not None:
                            add(out, before, key, NULL, NULL, <double>number)
                        continue
                # Other code may run, and change the dict.
                self.read_value(prefix, <str>key, <object>value, level, position, out)
        return 0

    cdef int read_dict(
        self, str prefix, str key, dict value, int level, Py_ssize_t position, Attributes *out
    ) except -1:
        """Read a feature dict that is the value of a key."""
        if level >= DEEPEST or out.n_read > MOST_NESTED:
            problem = sizes.problem_of_nesting(level + 1, out.n_read)
            raise ValueError(f"{self.place(position)}: the feature dict {problem}")
        return self.read_items(value, joined(prefix, key), level + 1, position, out)

    cdef int read_value(
        self, str prefix, str key, object value, int level, Py_ssize_t position, Attributes *out
    ) except -1:
        """Read a value of a feature dict that is not a string."""
        cdef:
            PyObject *before = NULL if prefix is None else <PyObject *>prefix
            PyObject *symbol = <PyObject *>TRUE if self.separator is None else NULL
        if isinstance(value, LISTS):
            inner = joined(prefix, key)
            for member in self.members(value, f"a member of {inner!r} must be a str", position):
                add(out, <PyObject *>inner, <PyObject *>member, NULL, symbol, 1.0)
            return 0
        if isinstance(value, Mapping):
            return self.read_dict(prefix, key, dict(value), level, position, out)
        if self.separator is None:
            if not isinstance(value, SCALARS) or value != value:
                what = f"{joined(prefix, key)!r} must be a str, number, dict or list"
                raise self.wrong(what, position, value)
            text = str(value)
            return add(out, before, <PyObject *>key, NULL, <PyObject *>text, 1.0)
        if self.decodes and isinstance(value, bytes):
            text = self.text(value, "", position)
            return add(out, before, <PyObject *>key, <PyObject *>self.separator, <PyObject *>text, 1.0)
        number = self.number(joined(prefix, key), value, position)
        return add(out, before, <PyObject *>key, NULL, NULL, number)

    cdef double number(self, str key, object value, Py_ssize_t position) except? -1:
        """A value that is a number."""
        cdef double number
        what = f"the value of {key!r} must be a str, finite number, dict or list"
        if not isinstance(value, (Real, np.bool_)):
            raise self.wrong(what, position, value)
        try:
            number = float(value)
        except OverflowError:
            number = INFINITY
        if not isfinite(number):
            raise ValueError(f"{self.place(position)}: {what}, but is {shortened(value)}")
        if self.is_single and not isfinite(<float>number):
            raise ValueError(f"{self.place(position)}: {number} is too large for float32")
        return number

    cdef list members(self, object value, str what, Py_ssize_t position, object token=None):
        """The strings in a list or set; ``what`` says what they must be."""
        cdef list found = [self.text(member, what, position, token) for member in value]
        # The order of a set differs from run to run.
        if self.where is not None and isinstance(value, (set, frozenset)):
            found.sort()
        return found

    cdef str text(self, object value, str what, Py_ssize_t position, object token=None):
        """A string, or bytes where they are allowed; ``what`` says what it must be."""
        if isinstance(value, str):
            return str(value)
        if self.decodes and isinstance(value, bytes):
            try:
                return value.decode("utf-8")
            except UnicodeDecodeError:
                what = "bytes must be UTF-8"
        raise self.wrong(what, position, value, advice_on(token))

    cdef str place(self, Py_ssize_t position):
        return f"tokens, position {position}" if self.where is None else self.where(position)

    cdef object wrong(self, str what, Py_ssize_t position, object value, str advice=""):
        error = TypeError if self.where is None else ValueError
        return error(f"{self.place(position)}: {what}, but is {shortened(value)}{advice}")


def number_attributes(
    list tokens not None, str separator not None, StringTable table not None, bint learn, where,
    bint lists=False,
):
    """Number the attributes of tokens that are strings, feature dicts or lists of strings.

    With learn, new attributes are added to the table, else their ids are -1. where names a token
    by its number, in the ValueError for what is no attribute. With lists, tokens are as CRFsuite
    takes them.

    Returns
    -------
    ids : int32 (n_attributes,)
    values : double (n_attributes,), or None if they are all 1
    starts : int64 (n_tokens + 1,)
    """
    cdef AttributeReader reader = AttributeReader(None, separator, lists, False)
    reader.where = where
    reader.lists = ITERABLES if lists else (list,)
    (ids,), values, starts = read_all(reader, tokens, (table,), learn)
    return ids, values, starts


def number_items(list tokens not None, where):
    """Number the keys of feature dicts, and the symbols that are their values.

    where is as for number_attributes.

    Returns
    -------
    keys, symbols : list of str
    key_ids, symbol_ids : int32 (n_items,)
    starts : int64 (n_tokens + 1,)
    """
    cdef:
        AttributeReader reader = AttributeReader(None, None, False, False)
        StringTable keys = StringTable(), symbols = StringTable()
    reader.where = where
    ids, _, starts = read_all(reader, tokens, (keys, symbols), True)
    return keys.symbols, symbols.symbols, *ids, starts


cdef tuple read_all(AttributeReader reader, list tokens, tuple tables, bint learn):
    """Number the attributes of all tokens: the i-th of n in table i modulo n."""
    cdef:
        Attributes found
        Text[BATCH] texts
        StringTable table
        int64_t[::1] starts = np.zeros(len(tokens) + 1, dtype=np.int64)
        int32_t[::1] ids
        double[::1] value
        Attribute *attribute
        int64_t first, t = 0, k, i, at, start = 0, stop, room, n_tables = len(tables)
        int n
        list numbers = [np.empty(0, dtype=np.int32) for _ in tables]
    values = None
    memset(&found, 0, sizeof(Attributes))
    try:
        for first in range(0, len(tokens), TOKENS_AT_ONCE):
            found.n, found.used = 0, 0
            for t in range(first, min(first + TOKENS_AT_ONCE, <int64_t>len(tokens))):
                found.n_read = 0
                reader.read_token(tokens[t], t, &found)
                starts[t + 1] = start + found.n // n_tables
            stop = start + found.n // n_tables
            # As much as all tokens need if the others are like these.
            room = stop + stop * (<int64_t>len(tokens) - t - 1) // (t + 1) * 9 // 8
            for i in range(n_tables):
                numbers[i] = enlarged(numbers[i], start, stop, room)
                ids, table, at = numbers[i], tables[i], start
                while at < stop:
                    n = <int>min(<int64_t>BATCH, stop - at)
                    for k in range(n):
                        attribute = &found.found[(at + k - start) * n_tables + i]
                        texts[k] = text_in(attribute, found.text)
                    table.number(texts, n, &ids[at], learn)
                    at += n
            if values is None and not are_ones(&found):
                values = np.ones(start)
            if values is not None:
                values = enlarged(values, start, stop, room)
                value = values
                for k in range(start, stop):
                    value[k] = found.found[(k - start) * n_tables].value
            start = stop
    finally:
        free_attributes(&found)
    ids = value = None
    for array in (*numbers, values):
        if array is not None:
            array.resize(start, refcheck=False)
    return numbers, values, starts.base


cdef object enlarged(array, int64_t used, int64_t wanted, int64_t room):
    """An array of the same numbers, with more room if it needs it."""
    if len(array) >= wanted:
        return array
    larger = np.empty(room, array.dtype)
    larger[:used] = array[:used]
    return larger


cdef bint are_ones(const Attributes *attributes) noexcept:
    cdef int64_t k
    for k in range(attributes.n):
        if attributes.found[k].value != 1.0:
            return False
    return True


cdef bint are_strings(list token) noexcept:
    """Whether all members are strings; what will be read of them is requested before."""
    cdef:
        Py_ssize_t i, n = len(token)
        bint are_all = True
    for i in range(n):
        prefetch(PyList_GET_ITEM(<PyObject *>token, i))
    for i in range(n):
        are_all &= PyUnicode_Check(PyList_GET_ITEM(<PyObject *>token, i))
    return are_all


cdef inline str joined(str prefix, str key):
    """The keys of nested feature dicts."""
    return key if prefix is None else f"{prefix}:{key}"


cdef list read_strings(object tokens, Attributes *out):
    """Add tokens that are strings, one attribute for each; return them, as :meth:`read`.

    The caller frees ``out``, also if this fails.
    """
    cdef:
        list kept = as_list(tokens)
        Py_ssize_t t
    for t in range(len(kept)):
        token = kept[t]
        if type(token) is not str:
            if not isinstance(token, str):
                raise TypeError(
                    f"tokens, position {t}: the token must be a str, but is {shortened(token)}"
                )
            kept[t] = token = str(token)
        add(out, NULL, <PyObject *>token, NULL, NULL, 1.0)
    out.n_tokens += len(kept)
    return kept


cdef list as_list(object tokens):
    """The tokens of a sequence, in a new list."""
    if type(tokens) is list:
        return (<list>tokens)[:]
    if type(tokens).__name__ == "ItemSequence":  # of python-crfsuite, or ours, which has the dicts
        return list(tokens._items if hasattr(tokens, "_items") else tokens.items())
    if isinstance(tokens, (str, bytes, Mapping, Set)) or not hasattr(tokens, "__iter__"):
        raise TypeError(
            f"tokens must be a list of the tokens of one sequence, but is {shortened(tokens)}"
        )
    return list(tokens)


cdef inline bint is_moderate(double x) noexcept:
    """Whether a number is finite in both types of numbers."""
    return -1e38 < x < 1e38


def advice_on(token):
    """What to do about a token that is a tuple or list, for the end of an error message."""
    if not isinstance(token, (tuple, list)):
        return ""
    if all(isinstance(part, Number) for part in token):
        return "; the rows of numbers of a sequence must be a 2-D array"
    if not all(isinstance(part, str) for part in token):
        return ""
    return "; name its parts in a dict, such as {'word': 'the', 'pos': 'DT'}"


cdef str shortened(object value):
    text = limited_repr(value) if isinstance(value, NESTED) else repr(value)
    if len(text) > 60:
        text = text[:57] + "..."
    return f"{text}, of type {type(value).__name__}"


cdef int add(
    Attributes *out, PyObject *prefix, PyObject *key, PyObject *separator, PyObject *symbol,
    double value,
) except -1:
    """Add the attribute named prefix + ":" + key + separator + symbol, which may be NULL but the key.

    Without a separator the symbol is another attribute.
    """
    cdef:
        Py_ssize_t length = PyUnicode_GET_LENGTH(key)
        int kind = PyUnicode_KIND(key)
        Attribute *found
        char *end
    if symbol != NULL and separator == NULL:
        add(out, prefix, key, NULL, NULL, value)
        return add(out, NULL, symbol, NULL, NULL, value)
    if prefix != NULL:
        length += PyUnicode_GET_LENGTH(prefix) + 1
        kind |= PyUnicode_KIND(prefix)
    if symbol != NULL:
        length += PyUnicode_GET_LENGTH(separator) + PyUnicode_GET_LENGTH(symbol)
        kind |= PyUnicode_KIND(separator) | PyUnicode_KIND(symbol)
    kind = 4 if kind & 4 else kind & 2 or 1
    out.used = ((out.used + 3) & ~<size_t>3) + MARGIN
    make_room(out, length * kind)
    found = &out.found[out.n]
    found.start, found.length, found.kind, found.value = out.used, length, kind, value
    out.used += length * kind
    out.n += 1
    end = out.text + out.used
    if symbol != NULL:
        end = prepend(symbol, kind, end)
        end = prepend(separator, kind, end)
    end = prepend(key, kind, end)
    if prefix != NULL:
        end = prepend(<PyObject *>COLON, kind, end)
        prepend(prefix, kind, end)
    return 0


cdef inline char *prepend(PyObject *string, int kind, char *end) noexcept:
    """Write the characters in ``kind`` bytes each before ``end``; return where they begin.

    What is before them may change, up to MARGIN bytes before ``end``.
    """
    cdef:
        Text text = text_of(string)
        Py_ssize_t n = text.length * kind
    if n <= MARGIN and text.kind == kind and PyUnicode_IS_COMPACT(string):
        # The head of the object is before them: a copy of known size takes no branches.
        memcpy(end - MARGIN, text.data + n - MARGIN, MARGIN)
    else:
        widen(&text, kind, end - n)
    return end - n


cdef inline int make_room(Attributes *out, size_t n_bytes) except -1:
    """Make room for one more attribute with a text of ``n_bytes``."""
    if out.n == out.room or out.used + n_bytes >= out.text_room:
        return grow(out, n_bytes)
    return 0


cdef int grow(Attributes *out, size_t n_bytes) except -1:
    """Take at least twice the memory."""
    cdef void *memory
    if out.n == out.room:
        memory = realloc(out.found, (2 * out.room + 256) * sizeof(Attribute))
        if memory == NULL:
            raise MemoryError
        out.found, out.room = <Attribute *>memory, 2 * out.room + 256
    if out.used + n_bytes >= out.text_room:
        memory = realloc(out.text, 2 * (out.used + n_bytes) + 8192)
        if memory == NULL:
            raise MemoryError
        out.text, out.text_room = <char *>memory, 2 * (out.used + n_bytes) + 8192
    return 0


cdef void free_attributes(Attributes *attributes) noexcept nogil:
    free(attributes.first)
    free(attributes.found)
    free(attributes.text)
    memset(attributes, 0, sizeof(Attributes))


cdef void look_up(const Strings *table, Attributes *attributes) noexcept nogil:
    """Set the numbers of all attributes."""
    cdef int64_t start = 0
    while start < attributes.n:
        look_up_batch(
            table, attributes.found + start, min(<int64_t>BATCH, attributes.n - start),
            attributes.text,
        )
        start += BATCH


cdef void look_up_batch(
    const Strings *table, Attribute *found, int64_t n, const char *text
) noexcept nogil:
    cdef:
        int64_t i
        Text one
    for i in range(n):
        one = text_in(&found[i], text)
        found[i].hash = hash_text(one, &table.key)
        prefetch(&table.slots[found[i].hash & table.mask])
    for i in range(n):
        found[i].id = table.slots[found[i].hash & table.mask].entry
        prefetch(&table.starts[found[i].id])
    for i in range(n):
        prefetch(table.blob + table.starts[max(found[i].id - 1, 0)])
    for i in range(n):
        one = text_in(&found[i], text)
        found[i].id = find_text(table, &one, found[i].hash)


cdef inline Text text_in(const Attribute *attribute, const char *text) noexcept nogil:
    return Text(text + attribute.start, attribute.length, attribute.kind, NULL)
