/* Blocks below LARGE_FROM come from size classes: eight to an octave above 1 KB, multiples of 64 below, so at most an
 * eighth is lost to rounding. A freed block goes to the list of its class. Larger ones come from the heap (heap.c). Both
 * keep what is freed as long as the cache stays below CACHE_LIMIT; training loops then ask the system for nothing, and
 * fresh outputs cost no page faults.
 *
 * The exact way, for finding faults, does none of this: a block has just the bytes asked for and goes back when freed. */
#include "allocator.h"
#include "heap.h"
#include "sanitizer.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define ALIGNMENT 64
#define SMALL_LIMIT 1024
#define SMALL_CLASSES (SMALL_LIMIT / ALIGNMENT)
#define OCTAVES 6 /* up to LARGE_FROM */
#define STEPS 8
#define LARGE_FROM ((int64_t)64 << 10)
#define LARGE_STEP 1024
#define CACHE_LIMIT ((int64_t)512 << 20)

typedef struct block {
    struct block *next;
} block;

static block *free_lists[SMALL_CLASSES + OCTAVES * STEPS];
static td_memory_statistics statistics;
static int exact = TD_SANITIZED;

/* The class of a size, and the size that its blocks really have; -1 for those of the heap. */
static int size_class(int64_t nbytes, int64_t *rounded)
{
    if (nbytes <= SMALL_LIMIT) {
        int index = nbytes > 0 ? (int)((nbytes - 1) / ALIGNMENT) : 0;
        *rounded = (int64_t)(index + 1) * ALIGNMENT;
        return index;
    }
    if (nbytes > LARGE_FROM) {
        *rounded = (nbytes + LARGE_STEP - 1) / LARGE_STEP * LARGE_STEP;
        return -1;
    }
    int octave = 63 - __builtin_clzll((uint64_t)(nbytes - 1)); /* 2^octave < nbytes <= 2^(octave + 1) */
    int64_t step = ((int64_t)1 << octave) / STEPS;
    int64_t steps = (nbytes - ((int64_t)1 << octave) + step - 1) / step;
    *rounded = ((int64_t)1 << octave) + steps * step;
    return SMALL_CLASSES + (octave - 10) * STEPS + (int)(steps - 1);
}

static void *count(void *memory, int64_t nbytes)
{
    statistics.in_use += nbytes;
    statistics.blocks += 1;
    if (statistics.in_use > statistics.peak)
        statistics.peak = statistics.in_use;
    return memory;
}

void td_choose_exact(int wanted) { exact = wanted; }

int td_is_exact(void) { return exact; }

static void *obtain(int index, int64_t rounded)
{
    return index < 0 ? td_heap_allocate(rounded) : aligned_alloc(ALIGNMENT, (size_t)rounded);
}

void *td_allocate(int64_t nbytes)
{
    if (nbytes < 0 || nbytes > ((int64_t)1 << 48))
        return NULL;
    void *memory = NULL;
    if (exact)
        return posix_memalign(&memory, ALIGNMENT, (size_t)(nbytes ? nbytes : 1)) ? NULL : count(memory, nbytes);
    int64_t rounded;
    const int index = size_class(nbytes, &rounded);
    if (index >= 0 && free_lists[index]) {
        memory = free_lists[index];
        free_lists[index] = ((block *)memory)->next;
        statistics.cached -= rounded;
        return count(memory, rounded);
    }
    memory = obtain(index, rounded);
    if (!memory) {
        td_empty_cache();
        memory = obtain(index, rounded);
    }
    return memory ? count(memory, rounded) : NULL;
}

void td_release(void *memory, int64_t nbytes)
{
    int64_t rounded = nbytes;
    const int index = exact ? 0 : size_class(nbytes, &rounded);
    statistics.in_use -= rounded;
    statistics.blocks -= 1;
    if (index < 0) {
        td_heap_release(memory, statistics.cached + td_heap_cached() + rounded <= CACHE_LIMIT);
        return;
    }
    if (exact || statistics.cached + td_heap_cached() + rounded > CACHE_LIMIT) {
        free(memory);
        return;
    }
    ((block *)memory)->next = free_lists[index];
    free_lists[index] = memory;
    statistics.cached += rounded;
}

void td_empty_cache(void)
{
    for (int index = 0; index < SMALL_CLASSES + OCTAVES * STEPS; index++) {
        while (free_lists[index]) {
            block *next = free_lists[index]->next;
            free(free_lists[index]);
            free_lists[index] = next;
        }
    }
    statistics.cached = 0;
    td_heap_trim();
#ifdef __GLIBC__
    malloc_trim(0); /* freed blocks between used ones stay with the process else */
#endif
}

int64_t td_block_size(int64_t nbytes)
{
    int64_t rounded = nbytes;
    if (!exact)
        size_class(nbytes, &rounded);
    return rounded;
}

void td_reset_peak(void) { statistics.peak = statistics.in_use; }

td_memory_statistics td_memory(void)
{
    td_memory_statistics all = statistics;
    all.cached += td_heap_cached();
    return all;
}
