#include "slots.h"

#include "isa.h"

#define X(op, ...) #op,
const char *const td_unary_names[TD_UNARY_COUNT] = {TD_UNARY_OPS(X, TD_NOTHING)};
const char *const td_binary_names[TD_BINARY_COUNT] = {TD_BINARY_OPS(X, TD_NOTHING)};
const char *const td_ternary_names[TD_TERNARY_COUNT] = {TD_TERNARY_OPS(X, TD_NOTHING)};
const char *const td_reduce_names[TD_REDUCE_COUNT] = {TD_REDUCE_OPS(X, TD_NOTHING)};
#undef X

extern const td_slots td_slots_baseline;
#if defined(__x86_64__)
extern const td_slots td_slots_avx2;
extern const td_slots td_slots_avx512;
#endif

const td_slots *td_slots_select(int isa)
{
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX512)
        return &td_slots_avx512;
    if (isa == TD_ISA_AVX2)
        return &td_slots_avx2;
#endif
    (void)isa;
    return &td_slots_baseline;
}
