"""A kernel gives its turn just after it released the interpreter, and takes it back last."""

cdef void give_turn() noexcept nogil
cdef void take_turn() noexcept nogil
