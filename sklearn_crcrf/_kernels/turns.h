/* Turns of threads: atomic operations and pauses, by compiler and system. */

#ifndef SKLEARN_CRCRF_TURNS_H
#define SKLEARN_CRCRF_TURNS_H

#if defined(_MSC_VER)
#include <windows.h>
#define THREAD_LOCAL __declspec(thread)
#define EXCHANGE(place, value) _InterlockedExchange(place, value)
#define INCREMENT(place) _InterlockedIncrement(place)
#define LOAD(place) (*(const volatile long *)(place))
#define PAUSE() YieldProcessor()
#define YIELD() SwitchToThread()
#else
#include <sched.h>
#define THREAD_LOCAL __thread
#define EXCHANGE(place, value) __atomic_exchange_n(place, value, __ATOMIC_ACQ_REL)
#define INCREMENT(place) __atomic_add_fetch(place, 1, __ATOMIC_ACQ_REL)
#define LOAD(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE()
#endif
#define YIELD() sched_yield()
#endif

/* The state that the threads of a team share. */
typedef struct {
    long is_taken;
    long n_signals;
    long patience;
} Turn;

/* The state of the team of this thread; 0 if it is in no team. */
static THREAD_LOCAL Turn *turn_of_thread = 0;

static inline Turn *get_turn(void) { return turn_of_thread; }

static inline void set_turn(Turn *turn) { turn_of_thread = turn; }

/* Wait awake, briefly, for a number to change; then let other threads run first. */
static inline void await(const long *number, long seen) {
    for (int k = 0; k < 64 && LOAD(number) == seen; k++) PAUSE();
    if (LOAD(number) == seen) YIELD();
}

#endif
