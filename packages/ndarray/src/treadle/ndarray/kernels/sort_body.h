/* A stable ascending sort of items by an unsigned key, stamped for one kind of item. The including file defines
 *
 *   NAME(x)        the names of this stamp's functions
 *   ITEM, KEY      the type of an item and of its key
 *   KEY_OF(item)
 *
 * Short lines: insertion sort of runs, then merging. Long ones: a radix sort from the lowest byte up (Knuth, The Art of
 * Computer Programming 3, section 5.2.5), which leaves out the bytes that all keys have in common. */

static void NAME(insert)(int64_t n, ITEM *items)
{
    for (int64_t i = 1; i < n; i++) {
        ITEM moved = items[i];
        int64_t at = i;
        for (; at > 0 && KEY_OF(items[at - 1]) > KEY_OF(moved); at--)
            items[at] = items[at - 1];
        items[at] = moved;
    }
}

static void NAME(merge)(const ITEM *left, const ITEM *middle, const ITEM *end, ITEM *out)
{
    const ITEM *right = middle;
    while (left < middle && right < end)
        *out++ = KEY_OF(*right) < KEY_OF(*left) ? *right++ : *left++;
    while (left < middle)
        *out++ = *left++;
    while (right < end)
        *out++ = *right++;
}

static void NAME(merge_sort)(int64_t n, ITEM *items, ITEM *spare)
{
    ITEM *from = items, *to = spare;
    for (int64_t at = 0; at < n; at += TD_SORT_RUN)
        NAME(insert)(n - at < TD_SORT_RUN ? n - at : TD_SORT_RUN, items + at);
    for (int64_t width = TD_SORT_RUN; width < n; width *= 2) {
        for (int64_t at = 0; at < n; at += 2 * width) {
            int64_t middle = at + width < n ? at + width : n, end = at + 2 * width < n ? at + 2 * width : n;
            NAME(merge)(from + at, from + middle, from + end, to + at);
        }
        ITEM *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, (size_t)n * sizeof(ITEM));
}

static void NAME(radix_sort)(int64_t n, ITEM *items, ITEM *spare)
{
    int64_t counts[sizeof(KEY)][256];
    ITEM *from = items, *to = spare;
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; i++) {
        KEY key = KEY_OF(items[i]);
        for (size_t digit = 0; digit < sizeof(KEY); digit++)
            counts[digit][(key >> (8 * digit)) & 255]++;
    }
    for (size_t digit = 0; digit < sizeof(KEY); digit++) {
        int64_t *count = counts[digit], at = 0;
        if (count[(KEY_OF(from[0]) >> (8 * digit)) & 255] == n)
            continue;
        for (int bucket = 0; bucket < 256; bucket++) {
            int64_t length = count[bucket];
            count[bucket] = at;
            at += length;
        }
        for (int64_t i = 0; i < n; i++)
            to[count[(KEY_OF(from[i]) >> (8 * digit)) & 255]++] = from[i];
        ITEM *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, (size_t)n * sizeof(ITEM));
}

static void NAME(sort)(int64_t n, ITEM *items, ITEM *spare)
{
    if (n <= TD_SORT_RUN)
        NAME(insert)(n, items);
    else if (n < TD_SORT_RADIX_FROM * (int64_t)sizeof(KEY))
        NAME(merge_sort)(n, items, spare);
    else
        NAME(radix_sort)(n, items, spare);
}
