/* One line of elements: sorted values, the places they came from, the smallest k. Made from the sorts of keys. */

/* --- values ------------------------------------------------------------------------------------------------------- */
enum { COUNT_FROM = 256, COUNT_RANGE = 1 << 16, COUNT_WORTH = 8, SPARE_IN_CACHE = 1 << 15 }; /* counting pays for a range of keys below n / COUNT_WORTH */

/* Whether n keys between smallest and largest are few enough to be counted instead of sorted. */
static inline int is_countable(int64_t n, uint64_t range) { return range < COUNT_RANGE && range < (uint64_t)n / COUNT_WORTH; }

#if defined(TD_SORT_LANES)
/* Keys of a long line are parted on their way in, which saves a pass: by a pivot out of a sample of registers from
 * pseudo-random places. */
enum { STAGE = 512 };
#define DEFINE_LOAD_PARTED(sfx, T, width) \
    static int load_parted_##sfx(int64_t n, const char *x, int64_t sx, int##width##_t turn, int##width##_t *keys, \
                                 int64_t *low) \
    { \
        enum { SAMPLE = keys_##width##_BLOCK / 2, LENGTH = SAMPLE / 8 }; \
        int##width##_t stage[STAGE], pivot; \
        int64_t right = n, count; \
        uint64_t state = (uint64_t)n; \
        int found = 0; \
        for (int part = 0; part < 8; part++) { \
            state = state * 6364136223846793005u + 1442695040888963407u; \
            const int64_t place = (int64_t)(((state >> 32) * (uint64_t)(n - LENGTH + 1)) >> 32); \
            load_##sfx(LENGTH, x + place * sx, sx, turn, stage + part * LENGTH); \
        } \
        pivot = keys_##width##_middle(SAMPLE, stage); \
        for (int64_t i = 0; i < n; i += count) { \
            count = i == 0 && n % STAGE ? n % STAGE : STAGE; \
            found |= load_##sfx(count, x + i * sx, sx, turn, stage); \
            keys_##width##_part_more(count, stage, keys, pivot, low, &right); \
        } \
        return found; \
    }
#define LOAD_PARTED(sfx, width, n, x, sx, turn, keys, low) \
    (n) > keys_##width##_BLOCK ? load_parted_##sfx(n, x, sx, turn, keys, low) : load_##sfx(n, x, sx, turn, keys)
#else
#define DEFINE_LOAD_PARTED(sfx, T, width)
#define LOAD_PARTED(sfx, width, n, x, sx, turn, keys, low) load_##sfx(n, x, sx, turn, keys)
#endif

#define DEFINE_VALUES(sfx, T, width, turned, is_float) \
    DEFINE_LOAD_PARTED(sfx, T, width) \
    static void values_##sfx(int64_t n, const char *x, int64_t sx, char *values, int64_t sv, int descending, \
                             void *scratch) \
    { \
        int##width##_t *keys = scratch, turn = descending ? -1 : 0; \
        const keys_##width##_form form = {(int##width##_t)(turned ^ turn), is_float}; \
        int64_t kept = n, low = 0; \
        const int found = LOAD_PARTED(sfx, width, n, x, sx, turn, keys, &low); \
        if (found & HAS_NAN) { \
            kept = drop_nans_##sfx(n, x, sx, turn, keys); \
            low = 0; \
        } \
        if (!is_float && count_##width(n, keys, keys + n)) \
            store_##sfx(n, keys, turn, values, sv); \
        else if (sizeof(T) == sizeof *keys && sv == sizeof(T)) \
            keys_##width##_sort_parts(kept, low, keys, n < SPARE_IN_CACHE ? keys + n : (int##width##_t *)values, \
                                      (int##width##_t *)values, &form); \
        else { \
            keys_##width##_sort_parts(kept, low, keys, keys + n, keys, &keys_##width##_as_keys); \
            store_##sfx(kept, keys, turn, values, sv); \
        } \
        restore_##sfx(n, x, sx, kept, found, values, sv); \
    }

/* Sorts n keys by counting, if their range is small. */
#define DEFINE_COUNT(width) \
    static int count_##width(int64_t n, int##width##_t *keys, void *scratch) \
    { \
        int##width##_t low = keys[0], high = keys[0]; \
        uint32_t *even = scratch, *odd; \
        uint64_t range; \
        int64_t at = 0; \
        if (n < COUNT_FROM || n > (int64_t)UINT32_MAX) \
            return 0; \
        for (int64_t i = 0; i < n; i++) { \
            low = keys[i] < low ? keys[i] : low; \
            high = keys[i] > high ? keys[i] : high; \
        } \
        range = (uint64_t)high - (uint64_t)low; \
        if (!is_countable(n, range)) \
            return 0; \
        odd = even + range + 1; /* neighbours are often equal, and would wait for each other's count */ \
        memset(even, 0, 2 * ((size_t)range + 1) * sizeof *even); \
        for (int64_t i = 0; i + 1 < n; i += 2) { \
            even[(uint64_t)keys[i] - (uint64_t)low]++; \
            odd[(uint64_t)keys[i + 1] - (uint64_t)low]++; \
        } \
        if (n % 2) \
            even[(uint64_t)keys[n - 1] - (uint64_t)low]++; \
        for (uint64_t step = 0; step <= range; step++) { \
            const int64_t end = at + even[step] + odd[step]; \
            while (at < end) \
                keys[at++] = (int##width##_t)((uint64_t)low + step); \
        } \
        return 1; \
    }
DEFINE_COUNT(32)
DEFINE_COUNT(64)
#define DEFINE_INTEGER_VALUES(sfx, T, width, turned) DEFINE_VALUES(sfx, T, width, turned, 0)
#define DEFINE_FLOAT_VALUES(sfx, T, width, infinity, sign) DEFINE_VALUES(sfx, T, width, 0, 1)
TD_SORT_INTEGERS(DEFINE_INTEGER_VALUES)
TD_SORT_FLOATS(DEFINE_FLOAT_VALUES)

/* --- places -------------------------------------------------------------------------------------------------------
 * Each key is put above its place in one word: all words differ, so that any sort of them is stable. Keys are taken
 * less the smallest; where they have more bits than are free, the words hold the highest ones, and each run of words
 * equal in those is then sorted by the next ones. */
static int bits_of(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

static uint64_t low_bits(int count) { return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1; }

static uint64_t smallest_to_zero(int64_t n, int64_t *keys)
{
    int64_t low = keys[0], high = keys[0];
    for (int64_t i = 0; i < n; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    for (int64_t i = 0; i < n; i++)
        keys[i] = (int64_t)((uint64_t)keys[i] - (uint64_t)low);
    return (uint64_t)high - (uint64_t)low;
}

/* Sorts words, each of whose low place_bits name a key of which only the low `bits` differ; only places are left. */
static void refine(int64_t n, const int64_t *keys, int64_t *words, int64_t *spare, int bits, int place_bits)
{
    const int taken = bits < 63 - place_bits ? bits : 63 - place_bits, rest = bits - taken;
    const uint64_t places = low_bits(place_bits);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t place = (uint64_t)words[i] & places;
        words[i] = (int64_t)((((uint64_t)keys[place] & low_bits(bits)) >> rest) << place_bits | place);
    }
    if (taken > 0)
        sort_words(n, words, spare, place_bits, taken);
    for (int64_t begin = 0, end; rest > 0 && begin < n; begin = end) {
        for (end = begin + 1; end < n && (uint64_t)words[end] >> place_bits == (uint64_t)words[begin] >> place_bits; end++)
            ;
        if (end - begin > 1)
            refine(end - begin, keys, words + begin, spare + begin, rest, place_bits);
        else
            words[begin] &= (int64_t)places;
    }
    for (int64_t i = 0; rest == 0 && i < n; i++)
        words[i] &= (int64_t)places;
}

/* The places of n keys in ascending order of the keys, which are spent. There is room for three times n. */
static int64_t *order_keys(int64_t n, int64_t *keys)
{
    const int bits = bits_of(smallest_to_zero(n, keys)), place_bits = bits_of((uint64_t)n - 1);
    int64_t *words = keys + n;
    if (bits + place_bits <= 31) {
        int32_t *narrow = (int32_t *)words;
        for (int64_t i = 0; i < n; i++)
            narrow[i] = (int32_t)(keys[i] << place_bits | i);
        keys_32_sort(n, narrow, narrow + n);
        for (int64_t i = 0; i < n; i++)
            keys[i] = narrow[i] & (int64_t)low_bits(place_bits);
        return keys;
    }
    if (bits + place_bits <= 63) {
        for (int64_t i = 0; i < n; i++)
            keys[i] = keys[i] << place_bits | i;
        sort_words(n, keys, words, place_bits, bits);
        for (int64_t i = 0; i < n; i++)
            keys[i] &= (int64_t)low_bits(place_bits);
        return keys;
    }
    for (int64_t i = 0; i < n; i++)
        words[i] = i;
    refine(n, keys, words, words + n, bits, place_bits);
    return words;
}

/* --- the first k -------------------------------------------------------------------------------------------------- */
enum { TOP_SPARE = 1024, TOP_STEP = 256 };

typedef struct {
    int64_t k, room, count;
    int bounded;                /* whether keys from the limit on are out already */
    int64_t limit;
    int64_t *keys, *places;     /* room of each, by place */
    int64_t *copy, *spare;
} top_candidates;

/* Keeps the k smallest keys, of equal ones the first. */
static void keep_best(top_candidates *top)
{
    int64_t below = 0, equal, kept = 0;
    if (top->count <= top->k)
        return;
    memcpy(top->copy, top->keys, (size_t)top->count * sizeof(int64_t));
    top->bounded = 1;
    top->limit = keys_64_select(top->count, top->copy, top->spare, top->k - 1);
    for (int64_t i = 0; i < top->count; i++)
        below += top->keys[i] < top->limit;
    equal = top->k - below;
    for (int64_t i = 0; i < top->count; i++) {
        const int keep = top->keys[i] < top->limit || (top->keys[i] == top->limit && equal-- > 0);
        top->keys[kept] = top->keys[i];
        top->places[kept] = top->places[i];
        kept += keep;
    }
    top->count = top->k;
}

static void consider(top_candidates *top, int64_t n, const int64_t *keys, int64_t place)
{
    int any = !top->bounded;
    for (int64_t i = 0; top->bounded && i < n; i++)
        any |= keys[i] < top->limit;
    for (int64_t i = 0; any && i < n; i++) {
        top->keys[top->count] = keys[i];
        top->places[top->count] = place + i;
        top->count += !top->bounded || keys[i] < top->limit;
    }
}

static int64_t *top_keys(int64_t n, int64_t k, const char *x, int64_t sx, int64_t turn, td_order_loop order,
                         int64_t *scratch)
{
    const int64_t room = td_top_room(k);
    top_candidates top = {k, room, 0, 0, 0, scratch, scratch + room, scratch + 2 * room, scratch + 3 * room};
    int64_t block[TOP_STEP], *places;
    for (int64_t i = 0, length; i < n; i += length) {
        if (top.count + TOP_STEP > room)
            keep_best(&top);
        length = n - i < TOP_STEP ? n - i : TOP_STEP;
        order(length, x + i * sx, sx, turn, block);
        consider(&top, length, block, i);
    }
    keep_best(&top);
    places = order_keys(k, memcpy(top.copy, top.keys, (size_t)k * sizeof(int64_t)));
    for (int64_t i = 0; i < k; i++)
        top.keys[i] = top.places[places[i]];
    return top.keys;
}
