/* The structures of DLPack, as its specification lays them down (version 1.0, data-apis / dmlc; https://dmlc.github.io/dlpack).
 *
 * Two kinds of capsule carry a tensor from one library to another: the legacy one ("dltensor") holds td_dl_managed, the
 * versioned one ("dltensor_versioned") td_dl_versioned, which also has flags. Whoever consumes a capsule renames it
 * "used_..." and calls the deleter once, when the memory is needed no more. */
#ifndef TREADLE_DLPACK_H
#define TREADLE_DLPACK_H

#include <stdint.h>

enum { TD_DL_CPU = 1, TD_DL_CUDA = 2, TD_DL_CUDA_HOST = 3 };
enum { TD_DL_INT = 0, TD_DL_UINT = 1, TD_DL_FLOAT = 2, TD_DL_BFLOAT = 4, TD_DL_COMPLEX = 5, TD_DL_BOOL = 6 };
enum { TD_DL_READ_ONLY = 1, TD_DL_IS_COPIED = 2 };

typedef struct {
    int32_t device_type;
    int32_t device_id;
} td_dl_device;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} td_dl_dtype;

typedef struct {
    void *data;
    td_dl_device device;
    int32_t ndim;
    td_dl_dtype dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL means C order */
    uint64_t byte_offset;
} td_dl_tensor;

typedef struct td_dl_managed {
    td_dl_tensor tensor;
    void *context;
    void (*deleter)(struct td_dl_managed *self);
} td_dl_managed;

typedef struct td_dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct td_dl_versioned *self);
    uint64_t flags;
    td_dl_tensor tensor;
} td_dl_versioned;

#endif
