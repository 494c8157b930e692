// GELU of every element of a matrix: as a kernel of its own, and as the last thing that a product does to its elements.
//
// x·σ(2u) with u = √(2/π)·(x + 0.044715·x³) is the tanh form, 0.5·x·(1 + tanh u), with one exponential and one reciprocal.
// Far below zero the exponential is infinite and the quotient -0, far above it is 0 and the quotient x: nothing overflows.

namespace gelu {

using u64 = unsigned long long;

__device__ __forceinline__ float of(float x) {
    const float twice = x * fmaf(0.0713548162726f, x * x, 1.59576912161f);
    return __fdividef(x, 1.0f + __expf(-twice));
}

// The epilogue of a product: GELU where the scalar says so. With and without, the product is the same machine code, so that
// the difference is what GELU costs and not what a compiler made of two kernels.
struct WhereAsked {
    static __device__ __forceinline__ float of(float x, float asked) { return asked != 0.0f ? gelu::of(x) : x; }
};

__device__ __forceinline__ float4 of_four(float4 x) {
    return make_float4(of(x.x), of(x.y), of(x.z), of(x.w));
}

// y = GELU(x), LOADS vectors of 16 bytes a thread in flight; `y` may be `x`.
template <int LOADS, int THREADS>
__device__ __forceinline__ void whole_block(const float4* x, float4* y) {
    const u64 first = u64(blockIdx.x) * LOADS * THREADS + threadIdx.x;
    float4 values[LOADS];
#pragma unroll
    for (int i = 0; i < LOADS; ++i) values[i] = x[first + i * THREADS];
#pragma unroll
    for (int i = 0; i < LOADS; ++i) y[first + i * THREADS] = of_four(values[i]);
}

template <int LOADS, int THREADS>
__global__ void __launch_bounds__(THREADS) alone(const float* x, float* y, u64, unsigned, float, float) {
    whole_block<LOADS, THREADS>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y));
}

__global__ void tail(const float* x, float* y, u64 n, unsigned, float, float) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = of(x[i]);
}

// The same in place, on what a product has just left in C: the largest square that n elements hold.
template <int LOADS, int THREADS>
__global__ void __launch_bounds__(THREADS) after(const float*, const float*, float* C, u64 n, unsigned, float, float) {
    const unsigned size = ladder::square_root(n);
    const u64 filled = u64(size) * size, block = u64(4) * LOADS * THREADS;
    if ((blockIdx.x + 1) * block <= filled) {
        whole_block<LOADS, THREADS>(reinterpret_cast<const float4*>(C), reinterpret_cast<float4*>(C));
        return;
    }
    for (u64 i = blockIdx.x * block + threadIdx.x; i < filled; i += THREADS) C[i] = of(C[i]);
}

}  // namespace gelu
