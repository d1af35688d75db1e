/* How a block of BLOCK threads is laid over lines of elements that it folds: lanes threads share a line, and
 * BLOCK / lanes lines are done at once. Threads with neighbouring numbers are lanes of one line where the elements of a
 * line lie side by side in memory (along), and neighbouring lines where those do. */
#ifndef TREADLE_CUDA_LANES_H
#define TREADLE_CUDA_LANES_H

#include "layout.h"

namespace td {

struct Lanes {
    int32_t lanes; /* a power of 2 */
    int32_t lines;
    int32_t along;
};

inline Lanes lay_lanes(int64_t line_length, bool along)
{
    int lanes = 1;
    int most = along ? BLOCK : BLOCK / 32;
    while (lanes < most && lanes < line_length)
        lanes *= 2;
    return {lanes, BLOCK / lanes, along};
}

/* Lines that are too few to fill a device are cut into parts: into as many as give it ENOUGH_BLOCKS blocks, but so that
 * each lane folds LANE_STEPS elements of a part. By sizes alone, never by the device, so that the same input gives the
 * same bits everywhere. */
struct LineParts {
    int64_t count, length;
};

inline LineParts cut_lines(const Lanes &lanes, int64_t lines, int64_t length)
{
    constexpr int64_t ENOUGH_BLOCKS = 1024, LANE_STEPS = 64;
    const int64_t by_blocks = lines > 0 ? ENOUGH_BLOCKS / ceil_div(lines, lanes.lines) : 1;
    const int64_t by_length = length / (lanes.lanes * LANE_STEPS);
    const int64_t wanted = by_blocks < by_length ? by_blocks : by_length;
    if (wanted < 2)
        return {1, length > 0 ? length : 1};
    const int64_t part = ceil_div(length, wanted);
    return {ceil_div(length, part), part};
}

/* Elements that a lane loads before it folds the first: loads under way at once are what bandwidth lives on. */
template <class T> constexpr int AT_ONCE = sizeof(T) < 4 ? 8 : 4;

TD_DEVICE int lane_of(const Lanes &plan)
{
    int thread = static_cast<int>(threadIdx.x);
    return plan.along ? thread % plan.lanes : thread / plan.lines;
}

TD_DEVICE int line_of(const Lanes &plan)
{
    int thread = static_cast<int>(threadIdx.x);
    return plan.along ? thread / plan.lanes : thread % plan.lines;
}

/* Folds the values of the lanes of each line, by halves; lane 0 gets the result. parts is shared and of BLOCK
 * values; all threads of the block must call this, and afterwards parts is free for other use. */
template <class Value, class Merge>
TD_DEVICE Value fold_lanes(const Lanes &plan, Value *parts, Value value, Merge merge)
{
    const int lane = lane_of(plan), line = line_of(plan);
    parts[lane * plan.lines + line] = value;
    for (int half = plan.lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (lane < half) {
            value = merge(value, parts[(lane + half) * plan.lines + line]);
            parts[lane * plan.lines + line] = value;
        }
    }
    __syncthreads();
    return value;
}

/* The same, but every lane of a line gets the result, which lane 0 left in parts before the last barrier. They read it
 * without another one, so parts is in use until the block's next barrier: two folds in a row take two arrays. */
template <class Value, class Merge>
TD_DEVICE Value fold_for_all_lanes(const Lanes &plan, Value *parts, Value value, Merge merge)
{
    fold_lanes(plan, parts, value, merge);
    return parts[line_of(plan)];
}

/* The lines of x and out along one axis: the walk's places are where lines begin. */
inline Walk<2> plan_lines(const td_view *x, int axis, const td_view *out)
{
    td_view starts = *x, out_starts = *out;
    starts.shape[axis] = out_starts.shape[axis] = 1;
    return plan<2>({&starts, &out_starts});
}

} // namespace td

#endif
