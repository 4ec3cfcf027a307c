"""Instruction sets of the processor, and turns of threads in the interpreter."""

include "cpu.pxi"
include "turns.pxi"
