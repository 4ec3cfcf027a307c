# Threads that wait for each other without being put to sleep.
#
# A thread that waits for the interpreter lock sleeps until the lock is free. The operating system may
# give its processor to another program meanwhile, so the thread wakes up late, with a cold cache. For
# kernels of less than a millisecond that costs more than a second thread gains. The threads of a team
# therefore take turns in the interpreter: a thread that wants it stays awake until it is free.

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
    """Wait, for a limited time, until no other thread of the team has the interpreter."""
    cdef:
        Turn *turn = get_turn()
        long k = 0
    if turn == NULL:
        return
    while EXCHANGE(&turn.is_taken, True) and k < turn.patience:
        await(&turn.is_taken, True)
        k += 1


cdef class Turns:
    """The turns of a team of threads, and signals between its threads.

    Parameters
    ----------
    patience : int
        How long a waiting thread stays awake, in units of a few microseconds.

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
        """Make this thread, which has the interpreter, a member of the team."""
        set_turn(&self.turn)
        with nogil:
            take_turn()

    def leave(self):
        """Remove this thread from the team."""
        give_turn()
        set_turn(NULL)

    def signal(self):
        """Send a signal to the threads that wait for one."""
        INCREMENT(&self.turn.n_signals)

    def wait(self, long n_seen):
        """Wait until the number of signals differs from ``n_seen``, but for a limited time."""
        cdef long k = 0
        with nogil:
            give_turn()
            while LOAD(&self.turn.n_signals) == n_seen and k < self.turn.patience:
                await(&self.turn.n_signals, n_seen)
                k += 1
            take_turn()
