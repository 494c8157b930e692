// Every query of a prompt against all keys, or all that do not come after it, in tiles: FlashAttention-2 (arXiv 2307.08691).
//
// A block keeps 128 queries and walks over the keys and values, KEYS at a time: the next ones come into the other half
// of shared memory while these are multiplied. A warp has 32 of the queries, so that a value read from shared memory is
// multiplied twice: with 16, shared memory would be the limit and not the tensor cores. Scores and weights never leave
// registers, since the sums of one product lie as the next one wants its operand. Sums are rescaled only when a greater
// score turned up. In a causal tile the blocks with the most keys come first.
//
// Rows lie in shared memory with their 16-byte vectors exchanged by the lowest bits of the row's number, so that eight
// rows of one column are in different banks.

namespace attention {

constexpr int ROWS = 128, ROWS_OF_A_WARP = 32, STRIPES = 2;  // stripes of 16 rows, one instruction's, to a warp
constexpr int THREADS = ROWS / ROWS_OF_A_WARP * 32;

__device__ __forceinline__ unsigned place(unsigned base, unsigned row, unsigned vector) {
    return base + row * (WIDTH * 2) + ((vector ^ row % 8) * 16);
}

// COUNT rows from `first` on into shared memory; those from `end` on as zeros, of which nothing is read.
template <int COUNT>
__device__ __forceinline__ void fetch(unsigned base, const uint4* rows, unsigned first, unsigned end) {
    constexpr unsigned AT_ONCE = THREADS / VECTORS;
    static_assert(AT_ONCE % 8 == 0, "a thread's rows have their vectors in the same place");
    const unsigned row = threadIdx.x / VECTORS, vector = threadIdx.x % VECTORS, to = place(base, row, vector);
    const uint4* from = rows + u64(first + row) * VECTORS + vector;
#pragma unroll
    for (unsigned i = 0; i < COUNT; i += AT_ONCE)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + i * (WIDTH * 2)), "l"(from + i * VECTORS),
                     "r"(first + row + i < end ? 16 : 0) : "memory");
}

__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

__device__ __forceinline__ void arrive() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

__device__ __forceinline__ void four(unsigned (&r)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void four_turned(unsigned (&r)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// Scores of a warp's queries with the keys of a tile.
template <int KEYS>
__device__ __forceinline__ void score(float (&s)[STRIPES][KEYS / 8][4], unsigned queries, unsigned keys) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int m = 0; m < STRIPES; ++m)
#pragma unroll
        for (int t = 0; t < KEYS / 8; ++t)
#pragma unroll
            for (int e = 0; e < 4; ++e) s[m][t][e] = 0.0f;
#pragma unroll
    for (int c = 0; c < WIDTH / 16; ++c) {
        unsigned q[STRIPES][4];
#pragma unroll
        for (int m = 0; m < STRIPES; ++m) four(q[m], place(queries, warp * ROWS_OF_A_WARP + 16 * m + lane % 16, 2 * c + lane / 16));
#pragma unroll
        for (int t = 0; t < KEYS / 16; ++t) {
            unsigned k[4];
            four(k, place(keys, 16 * t + lane / 16 * 8 + lane % 8, 2 * c + lane / 8 % 2));
#pragma unroll
            for (int m = 0; m < STRIPES; ++m) {
                mma(s[m][2 * t], q[m], k[0], k[1]);
                mma(s[m][2 * t + 1], q[m], k[2], k[3]);
            }
        }
    }
}

// Takes out the keys from `end` on and, in a causal tile, those that come after their query.
template <int KEYS, bool CAUSAL>
__device__ __forceinline__ void mask(float (&s)[STRIPES][KEYS / 8][4], unsigned first_row, unsigned first_key, unsigned end) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < STRIPES; ++m)
#pragma unroll
        for (int t = 0; t < KEYS / 8; ++t)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const unsigned row = first_row + 16 * m + lane / 4 + e / 2 * 8, key = first_key + 8 * t + lane % 4 * 2 + e % 2;
                if (key >= end || (CAUSAL && key > row)) s[m][t][e] = minus_infinity();
            }
}

// The queries of a warp: their greatest scores so far, what the weights of this lane add up to, and weighted values.
struct Queries {
    float greatest[STRIPES][2], weights[STRIPES][2];
    float sums[STRIPES][WIDTH / 8][4];
};

__device__ __forceinline__ void rescale(Queries& of, const float (&less)[STRIPES][2]) {
#pragma unroll
    for (int m = 0; m < STRIPES; ++m)
#pragma unroll
        for (int t = 0; t < WIDTH / 8; ++t)
#pragma unroll
            for (int e = 0; e < 4; ++e) of.sums[m][t][e] *= less[m][e / 2];
}

