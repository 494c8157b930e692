// The intensity dial: load, F fused multiply-adds on every element, store.
//
// A step is v = a*b + v with a and b known at run time only, so nothing folds and the result is x + F/4 exactly. The
// chain of one element is never split or summed: every element of a thread is a chain of its own, and the compiled
// function holds exactly F FFMA an element. There is no bounds check, since below the ridge every instruction that is
// not an FFMA takes an issue slot from one: `tail` handles what is left beyond the last whole tile.
//
// Loads pass L1 by (.cg) and stores have no hint: dram.cu says why nothing is marked to be evicted first.
//
// Five shapes, since no one is best at every F:
//   vectors    V loads of 16 bytes a thread; many resident threads hide the latency. Best while memory decides.
//   scalars    V loads of 4 bytes a thread, T apart. A short body, which matters once F is large: beyond about 8000
//              instructions (128 KiB) a straight line falls out of the instruction cache.
//   prefetched one wave of blocks; the next tile is loaded into registers while this one computes.
//   pipelined  the same, with STAGES tiles on their way into shared memory (cp.async, sm_80 and later). Each thread
//              reads back only what it copied itself, so no barrier is needed.
//   streamed   pipelined within RUN adjacent tiles, then the next block: the addresses in flight stay close together,
//              which memory likes better than a wave of blocks that drift apart. Best around the ridge: few small tiles
//              a block just below it, as many elements a thread as the instruction cache bears at it.

namespace dial {

using u64 = unsigned long long;

template <int F, int N>
__device__ __forceinline__ void steps(float (&v)[N], float a, float b) {
#pragma unroll
    for (int f = 0; f < F; ++f)
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = fmaf(a, b, v[i]);
}

template <int V>
__device__ __forceinline__ void unpack(float (&v)[4 * V], int j, float4 loaded) {
    v[4 * j] = loaded.x;
    v[4 * j + 1] = loaded.y;
    v[4 * j + 2] = loaded.z;
    v[4 * j + 3] = loaded.w;
}

template <int V, int T>
__device__ __forceinline__ void store(float4* y, const float (&v)[4 * V]) {
#pragma unroll
    for (int j = 0; j < V; ++j) y[j * T] = make_float4(v[4 * j], v[4 * j + 1], v[4 * j + 2], v[4 * j + 3]);
}

template <int F, int V, int T>
__global__ void __launch_bounds__(T) vectors(const float4* __restrict__ x, float4* __restrict__ y, u64, unsigned, float a, float b) {
    const u64 first = u64(blockIdx.x) * (V * T) + threadIdx.x;
    float v[4 * V];
#pragma unroll
    for (int j = 0; j < V; ++j) unpack<V>(v, j, __ldcg(x + first + j * T));
    steps<F>(v, a, b);
    store<V, T>(y + first, v);
}

template <int F, int V, int T>
__global__ void __launch_bounds__(T) scalars(const float* __restrict__ x, float* __restrict__ y, u64, unsigned, float a, float b) {
    const u64 first = u64(blockIdx.x) * (V * T) + threadIdx.x;
    float v[V];
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcg(x + first + j * T);
    steps<F>(v, a, b);
#pragma unroll
    for (int j = 0; j < V; ++j) y[first + j * T] = v[j];
}

template <int F, int V, int T>
__global__ void __launch_bounds__(T) prefetched(const float4* __restrict__ x, float4* __restrict__ y, u64 n, unsigned, float a, float b) {
    const unsigned tiles = unsigned(n / (4 * V * T));
    if (blockIdx.x >= tiles) return;
    const u64 stride = u64(gridDim.x) * (V * T);
    u64 at = u64(blockIdx.x) * (V * T) + threadIdx.x;
    float4 next[V];
#pragma unroll
    for (int j = 0; j < V; ++j) next[j] = __ldcg(x + at + j * T);
#pragma unroll 1
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float v[4 * V];
#pragma unroll
        for (int j = 0; j < V; ++j) unpack<V>(v, j, next[j]);
        if (tile + gridDim.x < tiles) {
#pragma unroll
            for (int j = 0; j < V; ++j) next[j] = __ldcg(x + at + stride + j * T);
        }
        steps<F>(v, a, b);
        store<V, T>(y + at, v);
        at += stride;
    }
}

