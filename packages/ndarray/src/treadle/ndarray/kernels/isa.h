/* Instruction sets that kernels are compiled for. Higher numbers contain the lower ones. */
#ifndef TREADLE_ISA_H
#define TREADLE_ISA_H

enum { TD_ISA_BASELINE, TD_ISA_AVX2, TD_ISA_AVX512, TD_ISA_COUNT };

/* The best one that this processor and system run. */
int td_isa_detect(void);

/* "baseline", "avx2", "avx512"; -1 for any other name. */
int td_isa_from_name(const char *name);

const char *td_isa_name(int isa);

#endif
