/* Memory for packed operands. One block is kept from call to call, because fresh pages cost more than packing does. */
#ifndef TREADLE_MATMUL_WORKSPACE_H
#define TREADLE_MATMUL_WORKSPACE_H

#include <stdint.h>

typedef struct {
    void *data; /* 64-byte aligned */
    int64_t nbytes;
} td_workspace;

/* Returns 0, or -1 when there is no memory. From any thread, without the GIL. */
int td_workspace_acquire(td_workspace *workspace, int64_t nbytes);
void td_workspace_release(td_workspace *workspace);

#endif
