// One float of every S: what a memory that moves whole sectors leaves of its bandwidth.
//
// Lanes that follow each other read elements that lie S apart, so from S = 8 on each load of a warp touches 32 sectors
// and nobody reads another float of them. A thread issues V loads before it uses the first: there are always more bytes
// on their way than the memory can serve, and the sectors bound it, not the latency. Nothing is left in a cache for
// later: the loads are marked to be evicted first.
//
// The sum over each warp is added to the first element of its tile: enough to prove that every element arrived,
// and nothing that a warp would wait for. S divides a tile, so every launch, tile and tail begins on an element asked
// for.

namespace sectors {

using u64 = unsigned long long;

constexpr int TAIL = 256;  // threads of the blocks that handle what no tile fills

// Adds the sum over each warp to `into`, without waiting for it.
__device__ __forceinline__ void add_up(float mine, float* into) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_xor_sync(~0u, mine, lanes);
    if (threadIdx.x % 32 == 0) atomicAdd(into, mine);
}

template <int S, int V, int T>
__global__ void __launch_bounds__(T) read(const float* x, float* y, u64, unsigned, float, float) {
    const u64 first = u64(blockIdx.x) * (S * V * T);
    const float* mine = x + first + S * threadIdx.x;
    float v[V];
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcs(mine + j * T * S);
    float total = 0.0f;
#pragma unroll
    for (int j = 0; j < V; ++j) total += v[j];
    add_up(total, y + first);
}

template <int S, int V, int T>
__global__ void __launch_bounds__(T) write(const float*, float* y, u64, unsigned, float a, float) {
    float* mine = y + u64(blockIdx.x) * (S * V * T) + S * threadIdx.x;
#pragma unroll
    for (int j = 0; j < V; ++j) __stcs(mine + j * T * S, a);
}

template <int S>
__global__ void __launch_bounds__(TAIL) read_tail(const float* x, float* y, u64 n, unsigned, float, float) {
    if (blockIdx.x > 0) return;  // less than a tile is left: one block adds it up
    float total = 0.0f;
    for (u64 i = S * threadIdx.x; i < n; i += S * TAIL) total += x[i];
    add_up(total, y);
}

template <int S>
__global__ void __launch_bounds__(TAIL) write_tail(const float*, float* y, u64 n, unsigned, float a, float) {
    const u64 i = S * (u64(blockIdx.x) * TAIL + threadIdx.x);
    if (i < n) y[i] = a;
}

}  // namespace sectors
