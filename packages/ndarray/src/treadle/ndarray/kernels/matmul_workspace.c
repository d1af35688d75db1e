#include "matmul_workspace.h"
#include "sanitizer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT 64
#define HUGE_PAGE ((int64_t)2 << 20)
#define HUGE_FROM ((int64_t)128 << 10) /* packed slivers are walked again and again: address translation counts */
#define KEEP_AT_MOST (TD_SANITIZED ? -1 : (int64_t)32 << 20)

/* A block begins with its size, so that one atomic pointer is all there is to exchange. */
static _Atomic(int64_t *) kept;

int td_workspace_acquire(td_workspace *workspace, int64_t nbytes)
{
    int64_t *block = atomic_exchange(&kept, NULL);
    if (block == NULL || *block < nbytes) {
        const int64_t alignment = nbytes >= HUGE_FROM && !TD_SANITIZED ? HUGE_PAGE : ALIGNMENT;
        free(block);
        if (nbytes > INT64_MAX - ALIGNMENT - alignment)
            return -1;
        int64_t total = nbytes + ALIGNMENT;
        if (!TD_SANITIZED)
            total = (total + alignment - 1) / alignment * alignment;
        void *memory = NULL;
        if (posix_memalign(&memory, (size_t)alignment, (size_t)total))
            return -1;
        block = memory;
#if defined(MADV_HUGEPAGE)
        if (alignment == HUGE_PAGE)
            madvise(block, (size_t)total, MADV_HUGEPAGE);
#endif
        *block = total - ALIGNMENT;
    }
    workspace->data = (char *)block + ALIGNMENT;
    workspace->nbytes = *block;
    return 0;
}

void td_workspace_release(td_workspace *workspace)
{
    int64_t *block = (int64_t *)((char *)workspace->data - ALIGNMENT);
    free(*block <= KEEP_AT_MOST ? atomic_exchange(&kept, block) : block);
    workspace->data = NULL;
}
