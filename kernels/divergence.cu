// FMAs in registers while only some lanes of each warp compute: what a branch leaves of the arithmetic roof.
//
// Both kernels share tiles and repeats out evenly over the blocks there are, as many as fit, and run STEPS dependent
// steps v = a*b + v on each of the CHAINS elements of a thread. Which lanes go where moves on by one from turn to turn,
// so that no compiler can take the choice out of the loop; and the steps are a loop, so that none turns them into
// predicated instructions, which pass through every lane.
//
// `lanes`: LANES of the 32 take part, the others wait. `paths`: the lanes split over PATHS branches of equal length,
// each with code of its own (its factor differs by `zero`, a 0 that the compiler does not know), run one after another.
// x and y carry no __restrict__, so that no repeat can be skipped.

namespace divergence {

template <int CHAINS, int STEPS, int UNROLL>
__device__ __forceinline__ void walk(float (&v)[CHAINS], float a, float b) {
#pragma unroll 1
    for (int step = 0; step < STEPS; step += UNROLL) {
#pragma unroll
        for (int s = 0; s < UNROLL; ++s)
#pragma unroll
            for (int i = 0; i < CHAINS; ++i) v[i] = fmaf(a, b, v[i]);
    }
}

template <int CHAINS, int STRIDE, class Steps>
__device__ __forceinline__ void apply(const float* x, float* y, unsigned n, unsigned first, Steps steps) {
    float v[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) v[i] = first + i * STRIDE < n ? x[first + i * STRIDE] : 0.0f;
    steps(v);
#pragma unroll
    for (int i = 0; i < CHAINS; ++i)
        if (first + i * STRIDE < n) y[first + i * STRIDE] = v[i];
}

struct Share {
    unsigned begin, end;
};

__device__ __forceinline__ Share share(unsigned chunks) {
    const unsigned each = chunks / gridDim.x, more = chunks % gridDim.x;
    const unsigned begin = blockIdx.x * each + min(blockIdx.x, more);
    return {begin, begin + each + (blockIdx.x < more)};
}

template <int LANES, int CHAINS, int STEPS, int UNROLL, int T>
__global__ void __launch_bounds__(T) lanes(const float* x, float* y, unsigned long long elements, unsigned repeats, float a, float b) {
    constexpr unsigned ACTIVE = T / 32 * LANES, TILE = ACTIVE * CHAINS;
    const unsigned n = unsigned(elements);
    const Share mine = share((n + TILE - 1) / TILE * repeats);
#pragma unroll 1
    for (unsigned chunk = mine.begin; chunk < mine.end; ++chunk) {
        const unsigned rank = (threadIdx.x + chunk) % 32;
        if (rank < LANES) {
            const unsigned first = chunk / repeats * TILE + threadIdx.x / 32 * LANES + rank;
            apply<CHAINS, ACTIVE>(x, y, n, first, [=](float(&v)[CHAINS]) { walk<CHAINS, STEPS, UNROLL>(v, a, b); });
        }
    }
}

template <int PATHS, int CHAINS, int STEPS, int UNROLL, int PATH = 0>
__device__ __forceinline__ void branch(unsigned path, float (&v)[CHAINS], float a, float b, float zero) {
    if (path == PATH || PATH == PATHS - 1)
        walk<CHAINS, STEPS, UNROLL>(v, a, b);
    else if constexpr (PATH < PATHS - 1)
        branch<PATHS, CHAINS, STEPS, UNROLL, PATH + 1>(path, v, a, b + zero, zero);
}

template <int PATHS, int CHAINS, int STEPS, int UNROLL, int T>
__global__ void __launch_bounds__(T) paths(const float* x, float* y, unsigned long long elements, unsigned repeats, float a, float b) {
    constexpr unsigned TILE = T * CHAINS;
    const unsigned n = unsigned(elements);
    const Share mine = share((n + TILE - 1) / TILE * repeats);
    const float zero = float(elements >> 32);
#pragma unroll 1
    for (unsigned chunk = mine.begin; chunk < mine.end; ++chunk) {
        const unsigned path = (threadIdx.x + chunk) % 32 / (32 / PATHS);
        const unsigned first = chunk / repeats * TILE + threadIdx.x;
        apply<CHAINS, T>(x, y, n, first, [=](float(&v)[CHAINS]) { branch<PATHS, CHAINS, STEPS, UNROLL>(path, v, a, b, zero); });
    }
}

}  // namespace divergence
