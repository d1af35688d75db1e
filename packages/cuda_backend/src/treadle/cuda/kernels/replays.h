/* What differs from one replay of a graph to the next. A capture records pointers, not numbers: its kernels read these
 * from device memory, where every replay puts them before its work. Outside of a capture the pointers are null. */
#ifndef TREADLE_CUDA_REPLAYS_H
#define TREADLE_CUDA_REPLAYS_H

#include "runtime.h"

namespace td {

struct Variables {
    uint64_t key, counter; /* of the random numbers: the seed, and what is added to the counters of the capture */
    double step, root_correction; /* of Adam: lr / (1 - beta1^t) and sqrt(1 - beta2^t) */
};

int captured_random(const Variables **variables);
int captured_adam(const td_adam_settings &hyper, const Variables **variables);

/* Where a kernel notes the axis of an index that is out of bounds, counted from 1: memory that the host reads too. */
int captured_index_error(int64_t **wrong);

} // namespace td

#endif
