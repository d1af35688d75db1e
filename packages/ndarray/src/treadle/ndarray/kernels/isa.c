#include "isa.h"

#include <string.h>

static const char *const names[TD_ISA_COUNT] = {"baseline", "avx2", "avx512"};

int td_isa_detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c")) {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
            return TD_ISA_AVX512;
        return TD_ISA_AVX2;
    }
#endif
    return TD_ISA_BASELINE;
}

int td_isa_from_name(const char *name)
{
    for (int isa = 0; isa < TD_ISA_COUNT; isa++)
        if (strcmp(name, names[isa]) == 0)
            return isa;
    return -1;
}

const char *td_isa_name(int isa)
{
    return isa >= 0 && isa < TD_ISA_COUNT ? names[isa] : "unknown";
}
