# The instruction sets of the processor.

cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__x86_64__)
    #define HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    #define HAS_AVX512 (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    #else
    #define HAS_AVX2 0
    #define HAS_AVX512 0
    #endif
    """
    bint HAS_AVX2
    bint HAS_AVX512
    const char *BUILT_SETS         # names of sets, which setup.py writes


def sets_of_processor():
    """The instruction sets that kernels can be compiled for and the processor has, widest first."""
    supported = {"avx512": HAS_AVX512, "avx2": HAS_AVX2, "baseline": True}
    return [name for name, has in supported.items() if has]


def instruction_sets():
    """The instruction sets that kernels were compiled for and the processor has, widest first."""
    built = BUILT_SETS.decode().split()
    return [name for name in sets_of_processor() if name in built]
