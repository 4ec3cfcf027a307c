# Whether objects still hold the members that they held, without a tuple or a call for each.

def have_members(list objects not None, list names not None, list members not None):
    """Whether each attribute ``names[i][k]`` of ``objects[i]`` is still ``members[i][k]``.

    Parameters
    ----------
    objects : list of objects with a dictionary
    names, members : list of tuples
    """
    cdef:
        Py_ssize_t i, k
        dict held
        tuple keys, values
        PyObject *found

    for i in range(len(objects)):
        held, keys, values = objects[i].__dict__, names[i], members[i]
        for k in range(len(keys)):
            found = PyDict_GetItem(held, keys[k])
            if found != <PyObject *>values[k]:
                return False
    return True
