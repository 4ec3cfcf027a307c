"""The instruction sets of the processor."""

cdef extern from *:
    """
    #if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    #define HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    #define HAS_AVX512 (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    #else
    #define HAS_AVX2 0
    #define HAS_AVX512 0
    #endif
    """
    bint HAS_AVX2
    bint HAS_AVX512


def instruction_sets():
    """The instruction sets that kernels are compiled for and the processor has, widest first."""
    supported = {"avx512": HAS_AVX512, "avx2": HAS_AVX2, "baseline": True}
    return [name for name, has in supported.items() if has]
