"""Threads that wait for each other without being put to sleep.

A thread that has to wait for the interpreter sleeps until it is free, and a processor with nothing
to do is lent to others: it comes back late, and what is computed next takes longer. For kernels of
less than a millisecond that costs more than there is to gain by a second thread. The threads of a
team therefore take turns in the interpreter: whoever wants it stays awake until it is free.
"""

cdef extern from "turns.h" nogil:
    ctypedef struct Turn:
        long is_taken
        long n_signals
        long patience
    Turn *get_turn()
    void set_turn(Turn *turn)
    long EXCHANGE(long *place, long value)
    long INCREMENT(long *place)
    long LOAD(const long *place)
    void await(const long *number, long seen)


cdef void give_turn() noexcept nogil:
    """Let another thread of the team have the interpreter."""
    cdef Turn *turn = get_turn()
    if turn != NULL:
        EXCHANGE(&turn.is_taken, False)


cdef void take_turn() noexcept nogil:
    """Wait until no other thread of the team has the interpreter, but not forever."""
    cdef:
        Turn *turn = get_turn()
        long k = 0
    if turn == NULL:
        return
    while EXCHANGE(&turn.is_taken, True) and k < turn.patience:
        await(&turn.is_taken, True)
        k += 1


cdef class Turns:
    """The turns of a team of threads, and signals that there is something new.

    Parameters
    ----------
    patience : int
        For how long a thread stays awake: for so many times some microseconds.

    Attributes
    ----------
    n_signals : int
    """

    cdef Turn turn

    def __init__(self, long patience):
        self.turn = Turn(False, 0, patience)

    @property
    def n_signals(self):
        return LOAD(&self.turn.n_signals)

    def join(self):
        """Be one of the team from now on; this thread has the interpreter."""
        set_turn(&self.turn)
        with nogil:
            take_turn()

    def leave(self):
        """Be none of the team any more."""
        give_turn()
        set_turn(NULL)

    def signal(self):
        """Tell those who wait."""
        INCREMENT(&self.turn.n_signals)

    def wait(self, long n_seen):
        """Wait until there were other than so many signals, or for too long."""
        cdef long k = 0
        with nogil:
            give_turn()
            while LOAD(&self.turn.n_signals) == n_seen and k < self.turn.patience:
                await(&self.turn.n_signals, n_seen)
                k += 1
            take_turn()
