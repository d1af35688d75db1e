/* The complex ops of treadle/elementwise_complex.h with this directory's functions, not the C library's. */
#ifndef TREADLE_CUDA_COMPLEX_OPS_H
#define TREADLE_CUDA_COMPLEX_OPS_H

#define TREADLE_COMPLEX_FUNCTIONS
#include "treadle/elementwise_complex.h"

#include "complex_functions.h"

#endif
