// Reads with a set number of bytes on their way: B blocks of T threads on each SM, V loads of 4 bytes in flight in each.
//
// A block loops over its share of the tiles. In each turn a thread issues V loads and uses them only once all are
// issued; the next V wait for the last of these. So a warp has V times 128 bytes on their way nearly all the time, and
// an SM as many times more as it has warps. The sums keep every load alive.
//
// `chase` is the latency itself: one thread on the whole card, each of its loads at an address that the value of the
// last one is part of (the mask is 0, which no compiler knows). Its hops lie far apart, each in a line of its own.

namespace in_flight {

using u64 = unsigned long long;

constexpr int TAIL = 256;  // threads of the blocks that handle what no tile fills

// Adds the sum over each warp to `into`, without waiting for it.
__device__ __forceinline__ void add_up(float mine, float* into) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_xor_sync(~0u, mine, lanes);
    if (threadIdx.x % 32 == 0) atomicAdd(into, mine);
}

template <int V, int T, int B>
__global__ void __launch_bounds__(T, B) read(const float* x, float* y, u64 n, unsigned, float, float) {
    const u64 first = u64(blockIdx.x) * (V * T), stride = u64(gridDim.x) * (V * T);
    if (first >= n) return;
    float total = 0.0f;
#pragma unroll 1
    for (u64 at = first; at < n; at += stride) {
        const float* mine = x + at + threadIdx.x;
        float v[V];
#pragma unroll
        for (int j = 0; j < V; ++j) v[j] = __ldcs(mine + j * T);
#pragma unroll
        for (int j = 0; j < V; ++j) total += v[j];
    }
    add_up(total, y + first);
}

__global__ void __launch_bounds__(TAIL) read_tail(const float* x, float* y, u64 n, unsigned, float, float) {
    if (blockIdx.x > 0) return;  // less than a tile is left: one block adds it up
    float total = 0.0f;
    for (u64 i = threadIdx.x; i < n; i += TAIL) total += x[i];
    add_up(total, y);
}

template <int SPACING>
__global__ void chase(const float* x, float* y, u64 n, unsigned, float, float zero) {
    if (blockIdx.x > 0 || threadIdx.x > 0) return;
    const unsigned mask = __float_as_uint(zero);
    float total = 0.0f;
    unsigned link = 0;
#pragma unroll 1
    for (u64 at = 0; at < n; at += SPACING) {
        const float v = __ldcg(x + at + link);
        link = __float_as_uint(v) & mask;
        total += v;
    }
    y[0] += total;
}

}  // namespace in_flight
