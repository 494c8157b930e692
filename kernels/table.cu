// Six kernels that everyone has, each reading its input once and writing its output once.
//
// Vector addition, SAXPY and ReLU are streams: V vectors of 16 bytes a thread, all loads before the first use, as the DRAM
// ceilings that they are judged by. Softmax and layer norm keep a row in registers between reading and writing it (the
// rows come before this text). A matrix times a vector reads the vector once a block and R rows of the matrix with it.

namespace table {

using rows::COLUMNS;
using rows::Row;
using rows::u64;

template <int V, int T>
__global__ void __launch_bounds__(T) vecadd(const float4* __restrict__ x, const float4* __restrict__ z, float4* __restrict__ y, u64, unsigned, float, float) {
    const u64 first = u64(blockIdx.x) * (V * T) + threadIdx.x;
    float4 v[V], w[V];
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcg(x + first + j * T), w[j] = __ldcg(z + first + j * T);
#pragma unroll
    for (int j = 0; j < V; ++j) y[first + j * T] = make_float4(v[j].x + w[j].x, v[j].y + w[j].y, v[j].z + w[j].z, v[j].w + w[j].w);
}

__global__ void vecadd_tail(const float* __restrict__ x, const float* __restrict__ z, float* __restrict__ y, u64 n, unsigned, float, float) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + z[i];
}

template <int V, int T>
__global__ void __launch_bounds__(T) saxpy(const float4* __restrict__ x, float4* __restrict__ y, u64, unsigned, float a, float) {
    const u64 first = u64(blockIdx.x) * (V * T) + threadIdx.x;
    float4 v[V], w[V];
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcg(x + first + j * T), w[j] = __ldcg(y + first + j * T);
#pragma unroll
    for (int j = 0; j < V; ++j)
        y[first + j * T] = make_float4(fmaf(a, v[j].x, w[j].x), fmaf(a, v[j].y, w[j].y), fmaf(a, v[j].z, w[j].z), fmaf(a, v[j].w, w[j].w));
}

__global__ void saxpy_tail(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned, float a, float) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

// Two halves, each not below 0. sm_75 has no maximum of halves: there their signs mask them out.
__device__ __forceinline__ unsigned positive(unsigned halves) {
    unsigned result;
#if __CUDA_ARCH__ >= 800
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(halves), "r"(0u));
#else
    unsigned negative;
    asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(negative) : "r"(halves));  // each half the sign of its upper byte
    result = halves & ~negative;
#endif
    return result;
}

template <int V, int T>
__global__ void __launch_bounds__(T) relu(const uint4* __restrict__ x, uint4* __restrict__ y, u64, unsigned, float, float) {
    const u64 first = u64(blockIdx.x) * (V * T) + threadIdx.x;
    uint4 v[V];
#pragma unroll
    for (int j = 0; j < V; ++j) v[j] = __ldcg(x + first + j * T);
#pragma unroll
    for (int j = 0; j < V; ++j) y[first + j * T] = make_uint4(positive(v[j].x), positive(v[j].y), positive(v[j].z), positive(v[j].w));
}

__global__ void relu_tail(const unsigned short* __restrict__ x, unsigned short* __restrict__ y, u64 n, unsigned, float, float) {
    const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = static_cast<unsigned short>(positive(x[i]));
}

// e to the power of x, by the special unit's power of 2.
__device__ __forceinline__ float power(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.44269504f));
    return result;
}

// Each warp goes by its own maximum, so that maximum and sum of the whole row take one barrier together. A warp without
// columns has no maximum: its sum is 0 beside any.
template <int T>
__global__ void __launch_bounds__(T) softmax(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned, float, float) {
    constexpr int N = COLUMNS / T;
    __shared__ float2 warps[T / 32];
    const Row row(n);
    float v[N];
    rows::load<T>(v, x, row, rows::minus_infinity());
    float greatest = -rows::GREATEST;
#pragma unroll
    for (int i = 0; i < N; ++i) greatest = fmaxf(greatest, v[i]);
    greatest = rows::warp_max(greatest);
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = power(v[i] - greatest);
    const float total = rows::warp_sum(rows::sum<N>([&](int i) { return v[i]; }));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = make_float2(greatest, total);
    __syncthreads();
    const unsigned lane = threadIdx.x % 32;
    const float2 of_warp = lane < T / 32 ? warps[lane] : make_float2(-rows::GREATEST, 0.0f);
    const float of_row = rows::warp_max(of_warp.x);
    const float divisor = rows::warp_sum(of_warp.y * power(of_warp.x - of_row));
    const float factor = __fdividef(power(greatest - of_row), divisor);
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] *= factor;
    rows::store<T>(y, v, row);
}

// Where the second row of parameters begins: a row behind the first, or as far behind it as an array of n elements allows.
__device__ __forceinline__ u64 second_row(u64 n) {
    return n >= 2 * COLUMNS ? COLUMNS : n > COLUMNS ? (n - COLUMNS) / 4 * 4 : 0;
}

