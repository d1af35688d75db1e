/* Memory for packed operands. A few blocks are kept from call to call: fresh pages cost more than packing does. */
#ifndef TREADLE_MATMUL_WORKSPACE_H
#define TREADLE_MATMUL_WORKSPACE_H

#include <stdint.h>

/* 64-byte aligned; NULL when there is no memory. From any thread, without the GIL. */
char *td_workspace_acquire(int64_t nbytes);
void td_workspace_release(char *memory);

#endif
