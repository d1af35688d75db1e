/* Large blocks of host memory: cut from mapped segments, and joined with their neighbours when they come back, so that
 * what a size has left free serves the other sizes. Not thread-safe. */
#ifndef TREADLE_HEAP_H
#define TREADLE_HEAP_H

#include <stdint.h>

void *td_heap_allocate(int64_t nbytes); /* 64-byte aligned; NULL when the system gives nothing */
void td_heap_release(void *block, int keeps); /* unless it keeps the memory, it goes back to the system */
int64_t td_heap_cached(void);                 /* bytes that are free and kept */
void td_heap_trim(void);                      /* gives these back */

#endif