#if __CUDA_ARCH__ >= 800
// Offsets stand in the instructions (hence templates over J), so that one address serves all V of them.
template <int V, int T, int J = 0>
__device__ __forceinline__ void copy_async(unsigned shared, const float4* global) {
    asm volatile("cp.async.cg.shared.global [%0 + %2], [%1 + %2], 16;" ::"r"(shared), "l"(global), "n"(J * T * 16) : "memory");
    if constexpr (J + 1 < V) copy_async<V, T, J + 1>(shared, global);
}

template <int V, int T, int J = 0>
__device__ __forceinline__ void read_shared(float (&v)[4 * V], unsigned shared) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4 + %5];"
                 : "=f"(v[4 * J]), "=f"(v[4 * J + 1]), "=f"(v[4 * J + 2]), "=f"(v[4 * J + 3])
                 : "r"(shared), "n"(J * T * 16)
                 : "memory");
    if constexpr (J + 1 < V) read_shared<V, T, J + 1>(v, shared);
}

template <int F, int V, int T, int STAGES>
__global__ void __launch_bounds__(T) pipelined(const float4* __restrict__ x, float4* __restrict__ y, u64 n, unsigned, float a, float b) {
    extern __shared__ float4 ring[];  // [STAGES][V][T], each thread alone with its column
    constexpr unsigned STAGE = V * T * sizeof(float4);
    const unsigned mine = unsigned(__cvta_generic_to_shared(ring)) + threadIdx.x * unsigned(sizeof(float4));
    const unsigned tiles = unsigned(n / (4 * V * T)), grid = gridDim.x;
    const u64 stride = u64(grid) * (V * T);
    unsigned wanted = blockIdx.x;
    x += u64(wanted) * (V * T) + threadIdx.x;
    y += u64(wanted) * (V * T) + threadIdx.x;
    const auto request = [&](unsigned into) {
        if (wanted < tiles) copy_async<V, T>(mine + into, x);
        asm volatile("cp.async.commit_group;" ::: "memory");
        x += stride;
        wanted += grid;
    };
#pragma unroll 1
    for (unsigned slot = 0; slot < (STAGES - 1) * STAGE; slot += STAGE) request(slot);
    unsigned slot = 0, freed = (STAGES - 1) * STAGE;
#pragma unroll 1
    for (unsigned tile = blockIdx.x; tile < tiles; tile += grid) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        float v[4 * V];
        read_shared<V, T>(v, mine + slot);
        request(freed);  // the slot of the tile before this one: its values left for registers long ago
        freed = slot;
        slot = slot == (STAGES - 1) * STAGE ? 0 : slot + STAGE;
        steps<F>(v, a, b);
        store<V, T>(y, v);
        y += stride;
    }
}

template <int F, int V, int T, int STAGES, int RUN>
__global__ void __launch_bounds__(T) streamed(const float4* __restrict__ x, float4* __restrict__ y, u64, unsigned, float a, float b) {
    extern __shared__ float4 ring[];  // [STAGES][V][T], each thread alone with its column
    constexpr unsigned STAGE = V * T * sizeof(float4);
    const unsigned mine = unsigned(__cvta_generic_to_shared(ring)) + threadIdx.x * unsigned(sizeof(float4));
    x += u64(blockIdx.x) * (RUN * V * T) + threadIdx.x;
    y += u64(blockIdx.x) * (RUN * V * T) + threadIdx.x;
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        copy_async<V, T>(mine + stage * STAGE, x);
        asm volatile("cp.async.commit_group;" ::: "memory");
        x += V * T;
    }
    unsigned slot = 0, freed = (STAGES - 1) * STAGE;
#pragma unroll 1
    for (int left = RUN; left > 0; --left) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        float v[4 * V];
        read_shared<V, T>(v, mine + slot);
        if (left >= STAGES) copy_async<V, T>(mine + freed, x);  // into the slot of the tile before this one
        asm volatile("cp.async.commit_group;" ::: "memory");
        x += V * T;
        freed = slot;
        slot = slot == (STAGES - 1) * STAGE ? 0 : slot + STAGE;
        steps<F>(v, a, b);
        store<V, T>(y, v);
        y += V * T;
    }
}
#endif

template <int F>
__global__ void tail(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned, float a, float b) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[1] = {x[i]};
    steps<F>(v, a, b);
    y[i] = v[0];
}

}  // namespace dial
