"""A kernel gives its turn first, once it has let go of the interpreter, and takes it back last."""

cdef void give_turn() noexcept nogil
cdef void take_turn() noexcept nogil
