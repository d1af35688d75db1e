/* Quicksort over registers of keys, stamped for one width of key (NAME, KEY, and the lanes and network of the width).
 *
 * A range is parted from one buffer into another, which is a stream of reads and two of writes without a branch on keys;
 * the parts change buffers again further down, and a block that fits into registers is sorted by the network. The
 * pivot is about the median of a sample from pseudo-random places. Ranges of equal keys end at once: where nothing is below
 * the pivot, the keys equal to it are parted off. After 2 log2(n) partings of one range its rest is sorted by radix,
 * so that no order of keys makes the time quadratic (Musser, "Introspective sorting and selection algorithms", 1997). */
enum { NAME(BLOCK) = MOST_ROWS * LANES };

/* Parts n keys by the pivot: those below it go to to[*left_] and on, the others end before to[*right_]. */
static inline void NAME(part_more)(int64_t n, const KEY *from, KEY *to, KEY pivot, int64_t *left_, int64_t *right_)
{
    const NAME(lanes) pivots = NAME(all)(pivot);
    int64_t left = *left_, right = *right_, i = 0;
    td_sort_moved += n;
    for (; i < n % LANES; i++) {
        const KEY key = from[i];
        to[left] = key;
        to[right - 1] = key;
        left += key < pivot;
        right -= key >= pivot;
    }
    for (; i < n; i += LANES) {
        const int64_t below = NAME(split)(NAME(load)(from + i), pivots, to + left, to + right);
        left += below;
        right -= LANES - below;
    }
    *left_ = left;
    *right_ = right;
}

/* Parts n keys by the pivot: those below it first. Returns how many they are. */
static int64_t NAME(part)(int64_t n, const KEY *from, KEY *to, KEY pivot)
{
    int64_t left = 0, right = n;
    NAME(part_more)(n, from, to, pivot, &left, &right);
    return left;
}

/* Parts n keys at a pivot: [0, *low) below it, [*low, *high) equal to it, as far as they were
 * parted off, the others behind. */
static inline void NAME(part_equal)(int64_t n, KEY *keys, KEY *spare, KEY pivot, int64_t *low, int64_t *high)
{
    *low = *high = NAME(part)(n, keys, spare, pivot);
    if (*low == 0)
        *high = pivot == KEY_LARGEST ? n : NAME(part)(n, keys, spare, pivot + 1);
    if (*low == 0 && *high == n)
        memcpy(spare, keys, (size_t)n * sizeof(KEY));
}

/* Sorts n keys; the result goes to `into`, which is one of the two buffers or a third one, there turned into elements. */
static void NAME(quick)(int64_t n, KEY *keys, KEY *spare, KEY *into, const NAME(form) *form, int depth)
{
    while (n > NAME(BLOCK)) {
        int64_t low, high;
        if (depth-- == 0) {
            NAME(radix_sort)(n, keys, spare, 0);
            NAME(finish)(n, keys, into, form);
            return;
        }
        NAME(part_equal)(n, keys, spare, NAME(middle)(n, keys), &low, &high);
        NAME(finish)(high - low, spare + low, into + low, form);
        if (low < n - high) {
            NAME(quick)(low, spare, keys, into, form, depth);
            KEY *swap = keys + high;
            keys = spare + high, spare = swap, into += high, n -= high;
        } else {
            NAME(quick)(n - high, spare + high, keys + high, into + high, form, depth);
            KEY *swap = keys;
            keys = spare, spare = swap, n = low;
        }
    }
    NAME(block)(n, keys, into);
    NAME(finish)(n, into, into, form);
}

static int NAME(depth)(int64_t n)
{
    return td_sort_depth >= 0 ? td_sort_depth : 2 * (64 - __builtin_clzll((uint64_t)n | 1));
}

static void NAME(sort_into)(int64_t n, KEY *keys, KEY *spare, KEY *into, const NAME(form) *form)
{
    NAME(quick)(n, keys, spare, into, form, NAME(depth)(n));
}

/* The same of keys of which the first `low` are below the others already. */
static void NAME(sort_parts)(int64_t n, int64_t low, KEY *keys, KEY *spare, KEY *into, const NAME(form) *form)
{
    NAME(sort_into)(low, keys, spare, into, form);
    NAME(sort_into)(n - low, keys + low, spare + low, into + low, form);
}

#if KEY_BITS == 64 /* the only ones that are selected among */
/* About the key of a rank: from a sorted sample. */
static KEY NAME(pivot)(int64_t n, const KEY *keys, int64_t rank)
{
    KEY sample[NAME(BLOCK)];
    const int64_t size = n < 32 * NAME(BLOCK) ? 32 : NAME(BLOCK);
    uint64_t state = (uint64_t)n * 0x9e3779b97f4a7c15u;
    int64_t place;
    for (int64_t i = 0; i < size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sample[i] = keys[(int64_t)(((state >> 32) * (uint64_t)n) >> 32)];
    }
    NAME(block)(size, sample, sample);
    place = (int64_t)((double)rank / (double)n * (double)size);
    return sample[place < 1 ? 1 : place > size - 2 ? size - 2 : place];
}

/* The key of a rank in [0, n), by parting only the side that it is on (Hoare, "Algorithm 65: find", 1961). */
static KEY NAME(select)(int64_t n, KEY *keys, KEY *spare, int64_t rank)
{
    int depth = NAME(depth)(n);
    while (n > NAME(BLOCK) && depth-- > 0) {
        int64_t low, high;
        KEY *swap = keys;
        NAME(part_equal)(n, keys, spare, NAME(pivot)(n, keys, rank), &low, &high);
        if (rank >= low && rank < high)
            return spare[rank];
        if (rank < low) {
            keys = spare, spare = swap, n = low;
        } else {
            keys = spare + high, spare = swap + high, n -= high, rank -= high;
        }
    }
    NAME(sort_into)(n, keys, spare, keys, &NAME(as_keys));
    return keys[rank];
}
#endif
