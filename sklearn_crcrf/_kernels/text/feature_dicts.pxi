# Feature dicts split into keys and values.

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(PyObject *, int *overflow)

cdef enum: REMEMBERED = 64

cdef struct Place:
    PyObject *key
    int32_t key_id
    PyTypeObject *kind


def split_items(list dicts not None, StringTable keys not None):
    """List the items of all dicts.

    Parameters
    ----------
    dicts : list of n dict
    keys : StringTable
        Numbers the keys.

    Returns
    -------
    key_ids : int32 (n_items,)
        -1 where a key is not a string.
    values : list of n_items values
    starts : int64 (n + 1,)
        The items of ``dicts[i]`` are ``starts[i]`` to ``starts[i + 1]``.
    kinds : set of the types of the values
    """
    cdef:
        PyObject *tokens = <PyObject *>dicts
        Py_ssize_t n = len(dicts), item = 0, i, at
        int64_t[::1] ends
        int32_t[::1] ids
        list values
        Place[REMEMBERED] places  # dicts made by the same code have the same keys in each place
        Place *place
        PyObject *key
        PyObject *value
        dict token
    starts = ends = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        if i + AHEAD < n:
            prefetch(PyList_GET_ITEM(tokens, i + AHEAD))
        token = dicts[i]
        ends[i + 1] = ends[i] + len(token)
    key_ids = ids = np.empty(ends[n], dtype=np.int32)
    values = PyList_New(ends[n])
    kinds = set()
    memset(places, 0, sizeof(places))
    for i in range(n):
        if i + AHEAD < n:
            prefetch(PyList_GET_ITEM(tokens, i + AHEAD))
        token = dicts[i]
        at = 0
        place = places
        while PyDict_Next(token, &at, &key, &value):
            if key != place.key:
                place.key = key
                place.key_id = keys.add_one(key) if PyUnicode_Check(key) else -1
            if Py_TYPE(value) != place.kind:
                place.kind = Py_TYPE(value)
                kinds.add(type(<object>value))
            ids[item] = place.key_id
            Py_INCREF(<object>value)
            PyList_SET_ITEM(values, item, <object>value)
            item += 1
            place = place + 1 if place < &places[REMEMBERED - 1] else places
    return key_ids, values, starts, kinds


def split_values(
    list values not None,
    StringTable strings not None,
    int32_t[::1] ids not None,     # (n_values,) OUT
    double[::1] numbers not None,  # (n_values,) OUT
):
    """Fill ``ids`` for strings, and ``numbers`` for float, int and bool.

    The id of a value that is not a string is -1; the number of a value that is not a number is 1.
    Returns a list of the indices of values that are neither string nor number, or too large.
    """
    cdef:
        PyObject *items = <PyObject *>values
        PyObject *value
        Py_ssize_t n = len(values), i
        int overflow
        list others = []
    if ids.shape[0] != n or numbers.shape[0] != n:
        raise ValueError(f"ids and numbers must have {n} places")
    for i in range(n):
        if i + AHEAD < n:
            prefetch(PyList_GET_ITEM(items, i + AHEAD))
        value = PyList_GET_ITEM(items, i)
        ids[i], numbers[i], overflow = -1, 1, 0
        if PyUnicode_Check(value):
            ids[i] = strings.add_one(value)
        elif PyFloat_Check(value):
            numbers[i] = PyFloat_AS_DOUBLE(value)
        elif PyLong_Check(value):
            numbers[i] = <double>PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow:
                others.append(i)
        else:
            others.append(i)
    return others
