// FP32 products of square matrices, C = A·B: what every rung of the ladder of reuse needs, and the lowest rung.
//
// There a thread makes one element of C, the threads of a block neighbours in a row. Each multiply-add asks for two floats
// and nothing keeps them, but for the caches: the lanes of a warp share the float of A, and have 128 bytes of B side by side.

namespace ladder {

using u64 = unsigned long long;

// The greatest integer whose square is no more than n, a bit at a time: no float but C's is multiplied or added.
__device__ __forceinline__ unsigned square_root(u64 n) {
    unsigned found = 0;
    for (unsigned bit = 1u << 15; bit; bit >>= 1)
        if (u64(found + bit) * (found + bit) <= n) found += bit;
    return found;
}

// One element of C: a row of A by a column of B, STEPS multiply-adds in the body of the loop.
template <int STEPS>
__device__ __forceinline__ float element(const float* __restrict__ A, const float* __restrict__ B, unsigned size, unsigned row, unsigned column) {
    const float* a = A + row * size;
    const float* b = B + column;
    float sum = 0.0f;
    unsigned k = 0;
#pragma unroll 1
    for (; k + STEPS <= size; k += STEPS, a += STEPS, b += STEPS * size)
#pragma unroll
        for (int step = 0; step < STEPS; ++step) sum = fmaf(a[step], b[step * size], sum);
    if constexpr (STEPS > 1)
#pragma unroll 1
        for (; k < size; ++k, ++a, b += size) sum = fmaf(*a, *b, sum);
    return sum;
}

// STEPS loads of A and of B are in flight together.
template <int STEPS, int THREADS>
__global__ void __launch_bounds__(THREADS) naive(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, u64 n, unsigned, float, float) {
    const unsigned size = square_root(n), which = blockIdx.x * THREADS + threadIdx.x;
    if (which < size * size) C[which] = element<STEPS>(A, B, size, which / size, which % size);
}

// What is done to an element of C before it is stored: here, nothing.
struct Nothing {
    static __device__ __forceinline__ float of(float x, float) { return x; }
};

}  // namespace ladder
