/* A segment is a mapping; its chunks follow each other from its header to `top`, behind which nothing has been touched.
 * A chunk begins with a header that knows the sizes of itself and of the one below: both neighbours of a chunk that is
 * freed are found at once, and become one with it if they are free (Knuth, The Art of Computer Programming 1, 2.5,
 * algorithm of the boundary tags).
 *
 * Free chunks hang in lists by size, eight to an octave. A request takes the closest one of its own list, else the first
 * of the next list that has one, and leaves the rest of it. Where there is none, a segment grows from its last chunk if
 * that is free: the least that has to be touched anew.
 *
 * Large blocks begin at different places in their pages: arrays that are walked together at one distance from a page's
 * start get into each other's way, an eighth of the time of a sum of two. */
#include "heap.h"

#include <stddef.h>
#include <sys/mman.h>

#define HEADER 64
#define HUGE_PAGE ((int64_t)2 << 20)
#define PAGE ((int64_t)1 << 16) /* as large as they come: what is given back begins and ends with whole ones */
#define SEGMENT ((int64_t)64 << 20)
#define COLOURED_FROM ((int64_t)1 << 20)
#define COLOUR ((int64_t)2560) /* bytes, modulo a page of 4096: eight places */
#define LEAST_REST ((int64_t)4 << 10) /* less than that stays with the chunk */
#define OCTAVES 50
#define STEPS 8
#define LOOKS 32 /* at chunks of the request's own list */

typedef struct segment {
    struct segment *next;
    int64_t size, first, top; /* bytes from the segment's address on */
    struct chunk *last;
} segment;

typedef struct chunk {
    int64_t size, below; /* of this one and the one before it, headers included; below is 0 for the first */
    segment *home;
    struct chunk *next, *previous; /* of its list */
    int is_free, is_clean;         /* clean: its pages have been given back */
} chunk;

_Static_assert(sizeof(chunk) <= HEADER && sizeof(segment) <= HEADER, "headers keep blocks aligned");

static segment *segments;
static chunk *lists[OCTAVES * STEPS];
static int64_t cached;

static chunk *first_of(segment *home) { return (chunk *)((char *)home + home->first); }

static chunk *above(chunk *one) { return one == one->home->last ? NULL : (chunk *)((char *)one + one->size); }

/* --- lists of free chunks --------------------------------------------------------------------------------------- */
static int list_of(int64_t size)
{
    const int octave = 63 - __builtin_clzll((uint64_t)size);
    return octave * STEPS + (int)((size >> (octave - 3)) & (STEPS - 1));
}

static void hang(chunk *one)
{
    chunk **list = &lists[list_of(one->size)];
    one->is_free = 1;
    one->previous = NULL;
    one->next = *list;
    if (*list)
        (*list)->previous = one;
    *list = one;
    cached += one->is_clean ? 0 : one->size;
}

static void unhang(chunk *one)
{
    if (one->previous)
        one->previous->next = one->next;
    else
        lists[list_of(one->size)] = one->next;
    if (one->next)
        one->next->previous = one->previous;
    one->is_free = 0;
    cached -= one->is_clean ? 0 : one->size;
}

static chunk *find(int64_t size)
{
    int list = list_of(size), looks = LOOKS;
    chunk *best = NULL;
    for (chunk *one = lists[list]; one && looks; one = one->next, looks--)
        if (one->size >= size && (!best || one->size < best->size))
            best = one;
    while (!best && ++list < OCTAVES * STEPS)
        best = lists[list];
    return best;
}

