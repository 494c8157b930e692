// DRAM ceilings: read, write, copy, triad, with as little else as possible.
//
// What decides is how many bytes are on their way at once: V loads or stores of 16 bytes a thread, all issued before
// the first is used, T threads a block.
//
// Copy and triad move without hints for L2 (.cg only passes L1 by). Lines that streaming hints (.cs) mark are evicted
// before all others, so under hinted traffic alone what ordinary code left in L2 stays there, and stores have only the
// rest of it to gather in: an H200's copy reached 4278 GB/s with hints after other hinted traffic and 4183 after a
// memcpy, launch after launch; without hints 4272 after either. A read alone gains 7 % from hints, a write nothing. The
// lines a read finds in L2 have no part in that: six arrays of 1 GB in turn read as fast as one again and again.
//
// A GPU writes whole sectors without reading them first, so what is counted is what moves. A read leaves one sum a
// tile in the last array: enough to prove that every element arrived, too little to be traffic (4 bytes in 16 KiB).

namespace dram {

using u64 = unsigned long long;

template <int V, int T>
__device__ __forceinline__ void load(float4 (&v)[V], const float4* x) {
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcg(x + j * T);
}

template <int V, int T>
__device__ __forceinline__ void load_streaming(float4 (&v)[V], const float4* x) {
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcs(x + j * T);
}

template <int V>
__device__ __forceinline__ float sum(const float4 (&v)[V]) {
    float total = 0.0f;
#pragma unroll
    for (int j = 0; j < V; ++j) total += (v[j].x + v[j].y) + (v[j].z + v[j].w);
    return total;
}

constexpr int GRAIN = 4096;  // a partial sum for each so many elements; dram_cuda.py reads them there

template <int T>
__device__ __forceinline__ float block_sum(float mine) {
    __shared__ float warps[T / 32];
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_xor_sync(~0u, mine, lanes);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    float total = 0.0f;
    for (int warp = 0; warp < T / 32; ++warp) total += warps[warp];
    return total;
}

// The sum at the first grain of `elements` elements, zeros at the others.
__device__ __forceinline__ void leave(float* y, u64 elements, float total) {
    for (u64 at = u64(threadIdx.x) * GRAIN; at < elements; at += u64(blockDim.x) * GRAIN) y[at] = at ? 0.0f : total;
}

template <int V, int T>
__global__ void __launch_bounds__(T) read(const float4* __restrict__ x, float* __restrict__ y, u64, unsigned, float, float) {
    const u64 tile = u64(blockIdx.x) * (V * T);
    float4 v[V];
    load_streaming<V, T>(v, x + tile + threadIdx.x);
    leave(y + 4 * tile, 4 * V * T, block_sum<T>(sum(v)));
}

// The V loads of a thread come from V equal parts of the array, so that more of the memory's pages are open at once.
template <int V, int T>
__global__ void __launch_bounds__(T) read_spread(const float4* __restrict__ x, float* __restrict__ y, u64 n, unsigned, float, float) {
    static_assert(4 * T == GRAIN, "each part of a block holds exactly one grain");
    const u64 part = n / (4 * V), at = u64(blockIdx.x) * T;
    float4 v[V];
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcs(x + j * part + at + threadIdx.x);
    const float total = block_sum<T>(sum(v));
    if (threadIdx.x < V) y[4 * (threadIdx.x * part + at)] = threadIdx.x ? 0.0f : total;
}

template <int V, int T>
__global__ void __launch_bounds__(T) read_looped(const float4* __restrict__ x, float* __restrict__ y, u64 n, unsigned, float, float) {
    const u64 tile = u64(blockIdx.x) * (V * T), stride = u64(gridDim.x) * (V * T);
    if (4 * tile >= n) return;
    float total = 0.0f;
#pragma unroll 1
    for (u64 at = tile; at < n / 4; at += stride) {
        float4 v[V];
        load_streaming<V, T>(v, x + at + threadIdx.x);
        total += sum(v);
        if (at > tile) leave(y + 4 * at, 4 * V * T, 0.0f);
    }
    leave(y + 4 * tile, 4 * V * T, block_sum<T>(total));
}

template <int V, int T>
__global__ void __launch_bounds__(T) write(const float4*, float4* __restrict__ y, u64, unsigned, float a, float) {
    y += u64(blockIdx.x) * (V * T) + threadIdx.x;
#pragma unroll
    for (int j = 0; j < V; ++j) __stcs(y + j * T, make_float4(a, a, a, a));
}

template <int V, int T>
__global__ void __launch_bounds__(T) copy(const float4* __restrict__ x, float4* __restrict__ y, u64, unsigned, float, float) {
    const u64 first = u64(blockIdx.x) * (V * T) + threadIdx.x;
    float4 v[V];
    load<V, T>(v, x + first);
#pragma unroll
    for (int j = 0; j < V; ++j) y[first + j * T] = v[j];
}

template <int V, int T>
__global__ void __launch_bounds__(T) triad(const float4* __restrict__ x, const float4* __restrict__ z, float4* __restrict__ y, u64, unsigned, float a, float) {
    const u64 first = u64(blockIdx.x) * (V * T) + threadIdx.x;
    float4 v[V], w[V];
    load<V, T>(v, x + first);
    load<V, T>(w, z + first);
#pragma unroll
    for (int j = 0; j < V; ++j)
        y[first + j * T] = make_float4(fmaf(a, w[j].x, v[j].x), fmaf(a, w[j].y, v[j].y), fmaf(a, w[j].z, v[j].z), fmaf(a, w[j].w, v[j].w));
}

// What is left beyond the last whole tile, one element a thread.

__global__ void read_tail(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned, float, float) {
    if (blockIdx.x > 0) return;  // less than a tile is left: one block of 256 threads adds it up
    float total = 0.0f;
    for (u64 i = threadIdx.x; i < n; i += 256) total += x[i];
    leave(y, n, block_sum<256>(total));
}

__global__ void write_tail(const float*, float* __restrict__ y, u64 n, unsigned, float a, float) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a;
}

__global__ void copy_tail(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned, float, float) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

__global__ void triad_tail(const float* __restrict__ x, const float* __restrict__ z, float* __restrict__ y, u64 n, unsigned, float a, float) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, z[i], x[i]);
}

}  // namespace dram
