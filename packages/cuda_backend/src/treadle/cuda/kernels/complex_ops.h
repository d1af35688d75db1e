/* The complex ops of treadle/elementwise_complex.h with this directory's functions, not the C library's. */
#ifndef TREADLE_CUDA_COMPLEX_OPS_H
#define TREADLE_CUDA_COMPLEX_OPS_H

#define TREADLE_COMPLEX_FUNCTIONS "complex_functions.h"
#include "treadle/elementwise_complex.h"

#endif
