#include "matmul_kernels.h"

#include "isa.h"

extern const td_matmul_kernels td_matmul_baseline;
#if defined(__x86_64__)
extern const td_matmul_kernels td_matmul_avx2;
extern const td_matmul_kernels td_matmul_avx512;
#endif

const td_matmul_kernels *td_matmul_select(int isa)
{
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX512)
        return &td_matmul_avx512;
    if (isa == TD_ISA_AVX2)
        return &td_matmul_avx2;
#endif
    (void)isa;
    return &td_matmul_baseline;
}
