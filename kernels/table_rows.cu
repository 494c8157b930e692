// Rows of 4096 floats, a block of T threads each: read once, kept in registers, written once.
//
// A thread holds 4096 / T columns, in vectors of four that lie T vectors apart, so that a warp reads and writes 512 bytes
// side by side. Data passes L1 by (.cg), which leaves it to what every row needs again. The last row of an array may be
// shorter: then columns are read one by one, and what is missing counts as nothing.
//
// Sums go in pairs, so that those of a row of equal values are exact while their number is a power of two.

namespace rows {

using u64 = unsigned long long;

constexpr unsigned COLUMNS = 4096;
constexpr float GREATEST = 3.402823466e38f;  // the greatest finite float

// Less than any float: what a missing column counts as where the greatest is sought.
__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xFF800000); }

// The row of this block, and how many columns it has.
struct Row {
    u64 first;
    unsigned columns;

    __device__ explicit Row(u64 n) : first(u64(blockIdx.x) * COLUMNS), columns(n - first < COLUMNS ? n - first : COLUMNS) {}
    __device__ bool whole() const { return columns == COLUMNS; }
};

// The column of a thread's element i.
template <int T>
__device__ __forceinline__ unsigned column(int i) {
    return 4 * (i / 4 * T + threadIdx.x) + i % 4;
}

template <int T, int N>
__device__ __forceinline__ void load(float (&v)[N], const float* x, Row row, float missing) {
    static_assert(N * T == COLUMNS, "a block holds a row");
    x += row.first;
    if (row.whole()) {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            const float4 w = __ldcg(reinterpret_cast<const float4*>(x + column<T>(i)));
            v[i] = w.x, v[i + 1] = w.y, v[i + 2] = w.z, v[i + 3] = w.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = column<T>(i) < row.columns ? x[column<T>(i)] : missing;
    }
}

template <int T, int N>
__device__ __forceinline__ void store(float* y, const float (&v)[N], Row row) {
    y += row.first;
    if (row.whole()) {
#pragma unroll
        for (int i = 0; i < N; i += 4) *reinterpret_cast<float4*>(y + column<T>(i)) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (column<T>(i) < row.columns) y[column<T>(i)] = v[i];
    }
}

// The sum of what a thread holds, in pairs.
template <int N, class Term>
__device__ __forceinline__ float sum(Term term) {
    float partial[N];
#pragma unroll
    for (int i = 0; i < N; ++i) partial[i] = term(i);
#pragma unroll
    for (int apart = 1; apart < N; apart *= 2)
#pragma unroll
        for (int i = 0; i < N; i += 2 * apart) partial[i] += partial[i + apart];
    return partial[0];
}

__device__ __forceinline__ float warp_sum(float mine) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_xor_sync(~0u, mine, lanes);
    return mine;
}

__device__ __forceinline__ float warp_max(float mine) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) mine = fmaxf(mine, __shfl_xor_sync(~0u, mine, lanes));
    return mine;
}

// The sum over the block, in every thread. `warps` is room that nothing else uses: so one barrier is enough.
template <int T>
__device__ __forceinline__ float block_sum(float mine, float (&warps)[T / 32]) {
    mine = warp_sum(mine);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    return sum<T / 32>([&](int warp) { return warps[warp]; });
}

}  // namespace rows
