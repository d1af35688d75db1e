#include "layers.h"

#include "isa.h"

extern const td_layers td_layers_baseline;
#if defined(__x86_64__)
extern const td_layers td_layers_avx2, td_layers_avx512;
#endif

const td_layers *td_layers_select(int isa)
{
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX512)
        return &td_layers_avx512;
    if (isa == TD_ISA_AVX2)
        return &td_layers_avx2;
#endif
    (void)isa;
    return &td_layers_baseline;
}