// What the mean lacks by rounding is in the differences from it: their sum corrects both it and the variance (Chan, Golub
// and LeVeque, The American Statistician 37 (3), 1983).
template <int T>
__global__ void __launch_bounds__(T) layer_norm(const float* __restrict__ x, const float* __restrict__ parameters, float* __restrict__ y, u64 n, unsigned, float epsilon, float) {
    constexpr int N = COLUMNS / T;
    __shared__ float sums[3][T / 32];
    const Row row(n);
    const float share = __fdividef(1.0f, float(row.columns));  // exact for a whole row; else the correction below has its error too
    float v[N];
    rows::load<T>(v, x, row, 0.0f);
    const float mean = rows::block_sum<T>(rows::sum<N>([&](int i) { return v[i]; }), sums[0]) * share;
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = row.whole() || rows::column<T>(i) < row.columns ? v[i] - mean : 0.0f;
    const float left = rows::warp_sum(rows::sum<N>([&](int i) { return v[i]; }));
    if (threadIdx.x % 32 == 0) sums[1][threadIdx.x / 32] = left;
    const float squares = rows::block_sum<T>(rows::sum<N>([&](int i) { return v[i] * v[i]; }), sums[2]);
    const float correction = rows::sum<T / 32>([&](int warp) { return sums[1][warp]; }) * share;
    const float scale = rsqrtf(fmaxf(squares * share - correction * correction, 0.0f) + epsilon);
    const float* beta = parameters + second_row(n);
    if (row.whole()) {
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            const float4 g = *reinterpret_cast<const float4*>(parameters + rows::column<T>(i));
            const float4 b = *reinterpret_cast<const float4*>(beta + rows::column<T>(i));
            v[i] = fmaf((v[i] - correction) * scale, g.x, b.x);
            v[i + 1] = fmaf((v[i + 1] - correction) * scale, g.y, b.y);
            v[i + 2] = fmaf((v[i + 2] - correction) * scale, g.z, b.z);
            v[i + 3] = fmaf((v[i + 3] - correction) * scale, g.w, b.w);
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (rows::column<T>(i) < row.columns)
                v[i] = fmaf((v[i] - correction) * scale, parameters[rows::column<T>(i)], beta[rows::column<T>(i)]);
    }
    rows::store<T>(y, v, row);
}

__device__ __forceinline__ float2 floats(unsigned halves) {
    float2 f;
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
        : "=f"(f.x), "=f"(f.y) : "r"(halves));
    return f;
}

__device__ __forceinline__ float single(unsigned short half) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(half));
    return f;
}

__device__ __forceinline__ unsigned short half(float value) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(value));
    return h;
}

__device__ __forceinline__ float dot(unsigned a, unsigned b, float total) {
    const float2 v = floats(a), w = floats(b);
    return fmaf(v.y, w.y, fmaf(v.x, w.x, total));
}

// R rows a block; the halves are multiplied and added up as floats.
template <int R, int T>
__global__ void __launch_bounds__(T) gemv(const unsigned short* __restrict__ a, const unsigned short* __restrict__ x, unsigned short* __restrict__ y, u64 n, unsigned, float, float) {
    constexpr int V = COLUMNS / (8 * T);
    __shared__ float warps[R][T / 32];
    const u64 first = u64(blockIdx.x) * (R * COLUMNS);
    float sums[R] = {};
    if (n - first >= R * COLUMNS) {
        uint4 v[V], w[R][V];
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
            for (int j = 0; j < V; ++j) w[r][j] = __ldcs(reinterpret_cast<const uint4*>(a + first) + (r * V + j) * T + threadIdx.x);
#pragma unroll
        for (int j = 0; j < V; ++j) v[j] = reinterpret_cast<const uint4*>(x)[j * T + threadIdx.x];
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
            for (int j = 0; j < V; ++j)
                sums[r] = dot(w[r][j].x, v[j].x, dot(w[r][j].y, v[j].y, dot(w[r][j].z, v[j].z, dot(w[r][j].w, v[j].w, sums[r]))));
    } else {
#pragma unroll
        for (int r = 0; r < R; ++r) {
            const u64 from = first + r * COLUMNS;
            const unsigned columns = from >= n ? 0 : n - from < COLUMNS ? n - from : COLUMNS;
#pragma unroll 1
            for (unsigned i = threadIdx.x; i < columns; i += T) sums[r] = fmaf(single(a[from + i]), single(x[i]), sums[r]);
        }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
        sums[r] = rows::warp_sum(sums[r]);
        if (threadIdx.x % 32 == 0) warps[r][threadIdx.x / 32] = sums[r];
    }
    __syncthreads();
    if (threadIdx.x < R && first + threadIdx.x * COLUMNS < n)
        y[first / COLUMNS + threadIdx.x] = half(rows::sum<T / 32>([&](int warp) { return warps[threadIdx.x][warp]; }));
}

}  // namespace table
