/* A fibre: a stack of its own and a switch between stacks. */
#ifndef TREADLE_EMULATION_FIBRE_H
#define TREADLE_EMULATION_FIBRE_H

#include <cstddef>

#if !defined(__x86_64__) || defined(TREADLE_EMULATION_UCONTEXT)
#define TREADLE_EMULATION_PORTABLE 1
#include <ucontext.h>
#endif

namespace emulation {

struct Fibre {
#ifdef TREADLE_EMULATION_PORTABLE
    ucontext_t context;
#else
    void *stack_pointer = nullptr;
#endif
    char *stack = nullptr; /* none: the fibre that the operating system started */
    void *sanitizer_stack = nullptr;
    const void *bottom = nullptr;
    size_t nbytes = 0;
};

/* Gives the fibre a stack at first, and makes the next switch to it call entry, which must never return. */
void prepare(Fibre &fibre, void (*entry)());

/* Leaves from, to come back when some fibre switches to it again. */
void switch_fibre(Fibre &from, Fibre &to);

/* To be called first of all at the entry of a fibre. */
void entered();

} // namespace emulation

#endif