/* --- segments --------------------------------------------------------------------------------------------------- */
static segment *map(int64_t size)
{
    /* Larger by a huge page, whose parts outside of the aligned segment go back. */
    char *memory = mmap(NULL, (size_t)(size + HUGE_PAGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    const int64_t before = (HUGE_PAGE - (int64_t)((uintptr_t)memory & (uintptr_t)(HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
    if (before)
        munmap(memory, (size_t)before);
    munmap(memory + before + size, (size_t)(HUGE_PAGE - before));
    segment *made = (segment *)(memory + before);
#ifdef MADV_HUGEPAGE
    madvise(made, (size_t)size, MADV_HUGEPAGE);
#endif
    static int64_t colour;
    colour = (colour + COLOUR) % 4096;
    *made = (segment){segments, size, HEADER + colour, HEADER + colour, NULL};
    return segments = made;
}

static segment *map_for(int64_t size)
{
    const int64_t least = (size + HEADER + 4096 + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    segment *made = least < SEGMENT / 2 ? map(SEGMENT) : NULL;
    return made ? made : map(least);
}

static void unmap(segment *home)
{
    segment **link = &segments;
    while (*link != home)
        link = &(*link)->next;
    *link = home->next;
    munmap(home, (size_t)home->size);
}

/* A segment's last chunk, made larger if it is free, or a new one behind it; NULL where there is no room. */
static chunk *grow(segment *home, int64_t size)
{
    chunk *last = home->last;
    const int extends = last && last->is_free;
    const int64_t more = extends ? size - last->size : size;
    if (home->top + more > home->size)
        return NULL;
    if (extends) {
        unhang(last);
    } else {
        chunk *made = (chunk *)((char *)home + home->top);
        *made = (chunk){.below = last ? last->size : 0, .home = home};
        home->last = last = made;
    }
    last->size = size;
    home->top += more;
    return last;
}

static chunk *take_fresh(int64_t size)
{
    chunk *taken = NULL;
    for (segment *home = segments; home && !taken; home = home->next)
        taken = grow(home, size);
    if (taken)
        return taken;
    segment *home = map_for(size);
    return home ? grow(home, size) : NULL;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */
static void leave_rest(chunk *one, int64_t size)
{
    if (one->size - size < LEAST_REST)
        return;
    chunk *rest = (chunk *)((char *)one + size), *next = above(one);
    *rest = (chunk){.size = one->size - size, .below = size, .home = one->home, .is_clean = one->is_clean};
    one->size = size;
    if (next)
        next->below = rest->size;
    else
        one->home->last = rest;
    hang(rest);
}

void *td_heap_allocate(int64_t nbytes)
{
    const int64_t size = (nbytes + HEADER + 63) / 64 * 64 + (nbytes >= COLOURED_FROM ? COLOUR : 0);
    chunk *taken = find(size);
    if (taken) {
        unhang(taken);
        leave_rest(taken, size);
    } else if (!(taken = take_fresh(size))) {
        return NULL;
    }
    taken->is_clean = 0;
    return (char *)taken + HEADER;
}

/* The chunk that two neighbours make, neither of them in a list. */
static chunk *join(chunk *low, chunk *high)
{
    chunk *next = above(high);
    low->size += high->size;
    low->is_clean = 0;
    if (next)
        next->below = low->size;
    else
        low->home->last = low;
    return low;
}

int64_t td_heap_cached(void) { return cached; }

/* Gives a free chunk's memory back: its segment, if it is all of that, else its whole pages. */
static void give_back(chunk *one)
{
    const uintptr_t start = ((uintptr_t)one + HEADER + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    const uintptr_t end = ((uintptr_t)one + (uintptr_t)one->size) & ~(uintptr_t)(PAGE - 1);
    unhang(one);
    if (one->below == 0 && one == one->home->last) {
        unmap(one->home);
        return;
    }
    one->is_clean = end <= start || madvise((void *)start, (size_t)(end - start), MADV_DONTNEED) == 0;
    hang(one);
}

void td_heap_release(void *block, int keeps)
{
    chunk *one = (chunk *)((char *)block - HEADER), *next = above(one);
    if (next && next->is_free) {
        unhang(next);
        one = join(one, next);
    }
    chunk *before = one->below ? (chunk *)((char *)one - one->below) : NULL;
    if (before && before->is_free) {
        unhang(before);
        one = join(before, one);
    }
    hang(one);
    if (!keeps)
        give_back(one);
}

void td_heap_trim(void)
{
    for (segment *home = segments, *next; home; home = next) {
        next = home->next;
        for (chunk *one = first_of(home), *higher; one; one = higher) {
            higher = above(one);
            if (one->is_free && (!one->is_clean || (one->below == 0 && !higher)))
                give_back(one);
        }
    }
}
