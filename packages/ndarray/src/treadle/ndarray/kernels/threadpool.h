/* A pool of threads for kernels. The caller always works too and can finish a job alone, so nothing waits for a core
 * that is taken. What a block computes must not depend on how many there are, so that results do not depend on the
 * number of threads.
 *
 * Jobs of many blocks go back and forth: of those of a thread every second one takes its blocks from the end, where the
 * one before it has just been. Of arrays that are a few times as large as the second cache, a good part is still there. */
#ifndef TREADLE_THREADPOOL_H
#define TREADLE_THREADPOOL_H

#include <stdint.h>

/* Calls body(context, block) for each block in [0, blocks), from several threads where there are some: not inside
 * another job, nor while another thread has one running. Returns when all calls have. Needs no GIL. */
void td_parallel_for(int64_t blocks, void (*body)(void *context, int64_t block), void *context);

/* The caller counts as one. 0 or less asks for the default: TREADLE_NUM_THREADS, else the processors allowed. */
void td_set_num_threads(int threads);
int td_get_num_threads(void);

#endif
