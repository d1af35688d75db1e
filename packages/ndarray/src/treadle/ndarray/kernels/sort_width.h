/* The sorts of keys of one width, see sort_body.h. */
#include "sort_radix.h"
#if defined(TD_SORT_LANES)
#include TD_SORT_LANES
#include "sort_network.h"
#include "sort_quick.h"
#undef LANES
#undef MOST_ROWS
#endif

static void NAME(sort)(int64_t n, KEY *keys, KEY *spare)
{
    NAME(sort_into)(n, keys, spare, keys, &NAME(as_keys));
}