// Turns scores into weights, half of each kind of row at a time.
template <int KEYS>
__device__ __forceinline__ void weigh(Queries& of, float (&s)[STRIPES][KEYS / 8][4]) {
    float less[STRIPES][2];
    bool greater = false;
#pragma unroll
    for (int m = 0; m < STRIPES; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float most = minus_infinity();
#pragma unroll
            for (int t = 0; t < KEYS / 8; ++t) most = fmaxf(most, fmaxf(s[m][t][2 * h], s[m][t][2 * h + 1]));
            most = fmaxf(of.greatest[m][h], greatest_of_four(most) * SCALE);
            less[m][h] = power(of.greatest[m][h] - most);
            greater |= most > of.greatest[m][h];
            of.greatest[m][h] = most;
            float more = 0.0f;
#pragma unroll
            for (int t = 0; t < KEYS / 8; ++t)
#pragma unroll
                for (int e = 2 * h; e < 2 * h + 2; ++e) {
                    s[m][t][e] = power(fmaf(s[m][t][e], SCALE, -most));
                    more += s[m][t][e];
                }
            of.weights[m][h] = fmaf(of.weights[m][h], less[m][h], more);
        }
    if (__any_sync(~0u, greater)) rescale(of, less);
}

template <int KEYS>
__device__ __forceinline__ void add(Queries& to, const float (&s)[STRIPES][KEYS / 8][4], unsigned values) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < KEYS / 16; ++c) {
        unsigned p[STRIPES][4];
#pragma unroll
        for (int m = 0; m < STRIPES; ++m)
#pragma unroll
            for (int i = 0; i < 4; ++i) p[m][i] = halves(s[m][2 * c + i / 2][i % 2 * 2], s[m][2 * c + i / 2][i % 2 * 2 + 1]);
#pragma unroll
        for (int t = 0; t < WIDTH / 16; ++t) {
            unsigned v[4];
            four_turned(v, place(values, 16 * c + lane % 16, 2 * t + lane / 16));
#pragma unroll
            for (int m = 0; m < STRIPES; ++m) {
                mma(to.sums[m][2 * t], p[m], v[0], v[1]);
                mma(to.sums[m][2 * t + 1], p[m], v[2], v[3]);
            }
        }
    }
}

__device__ __forceinline__ void store(unsigned* out, const Queries& of, unsigned first_row, unsigned length) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < STRIPES; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const unsigned row = first_row + 16 * m + 8 * h + lane / 4;
            const float share = 1.0f / sum_of_four(of.weights[m][h]);
            if (row < length)
#pragma unroll
                for (int t = 0; t < WIDTH / 8; ++t)
                    out[u64(row) * (WIDTH / 2) + 4 * t + lane % 4] = halves(of.sums[m][t][2 * h] * share, of.sums[m][t][2 * h + 1] * share);
        }
}

template <int LENGTH, int KEYS, bool CAUSAL>
__global__ void __launch_bounds__(THREADS, 2)
    prefill(const uint4* q, const uint4* k, const uint4* v, unsigned* out, u64 n, unsigned, float, float) {
    extern __shared__ unsigned char memory[];
    constexpr unsigned TILES = LENGTH / ROWS, TILE_BYTES = KEYS * WIDTH * 2;
    const u64 start = u64(blockIdx.x) / TILES * LENGTH, rows = n / WIDTH;
    const unsigned length = start >= rows ? 0 : rows - start < LENGTH ? rows - start : LENGTH;
    const unsigned tiles = (length + ROWS - 1) / ROWS, turn = blockIdx.x % TILES;
    if (turn >= tiles) return;
    const unsigned first = (tiles - 1 - turn) * ROWS, first_row = first + threadIdx.x / 32 * ROWS_OF_A_WARP;
    const unsigned end = CAUSAL && first + ROWS < length ? first + ROWS : length;
    const unsigned queries = __cvta_generic_to_shared(memory), keys = queries + ROWS * WIDTH * 2, values = keys + 2 * TILE_BYTES;
    q += start * VECTORS, k += start * VECTORS, v += start * VECTORS, out += start * (WIDTH / 2);
    fetch<ROWS>(queries, q, first, length);
    fetch<KEYS>(keys, k, 0, end);
    fetch<KEYS>(values, v, 0, end);
    commit();
    Queries mine;
#pragma unroll
    for (int m = 0; m < STRIPES; ++m) {
        mine.greatest[m][0] = mine.greatest[m][1] = minus_infinity();
        mine.weights[m][0] = mine.weights[m][1] = 0.0f;
#pragma unroll
        for (int t = 0; t < WIDTH / 8; ++t)
#pragma unroll
            for (int e = 0; e < 4; ++e) mine.sums[m][t][e] = 0.0f;
    }
#pragma unroll 1
    for (unsigned key = 0, half = 0; key < end; key += KEYS, half ^= TILE_BYTES) {
        arrive();
        __syncthreads();  // everyone's part is there, and nobody reads the other half any more
        if (key + KEYS < end) {
            fetch<KEYS>(keys + (half ^ TILE_BYTES), k, key + KEYS, end);
            fetch<KEYS>(values + (half ^ TILE_BYTES), v, key + KEYS, end);
            commit();
        }
        if (CAUSAL && key > first_row + ROWS_OF_A_WARP - 1) continue;
        float s[STRIPES][KEYS / 8][4];
        score<KEYS>(s, queries, keys + half);
        if (key + KEYS > end || (CAUSAL && key + KEYS > first_row + 1)) mask<KEYS, CAUSAL>(s, first_row, key, end);
        weigh<KEYS>(mine, s);
        add<KEYS>(mine, s, values + half);
    }
    store(out, mine, first_row, length);
}

}  // namespace attention
