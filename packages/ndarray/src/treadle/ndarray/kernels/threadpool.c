/* All coordination is one word: | generation, 16 bits | open, 1 bit | joined, 15 bits |.
 *
 * The caller fills in the job, then publishes the next generation with `open` set. A worker that sees it joins by
 * raising `joined` (only while `open`), takes blocks from the shared counter until there are none, and leaves. The
 * caller takes blocks too; when none are left it clears `open` and waits only for the workers that joined. Late
 * ones find the job closed and it is as if they did not exist.
 *
 * Workers spin for SPIN_NS after a job, since jobs come in rows, then sleep on the word. The system likes to
 * wake a thread on the processor of its waker, where both would share a core: such a worker moves off.
 *
 * A worker whose core is taken by another process while it holds a block is all that a caller can wait long for. When
 * that happens the pool rests: callers work alone for REST_NS, and twice as long each time it happens again. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "threadpool.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define GENERATION(word) ((word) >> 16)
#define OPEN ((uint32_t)1 << 15)
#define JOINED(word) ((word) & (OPEN - 1))
#define SPIN_NS 50000
#define REST_NS 10000000
#define MOST_RESTS 5 /* doublings */
#define MOST_THREADS 256
#define FEW_BLOCKS 2 /* for each thread */

typedef struct {
    void (*body)(void *context, int64_t block);
    void *context;
    int64_t blocks;
    int backwards;
    int processor; /* the caller's */
} job;

static job current;
static _Alignas(64) _Atomic uint32_t word;
static _Alignas(64) _Atomic int64_t next_block;
static _Alignas(64) _Atomic int busy;     /* a caller owns the pool */
static _Atomic int sleepers;              /* workers that sleep on the word */
static _Atomic int caller_sleeps;
static _Atomic int wanted;                /* threads, the caller included; 0: not asked for yet */
static int started;                       /* workers; this and the next two: touched by the pool's owner only */
static int rests;                         /* in a row */
static int64_t rest_until;
static _Thread_local int inside;
static _Thread_local int backwards; /* the last job of this thread was */

/* --- waiting ---------------------------------------------------------------------------------------------------- */
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>

