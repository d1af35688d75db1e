#include "matmul_workspace.h"
#include "sanitizer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT 64
#define HUGE_PAGE ((int64_t)2 << 20)
#define HUGE_FROM ((int64_t)512 << 10) /* packed slivers are walked again and again: address translation counts */
#define SHELVES 16 /* blocks that are kept: two for each of some threads */
#define LARGE_SHELVES 4
#define KEEP_AT_MOST(shelf) (TD_SANITIZED ? -1 : (int64_t)((shelf) < LARGE_SHELVES ? 32 : 4) << 20)

/* A block begins with its size, so that one atomic pointer is all there is to exchange. */
static _Atomic(int64_t *) kept[SHELVES];

static int64_t *fresh(int64_t nbytes)
{
    const int64_t alignment = nbytes >= HUGE_FROM && !TD_SANITIZED ? HUGE_PAGE : ALIGNMENT;
    if (nbytes > INT64_MAX - ALIGNMENT - alignment)
        return NULL;
    int64_t total = nbytes + ALIGNMENT;
    if (!TD_SANITIZED)
        total = (total + alignment - 1) / alignment * alignment;
    void *memory = NULL;
    if (posix_memalign(&memory, (size_t)alignment, (size_t)total))
        return NULL;
    int64_t *block = memory;
#if defined(MADV_HUGEPAGE)
    if (alignment == HUGE_PAGE)
        madvise(block, (size_t)total, MADV_HUGEPAGE);
#endif
    *block = total - ALIGNMENT;
    return block;
}

char *td_workspace_acquire(int64_t nbytes)
{
    for (int shelf = 0; shelf < SHELVES; shelf++) {
        int64_t *block = atomic_load(&kept[shelf]) == NULL ? NULL : atomic_exchange(&kept[shelf], NULL);
        if (block != NULL && *block >= nbytes)
            return (char *)block + ALIGNMENT;
        if (block != NULL)
            free(atomic_exchange(&kept[shelf], block)); /* back to its place, which another one may have taken since */
    }
    int64_t *block = fresh(nbytes);
    return block == NULL ? NULL : (char *)block + ALIGNMENT;
}

void td_workspace_release(char *memory)
{
    int64_t *block = (int64_t *)(memory - ALIGNMENT);
    for (int shelf = 0; shelf < SHELVES && block != NULL && *block <= KEEP_AT_MOST(shelf); shelf++)
        block = atomic_exchange(&kept[shelf], block);
    free(block);
}
