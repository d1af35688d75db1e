/* Size classes: eight to an octave above 1 KB, multiples of 64 below, so at most an eighth is lost to rounding.
 * A freed block goes to the list of its class as long as the cache stays below CACHE_LIMIT; training loops then ask
 * the system for nothing, and fresh outputs cost no page faults. Blocks from HUGE_FROM on ask for huge pages.
 *
 * The exact way, for finding faults, does none of this: a block has just the bytes asked for and goes back when freed. */
#include "allocator.h"
#include "sanitizer.h"

#include <stdlib.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define ALIGNMENT 64
#define SMALL_LIMIT 1024
#define SMALL_CLASSES (SMALL_LIMIT / ALIGNMENT)
#define OCTAVES 40
#define STEPS 8
#define CACHE_LIMIT ((int64_t)512 << 20)
#define HUGE_FROM ((int64_t)4 << 20)
#define HUGE_PAGE ((int64_t)2 << 20)

typedef struct block {
    struct block *next;
} block;

static block *free_lists[SMALL_CLASSES + OCTAVES * STEPS];
static td_memory_statistics statistics;
static int exact = TD_SANITIZED;

/* The class of a size, and the size that its blocks really have. */
static int size_class(int64_t nbytes, int64_t *rounded)
{
    if (nbytes <= SMALL_LIMIT) {
        int index = nbytes > 0 ? (int)((nbytes - 1) / ALIGNMENT) : 0;
        *rounded = (int64_t)(index + 1) * ALIGNMENT;
        return index;
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

void *td_allocate(int64_t nbytes)
{
    if (nbytes < 0 || nbytes > ((int64_t)1 << 48))
        return NULL;
    void *memory = NULL;
    if (exact)
        return posix_memalign(&memory, ALIGNMENT, (size_t)(nbytes ? nbytes : 1)) ? NULL : count(memory, nbytes);
    int64_t rounded;
    int index = size_class(nbytes, &rounded);
    memory = free_lists[index];
    if (memory) {
        free_lists[index] = ((block *)memory)->next;
        statistics.cached -= rounded;
    } else {
        int64_t alignment = rounded >= HUGE_FROM ? HUGE_PAGE : ALIGNMENT;
        int64_t padded = (rounded + alignment - 1) / alignment * alignment;
        memory = aligned_alloc((size_t)alignment, (size_t)padded);
        if (!memory && statistics.cached) {
            td_empty_cache();
            memory = aligned_alloc((size_t)alignment, (size_t)padded);
        }
        if (!memory)
            return NULL;
#ifdef MADV_HUGEPAGE
        if (rounded >= HUGE_FROM)
            madvise(memory, (size_t)padded, MADV_HUGEPAGE);
#endif
    }
    return count(memory, rounded);
}

void td_release(void *memory, int64_t nbytes)
{
    int64_t rounded = nbytes;
    int index = exact ? 0 : size_class(nbytes, &rounded);
    statistics.in_use -= rounded;
    statistics.blocks -= 1;
    if (exact || statistics.cached + rounded > CACHE_LIMIT) {
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

td_memory_statistics td_memory(void) { return statistics; }
