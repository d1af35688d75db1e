/* Places in sorted lines, and groups of equal elements of them. NaN stands behind all numbers. */

/* STEPS_AT_ONCE binary searches side by side, so that their loads overlap; `before(element, value)` holds for the
 * elements that stand before the place of a value. */
enum { STEPS_AT_ONCE = 16 };
#define DEFINE_SEARCH(sfx, T, ...) \
    static inline void search_by_##sfx(int64_t n, const T *sorted, int64_t m, const T *x, int right, int64_t *out) \
    { \
        for (int64_t begin = 0, count; begin < m; begin += count) { \
            count = m - begin < STEPS_AT_ONCE ? m - begin : STEPS_AT_ONCE; \
            T values[STEPS_AT_ONCE]; \
            int64_t at[STEPS_AT_ONCE] = {0}; \
            for (int j = 0; j < STEPS_AT_ONCE; j++) \
                values[j] = x[begin + (j < count ? j : 0)]; \
            for (int64_t length = n; length > 1; length -= length / 2) \
                for (int j = 0; j < STEPS_AT_ONCE; j++) { \
                    const T element = sorted[at[j] + length / 2 - 1]; \
                    at[j] += (right ? element <= values[j] : element < values[j]) ? length / 2 : 0; \
                } \
            for (int64_t j = 0; j < count; j++) \
                out[begin + j] = at[j] + (n > 0 && (right ? sorted[at[j]] <= values[j] : sorted[at[j]] < values[j])); \
        } \
    } \
    static void search_##sfx(int64_t n, const char *sorted, int64_t m, const char *x, int right, int64_t *out) \
    { \
        const T *elements = (const T *)sorted, *values = (const T *)x; \
        int64_t numbers = n; \
        while (numbers > 0 && elements[numbers - 1] != elements[numbers - 1]) \
            numbers--; \
        if (right) \
            search_by_##sfx(n, elements, m, values, 1, out); \
        else \
            search_by_##sfx(n, elements, m, values, 0, out); \
        for (int64_t i = 0; (T)0.5 != 0 && i < m; i++) \
            out[i] = values[i] == values[i] ? out[i] : right ? n : numbers; \
    }
TD_TYPES_ALL(DEFINE_SEARCH, )

/* Where each group of equal elements starts; returns how many there are. NaNs are groups of their own. With places, the
 * group of the element that each sorted one was is written, too. */
#define DEFINE_GROUPS(sfx, T, ...) \
    static int64_t groups_##sfx(int64_t n, const char *sorted, const int64_t *places, int64_t *starts, \
                                int64_t *inverse) \
    { \
        const T *x = (const T *)sorted; \
        int64_t count = 0; \
        for (int64_t i = 0; i < n; i++) { \
            starts[count] = i; \
            count += i == 0 || x[i] != x[i - 1]; \
            if (places) \
                inverse[places[i]] = count - 1; \
        } \
        return count; \
    }
TD_TYPES_ALL(DEFINE_GROUPS, )
