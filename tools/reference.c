// What a person writes by hand for the same machine: intrinsics, pinned threads, one share of the arrays each.
//
// It is the yardstick of compare_with_c.py, so it is written for speed and compiled with -O3 -march=native: the widest
// vectors, 2, 4, 8 or 12 of them in flight, lines asked for ahead or not, non-temporal stores where asked for. Threads
// are pinned like the workers they are compared with and are handed the same arrays; time goes from the first thread's
// start to the last one's end. Between calls no thread of it exists.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 16
typedef __m512 vec;
static inline vec load(const float* p) { return _mm512_load_ps(p); }
static inline vec splat(float v) { return _mm512_set1_ps(v); }
static inline vec fma_(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec add(vec a, vec b) { return _mm512_add_ps(a, b); }
static inline void store(float* p, vec v) { _mm512_store_ps(p, v); }
static inline void stream(float* p, vec v) { _mm512_stream_ps(p, v); }
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define LANES 8
typedef __m256 vec;
static inline vec load(const float* p) { return _mm256_load_ps(p); }
static inline vec splat(float v) { return _mm256_set1_ps(v); }
static inline vec fma_(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec add(vec a, vec b) { return _mm256_add_ps(a, b); }
static inline void store(float* p, vec v) { _mm256_store_ps(p, v); }
static inline void stream(float* p, vec v) { _mm256_stream_ps(p, v); }
#elif defined(__aarch64__)
#include <arm_neon.h>
#define LANES 4
typedef float32x4_t vec;
static inline vec load(const float* p) { return vld1q_f32(p); }
static inline vec splat(float v) { return vdupq_n_f32(v); }
static inline vec fma_(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
static inline vec add(vec a, vec b) { return vaddq_f32(a, b); }
static inline void store(float* p, vec v) { vst1q_f32(p, v); }
// GCC has no intrinsic for it: the vector's halves, stored as a pair.
static inline void stream(float* p, vec v) {
    __asm__ volatile("stnp %d1, %d2, [%0]" ::"r"(p), "w"(vget_low_f32(v)), "w"(vget_high_f32(v)) : "memory");
}
#else
#error "the reference is written for AVX-512, AVX2 with FMA, and AArch64"
#endif

#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#define DRAIN() __builtin_ia32_sfence()
#else
#define PAUSE() __asm__ volatile("yield")
#define DRAIN() __asm__ volatile("dmb ish" ::: "memory")
#endif

#define INLINE static inline __attribute__((always_inline))
#define THREADS_MAX 1024

// `steps` FMAs on each of `count` vectors at a time; 0 steps copies. All but the span are constants where it is used.
INLINE void sweep(const float* x, float* y, int64_t low, int64_t high, int steps, int count, int ahead, int streaming) {
    const vec a = splat(0.5f), b = splat(0.5f);
    __asm__ volatile("" ::: "memory");
    for (int64_t i = low; i < high; i += count * LANES) {
        vec v[12];
        if (ahead) {
#pragma GCC unroll 12
            for (int line = 0; line < count * LANES; line += 16)
                __builtin_prefetch((const char*)(x + i + line) + ahead, 0, 3);
        }
#pragma GCC unroll 12
        for (int k = 0; k < count; ++k) v[k] = load(x + i + k * LANES);
        int left = steps;
        for (; left >= 8; left -= 8) {
#pragma GCC unroll 8
            for (int s = 0; s < 8; ++s) {
#pragma GCC unroll 12
                for (int k = 0; k < count; ++k) v[k] = fma_(a, b, v[k]);
            }
        }
        for (; left > 0; --left) {
#pragma GCC unroll 12
            for (int k = 0; k < count; ++k) v[k] = fma_(a, b, v[k]);
        }
#pragma GCC unroll 12
        for (int k = 0; k < count; ++k) {
            if (streaming) stream(y + i + k * LANES, v[k]);
            else store(y + i + k * LANES, v[k]);
        }
    }
    if (streaming) DRAIN();
}

// The points of the dial that are compared get code of their own, with the steps a constant.
#define POINT(F, U, A, S) \
    if (steps == F && count == U && ahead == A && streaming == S) return sweep(x, y, low, high, F, U, A, S);
#define STORES(F, U, A) POINT(F, U, A, 0) POINT(F, U, A, 1)
#define AHEAD(F, U) STORES(F, U, 0) STORES(F, U, 2048) STORES(F, U, 4096)
#define BLOCKS(F) AHEAD(F, 2) AHEAD(F, 4) AHEAD(F, 8) AHEAD(F, 12)

static void dispatch(const float* x, float* y, int64_t low, int64_t high, int steps, int count, int ahead,
                     int streaming) {
    BLOCKS(0) BLOCKS(1) BLOCKS(16) BLOCKS(32) BLOCKS(2048)
}

// The sum of `passes` passes over a span, one accumulator for each of `count` vectors, left at the start of y.
INLINE void read_span(const float* x, float* y, int64_t low, int64_t high, int passes, int count, int ahead) {
    vec total[12];
#pragma GCC unroll 12
    for (int k = 0; k < count; ++k) total[k] = splat(0.0f);
    for (int pass = 0; pass < passes; ++pass) {
        __asm__ volatile("" ::: "memory");
        for (int64_t i = low; i < high; i += count * LANES) {
            if (ahead) {
#pragma GCC unroll 12
                for (int line = 0; line < count * LANES; line += 16)
                    __builtin_prefetch((const char*)(x + i + line) + ahead, 0, 3);
            }
#pragma GCC unroll 12
            for (int k = 0; k < count; ++k) total[k] = add(total[k], load(x + i + k * LANES));
        }
    }
#pragma GCC unroll 12
    for (int k = 1; k < count; ++k) total[0] = add(total[0], total[k]);
    store(y + low, total[0]);
}

#define READ(U, A) \
    if (count == U && ahead == A) return read_span(x, y, low, high, passes, U, A);
#define READS(A) READ(2, A) READ(4, A) READ(8, A) READ(12, A)

static void dispatch_read(const float* x, float* y, int64_t low, int64_t high, int passes, int count, int ahead) {
    READS(0) READS(2048) READS(4096)
}

typedef struct {
    const float* x;
    float* y;
    int64_t low, high;
    int steps, count, ahead, streaming, passes, core;
    atomic_int* arrived;
    int threads;
    double started, ended;
} share;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void* work(void* argument) {
    share* s = argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(s->core, &set);
    sched_setaffinity(0, sizeof set, &set);
    atomic_fetch_add(s->arrived, 1);
    while (atomic_load(s->arrived) < s->threads) PAUSE();
    s->started = now();
    if (s->passes) dispatch_read(s->x, s->y, s->low, s->high, s->passes, s->count, s->ahead);
    else dispatch(s->x, s->y, s->low, s->high, s->steps, s->count, s->ahead, s->streaming);
    s->ended = now();
    return 0;
}

int reference_lanes(void) { return LANES; }

// Seconds of one pass over n elements (a multiple of the block) with one thread on each of the cores; negative on failure.
// With `passes` it only reads, so many times over.
double reference_run(const float* x, float* y, int64_t n, int steps, int count, int ahead, int streaming, int passes,
                     const int* cores, int threads) {
    static share shares[THREADS_MAX];
    static pthread_t ids[THREADS_MAX];
    atomic_int arrived = 0;
    const int64_t blocks = n / (count * LANES);
    if (threads < 1 || threads > THREADS_MAX) return -1;
    for (int k = 0; k < threads; ++k) {
        const int64_t low = blocks * k / threads, high = blocks * (k + 1) / threads;
        shares[k] = (share){.x = x, .y = y, .low = low * count * LANES, .high = high * count * LANES};
        shares[k].steps = steps;
        shares[k].count = count;
        shares[k].ahead = ahead;
        shares[k].streaming = streaming;
        shares[k].passes = passes;
        shares[k].core = cores[k];
        shares[k].arrived = &arrived;
        shares[k].threads = threads;
    }
    for (int k = 0; k < threads; ++k)
        if (pthread_create(&ids[k], 0, work, &shares[k])) return -1;
    double first = 1e300, last = 0;
    for (int k = 0; k < threads; ++k) {
        pthread_join(ids[k], 0);
        if (shares[k].started < first) first = shares[k].started;
        if (shares[k].ended > last) last = shares[k].ended;
    }
    return last - first;
}
