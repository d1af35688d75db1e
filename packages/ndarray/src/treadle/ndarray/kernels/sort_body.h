/* All of sorting for one instruction set. The including file names the table, TD_SORT, and may define TD_SORT_LANES, the
 * header with its operations on registers of keys. */
#include "sort.h"

#include <string.h>

#include "sort_kernels.h"

#define PASTE(x, y) PASTE_(x, y)
#define PASTE_(x, y) x##y

#define KEY_BITS 32
#define NAME(x) keys_32_##x
#define KEY int32_t
#define UNSIGNED uint32_t
#define KEY_SMALLEST INT32_MIN
#define KEY_LARGEST INT32_MAX
#include "sort_width.h"
#undef KEY_BITS
#undef NAME
#undef KEY
#undef UNSIGNED
#undef KEY_SMALLEST
#undef KEY_LARGEST
#define KEY_BITS 64
#define NAME(x) keys_64_##x
#define KEY int64_t
#define UNSIGNED uint64_t
#define KEY_SMALLEST INT64_MIN
#define KEY_LARGEST INT64_MAX
#include "sort_width.h"

/* Sorts words whose bits [low, low + count) are keys above their places. */
static void sort_words(int64_t n, int64_t *words, int64_t *spare, int low, int count)
{
    if (n >= 512 && count <= 16)
        keys_64_radix_sort(n, words, spare, low);
    else
        keys_64_sort(n, words, spare);
}

#include "sort_keys.h"
#include "sort_lines.h"
#include "sort_search.h"

#define SORT_ROW(sfx, T, ...) [TD_##sfx] = {values_##sfx, order_##sfx, sizeof(T)},
#define SEARCH_ROW(sfx, T, ...) [TD_##sfx] = {search_##sfx, groups_##sfx},
const td_sort_kernels TD_SORT = {
    {TD_SORT_INTEGERS(SORT_ROW) TD_SORT_FLOATS(SORT_ROW)},
    order_keys,
    top_keys,
    {TD_TYPES_ALL(SEARCH_ROW, )},
};
