// Blocks that all take the same time, however many others an SM holds beside them: what shows the waves of a grid.
//
// Each thread has one chain of FMAs, each waiting for the one before, and a block has one warp for each scheduler of an
// SM. So a scheduler issues once in four cycles or so for each block, and a few blocks leave each other alone: a second
// one costs nothing, one that must wait for a free place costs a whole block's time. How many places there are is set by
// the shared memory that a block asks for and does not use.

namespace waves {

using u64 = unsigned long long;

template <int S, int T>
__global__ void __launch_bounds__(T) chain(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned repeats, float a, float b) {
    const u64 i = u64(blockIdx.x) * T + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
#pragma unroll 1
    for (unsigned r = 0; r < repeats; ++r) {
#pragma unroll
        for (int s = 0; s < S; ++s) v = fmaf(a, b, v);
    }
    if (i < n) y[i] = v;
}

}  // namespace waves
