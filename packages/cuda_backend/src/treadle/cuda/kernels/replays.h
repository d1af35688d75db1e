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

/* What a word holds whose kernel has met no index out of range: what a memset of the byte leaves. */
constexpr int NO_INDEX_BYTE = 0x80;
constexpr int64_t NO_INDEX = static_cast<int64_t>(0x8080808080808080u);

/* A word of a graph where a kernel notes such an index, in memory that the host reads too. text says what is wrong with
 * it, and "{}" stands for it. */
int captured_index_check(const char *text, int64_t **word);

} // namespace td

#endif