static void sleep_while(uint32_t seen)
{
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void wake(int count)
{
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static int processor(void)
{
    return sched_getcpu();
}

static int allowed_processors(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        return CPU_COUNT(&allowed);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void move_off(int taken)
{
    cpu_set_t allowed, others;
    if (taken < 0 || taken >= CPU_SETSIZE || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    others = allowed;
    CPU_CLR(taken, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof(others), &others) == 0)
        sched_setaffinity(0, sizeof(allowed), &allowed);
}
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void sleep_while(uint32_t seen)
{
    pthread_mutex_lock(&mutex);
    while (atomic_load(&word) == seen)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void wake(int count)
{
    (void)count;
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static int processor(void)
{
    return -1;
}

static int allowed_processors(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void move_off(int taken)
{
    (void)taken;
}
#endif

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Spins until the word fulfils `done` or SPIN_NS are over; returns the word as last seen. */
static inline uint32_t spin_until(int (*done)(uint32_t, uint32_t), uint32_t argument)
{
    uint32_t seen = atomic_load(&word);
    const int64_t end = now_ns() + SPIN_NS;
    while (!done(seen, argument)) {
        for (int pause = 0; pause < 16 && !done(seen, argument); pause++) {
            relax();
            seen = atomic_load(&word);
        }
        if (now_ns() > end)
            break;
    }
    return seen;
}

static int is_other_generation(uint32_t seen, uint32_t generation)
{
    return GENERATION(seen) != generation;
}

static int is_left_by_all(uint32_t seen, uint32_t unused)
{
    (void)unused;
    return JOINED(seen) == 0;
}

/* --- workers ---------------------------------------------------------------------------------------------------- */
static inline void run_block(const job *work, int64_t turn)
{
    work->body(work->context, work->backwards ? work->blocks - 1 - turn : turn);
}

static void take_blocks(const job *work)
{
    for (;;) {
        const int64_t turn = atomic_fetch_add(&next_block, 1);
        if (turn >= work->blocks)
            return;
        run_block(work, turn);
    }
}

static void wait_for_generation_after(uint32_t generation)
{
    uint32_t seen = spin_until(is_other_generation, generation);
    while (!is_other_generation(seen, generation)) {
        atomic_fetch_add(&sleepers, 1);
        sleep_while(seen);
        atomic_fetch_sub(&sleepers, 1);
        seen = atomic_load(&word);
    }
}

static void join_and_work(int index)
{
    uint32_t seen = atomic_load(&word);
    do {
        if (!(seen & OPEN) || index + 1 >= atomic_load(&wanted))
            return;
    } while (!atomic_compare_exchange_weak(&word, &seen, seen + 1));
    if (processor() == current.processor)
        move_off(current.processor);
    take_blocks(&current);
    seen = atomic_fetch_sub(&word, 1) - 1;
    if (JOINED(seen) == 0 && !(seen & OPEN) && atomic_load(&caller_sleeps))
        wake(INT_MAX);
}

static void *worker(void *index)
{
    uint32_t generation = GENERATION(atomic_load(&word)) - 1; /* the job that it was started for is still ahead */
    inside = 1;
    for (;;) {
        wait_for_generation_after(generation & 0xffff);
        generation = GENERATION(atomic_load(&word));
        join_and_work((int)(intptr_t)index);
    }
    return NULL;
}

/* Threads do not survive a fork: the child begins anew. */
static void forget_workers(void)
{
    started = 0;
    atomic_store(&word, 0);
    atomic_store(&sleepers, 0);
    atomic_store(&caller_sleeps, 0);
    atomic_store(&busy, 0);
}

static void start_workers(int count)
{
    static int prepared; /* survives a fork, as the handler does */
    sigset_t all, before;
    pthread_attr_t attributes;
    if (!prepared)
        prepared = pthread_atfork(NULL, NULL, forget_workers) == 0;
    if (!prepared || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads that were there before */
    while (started < count) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, worker, (void *)(intptr_t)started) != 0)
            break;
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* --- the caller ------------------------------------------------------------------------------------------------- */
int td_get_num_threads(void)
{
    int threads = atomic_load(&wanted);
    if (threads == 0) {
        const char *text = getenv("TREADLE_NUM_THREADS");
        threads = text != NULL ? atoi(text) : 0;
        if (threads < 1)
            threads = allowed_processors();
        threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
        atomic_store(&wanted, threads);
    }
    return threads;
}

void td_set_num_threads(int threads)
{
    atomic_store(&wanted, threads < 1 ? 0 : threads > MOST_THREADS ? MOST_THREADS : threads);
}

static void close_and_wait(void)
{
    atomic_fetch_and(&word, ~OPEN);
    uint32_t seen = spin_until(is_left_by_all, 0);
    while (!is_left_by_all(seen, 0)) {
        atomic_store(&caller_sleeps, 1);
        seen = atomic_load(&word);
        if (!is_left_by_all(seen, 0))
            sleep_while(seen);
        seen = atomic_load(&word);
    }
    atomic_store(&caller_sleeps, 0);
}

/* Whether the wait for the workers was out of proportion: blocks are small parts of a job. */
static void judge(int64_t begin, int64_t worked, int64_t end)
{
    if (end - worked > SPIN_NS + (worked - begin) / 2) {
        rest_until = end + ((int64_t)REST_NS << rests);
        rests = rests < MOST_RESTS ? rests + 1 : rests;
    } else {
        rests = 0;
    }
}

static void work_alone(const job *work)
{
    for (int64_t turn = 0; turn < work->blocks; turn++)
        run_block(work, turn);
}

static void share(const job *work, int threads, int64_t begin)
{
    if (started < threads - 1)
        start_workers(threads - 1);
    current = *work;
    current.processor = processor();
    atomic_store(&next_block, 0);
    atomic_store(&word, ((GENERATION(atomic_load(&word)) + 1) << 16) | OPEN);
    if (atomic_load(&sleepers) > 0)
        wake(started >= threads ? INT_MAX : work->blocks < threads ? (int)work->blocks - 1 : threads - 1);
    take_blocks(&current);
    const int64_t worked = now_ns();
    close_and_wait();
    judge(begin, worked, now_ns());
}

void td_parallel_for(int64_t blocks, void (*body)(void *context, int64_t block), void *context)
{
    const int threads = td_get_num_threads();
    const int turns = blocks > FEW_BLOCKS * threads; /* few: a thread had better find what it left in its own cache */
    const job work = {body, context, blocks, turns && (backwards = !backwards), -1};
    if (blocks < 2 || threads < 2 || inside || atomic_exchange(&busy, 1)) {
        work_alone(&work);
        return;
    }
    const int64_t begin = now_ns();
    inside = 1;
    if (begin < rest_until)
        work_alone(&work);
    else
        share(&work, threads, begin);
    inside = 0;
    atomic_store(&busy, 0);
}
