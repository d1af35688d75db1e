/* Stack switching: a dozen instructions on x86-64 (System V ABI: the callee-saved registers travel on the stack), and
 * ucontext elsewhere, which is ten times slower because it asks the kernel for the signal mask. Under the address
 * sanitizer every switch is announced, or the sanitizer would take a fibre's stack for an overrun. */
#include "fibre.h"

#include <cstdint>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define SWITCH_BEGINS(from, to) __sanitizer_start_switch_fiber(&(from).sanitizer_stack, (to).bottom, (to).nbytes)
#define SWITCH_ENDS(saved, bottom, nbytes) __sanitizer_finish_switch_fiber(saved, bottom, nbytes)
#else
#define SWITCH_BEGINS(from, to) static_cast<void>(0)
#define SWITCH_ENDS(saved, bottom, nbytes) static_cast<void>(0)
#endif

namespace emulation {

namespace {

constexpr size_t STACK_BYTES = 256 << 10;
constexpr size_t GUARD_BYTES = 4096;

/* The fibre that was left last: where the sanitizer's view of its stack is noted. */
[[maybe_unused]] Fibre *left = nullptr;

void give_stack(Fibre &fibre)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    mprotect(memory, GUARD_BYTES, PROT_NONE);
    fibre.stack = static_cast<char *>(memory);
    fibre.bottom = fibre.stack + GUARD_BYTES;
    fibre.nbytes = STACK_BYTES - GUARD_BYTES;
}

} // namespace

void entered()
{
    SWITCH_ENDS(nullptr, &left->bottom, &left->nbytes);
}

#ifdef TREADLE_EMULATION_PORTABLE

void prepare(Fibre &fibre, void (*entry)())
{
    if (!fibre.stack)
        give_stack(fibre);
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack + GUARD_BYTES;
    fibre.context.uc_stack.ss_size = fibre.nbytes;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, entry, 0);
}

void switch_fibre(Fibre &from, Fibre &to)
{
    left = &from;
    SWITCH_BEGINS(from, to);
    swapcontext(&from.context, &to.context);
    SWITCH_ENDS(from.sanitizer_stack, &left->bottom, &left->nbytes);
}

#else

extern "C" void treadle_switch_stack(void **from, void *to) __attribute__((visibility("hidden")));

asm(R"(
    .text
    .p2align 4
    .globl treadle_switch_stack
    .hidden treadle_switch_stack
    .type treadle_switch_stack, @function
treadle_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size treadle_switch_stack, .-treadle_switch_stack
)");

void prepare(Fibre &fibre, void (*entry)())
{
    if (!fibre.stack)
        give_stack(fibre);
    /* Six registers and the address that the first switch returns to; 8 bytes off 16 as after a call. */
    void **top = reinterpret_cast<void **>(fibre.stack + STACK_BYTES) - 8;
    for (int slot = 0; slot < 8; slot++)
        top[slot] = nullptr;
    top[6] = reinterpret_cast<void *>(entry);
    fibre.stack_pointer = top;
}

void switch_fibre(Fibre &from, Fibre &to)
{
    left = &from;
    SWITCH_BEGINS(from, to);
    treadle_switch_stack(&from.stack_pointer, to.stack_pointer);
    SWITCH_ENDS(from.sanitizer_stack, &left->bottom, &left->nbytes);
}

#endif

} // namespace emulation
