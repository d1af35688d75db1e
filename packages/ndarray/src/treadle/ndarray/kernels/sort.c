/* Arrays cut into lines for the kernels.
 *
 * Lines whose elements do not lie side by side are copied a tile at a time, as many neighbouring lines as fill a cache
 * line, so that memory is read in runs; their results go back the same way. */
#include "sort.h"

#include <stdatomic.h>
#include <string.h>

#include "isa.h"
#include "sort_kernels.h"

enum { TILE_LINES = 16, TILE_PAD = 64, TILE_BYTES = 1 << 20, BLOCK_ELEMENTS = 1 << 15 };

_Thread_local int64_t td_sort_moved;
int td_sort_depth = -1;

extern const td_sort_kernels td_sort_baseline;
#if defined(__x86_64__)
extern const td_sort_kernels td_sort_avx2, td_sort_avx512;
extern uint64_t td_sort_places[256], td_sort_wide_places[16];

static void fill_places(void)
{
    for (unsigned mask = 0; mask < 256; mask++) {
        uint64_t places = 0;
        int count = 0;
        for (int side = 1; side >= 0; side--)
            for (unsigned lane = 0; lane < 8; lane++)
                if ((int)(mask >> lane & 1) == side)
                    places |= (uint64_t)lane << 8 * count++;
        td_sort_places[mask] = places;
    }
    for (unsigned mask = 0; mask < 16; mask++) {
        uint64_t places = 0;
        for (int at = 0; at < 4; at++) {
            const uint64_t lane = td_sort_places[mask] >> 8 * at & 255; /* the unset ones above 3 come last */
            places |= (2 * lane | (2 * lane + 1) << 8) << 16 * at;
        }
        td_sort_wide_places[mask] = places;
    }
}
#endif

const td_sort_kernels *td_sort_select(int isa)
{
#if defined(__x86_64__)
    if (isa == TD_ISA_AVX512)
        return &td_sort_avx512;
    if (isa == TD_ISA_AVX2) {
        fill_places();
        return &td_sort_avx2;
    }
#endif
    (void)isa;
    return &td_sort_baseline;
}

