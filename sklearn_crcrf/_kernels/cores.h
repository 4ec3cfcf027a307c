/* What the cores of a kernel need, one for each set of instructions; see setup.py. */

#ifndef SKLEARN_CRCRF_CORES_H
#define SKLEARN_CRCRF_CORES_H

/* The name of a function in the core that is being defined. */
#define OF_SET(name) OF_SET_NOW(name, SET)
#define OF_SET_NOW(name, set) JOINED(name, set)
#define JOINED(name, set) name##set

/* The number of the set whose cores are in use; the interpreter lock is held. */
static inline int chosen_set(void) {
    static int chosen = -1;
    if (chosen < 0) {
        PyObject *module = PyImport_ImportModule("sklearn_crcrf._kernels");
        PyObject *number = module ? PyObject_GetAttrString(module, "NUMBER") : NULL;
        if (number == NULL) Py_FatalError("no set of instructions was chosen");
        chosen = (int)PyLong_AsLong(number);
        Py_DECREF(number);
        Py_DECREF(module);
    }
    return chosen;
}

#endif
