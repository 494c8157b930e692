// S elementwise steps on an array, in place: one step a launch, or all of a chain fused into one launch.
//
// An element stays in its register between fused steps; unfused, it goes out and comes back with each launch. Every step
// adds a·b, so the result tells how many steps really ran.

namespace chain {

using u64 = unsigned long long;

template <int S, int T>
__global__ void __launch_bounds__(T) steps(float* x, u64 n, unsigned, float a, float b) {
    const u64 i = u64(blockIdx.x) * T + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
#pragma unroll
    for (int s = 0; s < S; ++s) v = fmaf(a, b, v);
    x[i] = v;
}

}  // namespace chain