static int64_t up_to_64(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

/* Whether it is worth to look for the first few among all, instead of sorting them. */
static int is_selection(const td_sort_job *job) { return job->taken < job->length / 4; }

static int64_t line_scratch(const td_sort_job *job, int64_t itemsize)
{
    if (is_selection(job))
        return 4 * td_top_room(job->taken) * 8;
    if (job->places || job->taken < job->length)
        return 3 * job->length * 8;
    return 2 * job->length * (itemsize == 8 ? 8 : 4);
}

void td_sort_plan(td_sort_job *job)
{
    const int64_t itemsize = job->kernels->types[job->dtype].itemsize, inner = job->shape[job->outer - 1];
    const int x_lies = job->x_stride == itemsize, values_lie = !job->values || job->value_stride == itemsize;
    int64_t lines = 1;
    for (int axis = 0; axis < job->outer; axis++)
        lines *= job->shape[axis];
    job->tile = 1;
    if (!x_lies || !values_lie || (job->places && job->place_stride != 8)) {
        job->tile = TILE_BYTES / (job->length * itemsize);
        job->tile = job->tile < 4 ? 4 : job->tile > TILE_LINES ? TILE_LINES : job->tile;
        job->tile = job->tile > inner ? inner : job->tile;
    }
    job->x_tile_bytes = x_lies ? 0 : up_to_64(job->length * itemsize) + TILE_PAD;
    job->value_tile_bytes = job->tile > 1 && job->values ? up_to_64(job->taken * itemsize) + TILE_PAD : 0;
    job->place_tile_bytes = job->tile > 1 && job->places ? up_to_64(job->taken * 8) + TILE_PAD : 0;
    job->line_bytes = up_to_64(line_scratch(job, itemsize));
    job->worker_bytes = job->line_bytes + job->tile * (job->x_tile_bytes + job->value_tile_bytes +
                                                         job->place_tile_bytes);
    job->chunks = (inner + job->tile - 1) / job->tile;
    job->units = lines / inner * job->chunks;
    job->units_per_block = BLOCK_ELEMENTS / (job->length * job->tile);
    job->units_per_block += job->units_per_block < 1;
    job->blocks = (job->units + job->units_per_block - 1) / job->units_per_block;
}

#define COPY_TILE(T) \
    for (int64_t i = 0; i < n; i++) \
        for (int64_t line = 0; line < lines; line++) \
            *(T *)(to + i * to_step + line * to_line) = *(const T *)(from + i * from_step + line * from_line);
static void copy_tile(int64_t itemsize, int64_t n, int64_t lines, const char *from, int64_t from_step,
                      int64_t from_line, char *to, int64_t to_step, int64_t to_line)
{
    switch (itemsize) {
    case 1: COPY_TILE(uint8_t) break;
    case 2: COPY_TILE(uint16_t) break;
    case 4: COPY_TILE(uint32_t) break;
    default: COPY_TILE(uint64_t)
    }
}

#define GATHER(T) \
    for (int64_t i = 0; i < n; i++) \
        *(T *)(to + i * step) = *(const T *)(x + places[i] * sx);
static void gather(int64_t itemsize, int64_t n, const int64_t *places, const char *x, int64_t sx, char *to, int64_t step)
{
    switch (itemsize) {
    case 1: GATHER(uint8_t) break;
    case 2: GATHER(uint16_t) break;
    case 4: GATHER(uint32_t) break;
    default: GATHER(uint64_t)
    }
}

static void sort_line(const td_sort_job *job, const char *x, int64_t sx, char *values, int64_t sv, char *places,
                      int64_t sp, char *scratch)
{
    const td_sort_kernels *kernels = job->kernels;
    const int64_t turn = job->descending ? -1 : 0, itemsize = kernels->types[job->dtype].itemsize;
    const td_order_loop order = kernels->types[job->dtype].order;
    int64_t *found = (int64_t *)scratch;
    if (!places && job->taken == job->length) {
        kernels->types[job->dtype].values(job->length, x, sx, values, sv, job->descending, scratch);
        return;
    }
    if (is_selection(job)) {
        found = kernels->top_keys(job->length, job->taken, x, sx, turn, order, found);
    } else {
        order(job->length, x, sx, turn, found);
        found = kernels->order_keys(job->length, found);
    }
    if (values)
        gather(itemsize, job->taken, found, x, sx, values, sv);
    if (places)
        copy_tile(8, job->taken, 1, (char *)found, 8, 0, places, sp, 0);
}

/* Where lines lie: the first one, and the steps from element to element and from line to line. */
typedef struct {
    char *data;
    int64_t step, line;
} lines_at;

static lines_at in_array(char *data, int64_t step, const int64_t *strides, const td_sort_job *job, int64_t unit)
{
    const int last = job->outer - 1;
    lines_at lines = {data, step, strides[last]};
    int64_t outer = unit / job->chunks;
    if (!data)
        return lines;
    lines.data += unit % job->chunks * job->tile * strides[last];
    for (int axis = last - 1; axis >= 0; outer /= job->shape[axis], axis--)
        lines.data += outer % job->shape[axis] * strides[axis];
    return lines;
}

/* A unit: up to `tile` lines side by side along the innermost outer axis. */
static void sort_unit(const td_sort_job *job, int64_t unit, char *scratch)
{
    const int64_t itemsize = job->kernels->types[job->dtype].itemsize;
    const int64_t left = job->shape[job->outer - 1] - unit % job->chunks * job->tile;
    const int64_t lines = left > job->tile ? job->tile : left;
    const lines_at x = in_array((char *)job->x, job->x_stride, job->x_strides, job, unit);
    const lines_at values = in_array(job->values, job->value_stride, job->value_strides, job, unit);
    const lines_at places = in_array(job->places, job->place_stride, job->place_strides, job, unit);
    lines_at from = x, to = values, to_places = places;
    scratch += job->line_bytes;
    if (job->x_tile_bytes) {
        from = (lines_at){scratch, itemsize, job->x_tile_bytes};
        copy_tile(itemsize, job->length, lines, x.data, x.step, x.line, from.data, from.step, from.line);
    }
    scratch += job->tile * job->x_tile_bytes;
    if (job->value_tile_bytes)
        to = (lines_at){scratch, itemsize, job->value_tile_bytes};
    scratch += job->tile * job->value_tile_bytes;
    if (job->place_tile_bytes)
        to_places = (lines_at){scratch, 8, job->place_tile_bytes};
    scratch -= job->line_bytes + job->tile * (job->x_tile_bytes + job->value_tile_bytes);
    for (int64_t line = 0; line < lines; line++)
        sort_line(job, from.data + line * from.line, from.step, to.data ? to.data + line * to.line : NULL, to.step,
                  to_places.data ? to_places.data + line * to_places.line : NULL, to_places.step, scratch);
    if (job->value_tile_bytes)
        copy_tile(itemsize, job->taken, lines, to.data, to.step, to.line, values.data, values.step, values.line);
    if (job->place_tile_bytes)
        copy_tile(8, job->taken, lines, to_places.data, to_places.step, to_places.line, places.data, places.step,
                  places.line);
}

void td_sort_block(void *context, int64_t block)
{
    const td_sort_job *job = context;
    const int64_t first = block * job->units_per_block, end = first + job->units_per_block;
    _Atomic int32_t *taken = (_Atomic int32_t *)job->taken_scratch;
    int worker = 0;
    while (atomic_exchange(&taken[worker], 1)) /* there are as many as threads: one is free */
        worker = (worker + 1) % job->workers;
    for (int64_t unit = first; unit < end && unit < job->units; unit++)
        sort_unit(job, unit, job->scratch + worker * job->worker_bytes);
    atomic_store(&taken[worker], 0);
}
