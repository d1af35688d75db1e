/* Sorting of keys without vectors, stamped for one width of key (NAME, KEY, UNSIGNED, KEY_BITS).
 *
 * Short lines: insertion sort of runs, then merging. Long ones: a radix sort from the lowest byte up (Knuth, The Art of
 * Computer Programming 3, section 5.2.5), which leaves out the bytes that all keys have in common. The radix sort is
 * stable by the bits from `low` on: keys that carry their own place below them need no pass for it. */
#define DIGIT(key, digit) (((UNSIGNED)(key) ^ (UNSIGNED)KEY_SMALLEST) >> (8 * (digit)) & 255)

static void NAME(radix_sort)(int64_t n, KEY *keys, KEY *spare, int low)
{
    int64_t counts[KEY_BITS / 8][256];
    KEY *from = keys, *to = spare;
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; i++)
        for (int digit = 0; digit < KEY_BITS / 8; digit++)
            counts[digit][DIGIT(keys[i], digit)]++;
    for (int digit = low / 8; digit < KEY_BITS / 8; digit++) {
        int64_t *count = counts[digit], at = 0;
        if (count[DIGIT(from[0], digit)] == n)
            continue;
        for (int bucket = 0; bucket < 256; bucket++) {
            const int64_t length = count[bucket];
            count[bucket] = at;
            at += length;
        }
        td_sort_moved += n;
        for (int64_t i = 0; i < n; i++)
            to[count[DIGIT(from[i], digit)]++] = from[i];
        KEY *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)n * sizeof(KEY));
}

/* How sorted keys become elements: xor with turn, and for floats the bits below the sign once more turned by it. */
typedef struct {
    KEY turn;
    int is_float;
} NAME(form);
static const NAME(form) NAME(as_keys) = {0, 0};

static void NAME(finish)(int64_t n, const KEY *keys, KEY *into, const NAME(form) *form)
{
    const KEY turn = form->turn;
    if (form->is_float)
        for (int64_t i = 0; i < n; i++)
            into[i] = (keys[i] ^ turn) ^ (((keys[i] ^ turn) >> (KEY_BITS - 1)) & KEY_LARGEST);
    else if (turn != 0 || keys != into)
        for (int64_t i = 0; i < n; i++)
            into[i] = keys[i] ^ turn;
}

#if !defined(TD_SORT_LANES)
static void NAME(insert)(int64_t n, KEY *keys)
{
    for (int64_t i = 1; i < n; i++) {
        const KEY moved = keys[i];
        int64_t at = i;
        for (; at > 0 && keys[at - 1] > moved; at--)
            keys[at] = keys[at - 1];
        keys[at] = moved;
    }
}

static void NAME(merge)(const KEY *left, const KEY *middle, const KEY *end, KEY *out)
{
    const KEY *right = middle;
    while (left < middle && right < end)
        *out++ = *right < *left ? *right++ : *left++;
    while (left < middle)
        *out++ = *left++;
    while (right < end)
        *out++ = *right++;
}

static void NAME(merge_sort)(int64_t n, KEY *keys, KEY *spare)
{
    enum { RUN = 24 };
    KEY *from = keys, *to = spare;
    for (int64_t at = 0; at < n; at += RUN)
        NAME(insert)(n - at < RUN ? n - at : RUN, keys + at);
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t at = 0; at < n; at += 2 * width) {
            const int64_t middle = at + width < n ? at + width : n, end = at + 2 * width < n ? at + 2 * width : n;
            NAME(merge)(from + at, from + middle, from + end, to + at);
        }
        KEY *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)n * sizeof(KEY));
}

static void NAME(sort_into)(int64_t n, KEY *keys, KEY *spare, KEY *into, const NAME(form) *form)
{
    if (n < 16 * KEY_BITS / 8)
        NAME(merge_sort)(n, keys, spare);
    else
        NAME(radix_sort)(n, keys, spare, 0);
    NAME(finish)(n, keys, into, form);
}

static void NAME(sort_parts)(int64_t n, int64_t low, KEY *keys, KEY *spare, KEY *into, const NAME(form) *form)
{
    (void)low; /* always 0 here */
    NAME(sort_into)(n, keys, spare, into, form);
}

#if KEY_BITS == 64
static KEY NAME(select)(int64_t n, KEY *keys, KEY *spare, int64_t rank)
{
    NAME(sort_into)(n, keys, spare, keys, &NAME(as_keys));
    return keys[rank];
}
#endif
#endif
#undef DIGIT
