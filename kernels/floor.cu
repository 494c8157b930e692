// The addition of two arrays in one grid whatever their size, so that each launch is exactly one launch.
//
// Four elements a thread: one 16-byte load of each array where all four are there, one by one where not. Nothing else:
// below some size a launch costs the same whatever is in it, and this finds where.

namespace overhead {

using u64 = unsigned long long;

template <int T>
__global__ void __launch_bounds__(T) add(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z, u64 n, unsigned, float, float) {
    const u64 first = 4 * (u64(blockIdx.x) * T + threadIdx.x);
    if (first + 4 <= n) {
        const float4 u = __ldcg(reinterpret_cast<const float4*>(x + first));
        const float4 v = __ldcg(reinterpret_cast<const float4*>(y + first));
        *reinterpret_cast<float4*>(z + first) = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
    } else {
        for (u64 i = first; i < n; ++i) z[i] = x[i] + y[i];
    }
}

}  // namespace overhead
