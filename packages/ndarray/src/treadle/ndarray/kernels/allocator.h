/* Host memory for arrays: 64-byte aligned blocks, kept for the next ones when they are freed.
 * Called with the GIL held, which is its lock. */
#ifndef TREADLE_ALLOCATOR_H
#define TREADLE_ALLOCATOR_H

#include <stdint.h>

typedef struct {
    int64_t in_use;  /* bytes handed out */
    int64_t peak;    /* the most of them since td_reset_peak */
    int64_t cached;  /* bytes freed and kept */
    int64_t blocks;  /* blocks handed out */
} td_memory_statistics;

void td_choose_exact(int wanted); /* before the first allocation: neither cache nor rounding */
int td_is_exact(void);
void *td_allocate(int64_t nbytes); /* NULL when there is none */
void td_release(void *block, int64_t nbytes);
void td_empty_cache(void);
td_memory_statistics td_memory(void);

/* The bytes that a block for so many is counted with. */
int64_t td_block_size(int64_t nbytes);

/* The peak begins anew, from what is in use. */
void td_reset_peak(void);

#endif
