// Reads that one memory level serves: shared memory, and the first-level cache. (L2 and DRAM: footprint.cu.)
//
// A tile is read over and over by one block. Each thread reads the same W-float vectors of it in every pass, U of them in
// one trip of a loop that stays rolled: they lie a block of threads apart, so a warp reads 128 bytes and more in a row and
// no two of its lanes meet in a bank. Where a trip begins moves on from trip to trip, or a compiler would load the tile
// once. Everything read is added up, so that no load can be left out; 4 additions for 16 bytes cost a quarter of the time
// that shared memory needs for them.
//
// Tiles, `repeats` times each, are dealt out evenly over the blocks there are, neighbours to one block, so a tile is
// brought in once for hundreds of passes. The sum of what a block read is added to one element of the last array.

namespace levels {

using u64 = unsigned long long;

template <int W> struct vector;
template <> struct vector<1> { using type = float; };
template <> struct vector<2> { using type = float2; };
template <> struct vector<4> { using type = float4; };

__device__ __forceinline__ float sum(float v) { return v; }
__device__ __forceinline__ float sum(float2 v) { return v.x + v.y; }
__device__ __forceinline__ float sum(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// Adds what the threads of this block read to one of the first `n` elements of `y`.
template <int T>
__device__ __forceinline__ void deposit(float* y, u64 n, float mine) {
    __shared__ float warps[T / 32];
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_xor_sync(~0u, mine, lanes);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x > 0) return;
#pragma unroll 1
    for (int warp = 1; warp < T / 32; ++warp) mine += warps[warp];
    atomicAdd(y + blockIdx.x % n, mine);
}

// The share of `chunks` of this block: from `first` up to `end`.
struct Share {
    unsigned first, end;
    __device__ explicit Share(unsigned chunks) {
        const unsigned each = chunks / gridDim.x, more = chunks % gridDim.x;
        first = blockIdx.x * each + min(blockIdx.x, more);
        end = first + each + (blockIdx.x < more);
    }
};

struct Plain {
    template <class V> static __device__ __forceinline__ V load(const V* at) { return *at; }
};
struct ThroughL1 {
    template <class V> static __device__ __forceinline__ V load(const V* at) { return __ldca(at); }
};

// The sum of PASSES passes over a tile of SLOTS vectors a thread, of which `mine` is the first.
template <class Load, int PASSES, int SLOTS, int U, int T, class V>
__device__ __forceinline__ float passes(const V* mine) {
    static_assert(SLOTS % U == 0 && SLOTS > U && (SLOTS & (SLOTS - 1)) == 0, "a pass takes two trips or more");
    float total[U] = {};
    unsigned slot = 0;
#pragma unroll 1
    for (int trip = 0; trip < PASSES * (SLOTS / U); ++trip) {
        V v[U];
#pragma unroll
        for (int j = 0; j < U; ++j) v[j] = Load::load(mine + slot * T + j * T);
#pragma unroll
        for (int j = 0; j < U; ++j) total[j] += sum(v[j]);
        slot = (slot + U) % SLOTS;
    }
#pragma unroll
    for (int j = 1; j < U; ++j) total[0] += total[j];
    return total[0];
}

template <int W, int U, int T, int TILE, int PASSES>
__global__ void __launch_bounds__(T) shared(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned repeats, float, float) {
    using V = typename vector<W>::type;
    __shared__ V tile[TILE / W];
    const Share share(unsigned(n / TILE) * repeats);
    unsigned held = ~0u;
    float total = 0.0f;
#pragma unroll 1
    for (unsigned chunk = share.first; chunk < share.end; ++chunk) {
        if (chunk / repeats != held) {
            held = chunk / repeats;
            __syncthreads();
#pragma unroll 1
            for (int i = threadIdx.x; i < TILE / W; i += T) tile[i] = reinterpret_cast<const V*>(x)[held * (TILE / W) + i];
            __syncthreads();
        }
        total += passes<Plain, PASSES, TILE / (W * T), U, T>(tile + threadIdx.x);
    }
    deposit<T>(y, n, total);
}

template <int W, int U, int T, int TILE, int PASSES>
__global__ void __launch_bounds__(T) l1(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned repeats, float, float) {
    using V = typename vector<W>::type;
    const Share share(unsigned(n / TILE) * repeats);
    float total = 0.0f;
#pragma unroll 1
    for (unsigned chunk = share.first; chunk < share.end; ++chunk) {
        const V* tile = reinterpret_cast<const V*>(x) + chunk / repeats * (TILE / W);
        total += passes<ThroughL1, PASSES, TILE / (W * T), U, T>(tile + threadIdx.x);
    }
    deposit<T>(y, n, total);
}

// A set of any size, read pass after pass by all SMs together; loads pass the first-level caches by (.cg).
//
// In each wave every block reads one tile, neighbours reading neighbouring tiles, and the next wave reads the tiles after
// them: so each line is read once a pass. A block's place in its wave moves on from wave to wave. Else, for some sizes, each
// tile would always be read by the same few SMs; those far from the part of L2 that holds it would be slow for ever.
//
// SCATTERED tiles follow one another far apart in memory, so that a wave reads from as many pages as it has blocks.
//
// Of the array the last elements, RESULTS of them or half of a short one, are for sums and are not read: a second array for
// them would halve the largest set that fits a card.

constexpr u64 RESULTS = 4096;
constexpr u64 SCATTER = 2654435761;  // a prime beyond any number of tiles

template <int V, int T>
__device__ __forceinline__ float tile_sum(const float4* at) {
    float4 v[V];
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcg(at + j * T);
    float total = 0.0f;
#pragma unroll
    for (int j = 0; j < V; ++j) total += sum(v[j]);
    return total;
}

template <int V, int T, bool SCATTERED>
__global__ void __launch_bounds__(T) whole(float* x, u64 n, unsigned repeats, float, float) {
    const u64 results = min(RESULTS, (n + 1) / 2), read = n - results, tiles = read / (4 * V * T), chunks = tiles * repeats;
    const unsigned wave = gridDim.x;
    unsigned place = blockIdx.x;
    u64 first = 0;
    float total = 0.0f;
#pragma unroll 1
    for (u64 begun = 0; begun < chunks; begun += wave) {
        u64 tile = first + place;
        while (tile >= tiles) tile -= tiles;
        if (SCATTERED) tile = tile * SCATTER % tiles;
        if (begun + place < chunks) total += tile_sum<V, T>(reinterpret_cast<const float4*>(x) + tile * (V * T) + threadIdx.x);
        first += wave;
        while (first >= tiles) first -= tiles;
        place = place + 1 == wave ? 0 : place + 1;
    }
    if (blockIdx.x == 0)
#pragma unroll 1
        for (u64 i = tiles * (4 * V * T) + threadIdx.x; i < read; i += T) total += float(repeats) * x[i];
    deposit<T>(x + read, results, total);
}

// What is left beyond the last whole tile, which no measured size leaves: added up once, counted as often.
template <int PASSES>
__global__ void tail(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned repeats, float, float) {
    if (blockIdx.x > 0) return;
    float total = 0.0f;
#pragma unroll 1
    for (u64 i = threadIdx.x; i < n; i += 256) total += x[i];
    deposit<256>(y, n, total * float(PASSES) * float(repeats));
}

}  // namespace levels
