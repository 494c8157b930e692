// Layer norm as six kernels that each do one elementary thing, as a program of array operations would.
//
// Two of them reduce rows to one value each, which they leave in the order of the rows at the start of the last array (the
// rows come before this text). The other four go over the whole array: two take the value of the row that an element is in,
// two that of its column. Each is a stream: V vectors of 16 bytes a thread, all loaded before the first is used. A column's
// value is asked for with every vector, and L1 has it, which the stream itself passes by.

namespace fusion {

using rows::COLUMNS;
using rows::Row;
using rows::u64;

struct Mean {
    static __device__ float term(float x) { return x; }
    static __device__ float of(float total, float columns, float) { return __fdividef(total, columns); }
};

// One over the standard deviation of values whose mean is 0.
struct Deviation {
    static __device__ float term(float x) { return x * x; }
    static __device__ float of(float total, float columns, float epsilon) { return rsqrtf(__fdividef(total, columns) + epsilon); }
};

template <class Statistic, int T>
__global__ void __launch_bounds__(T) reduce(const float* __restrict__ x, float* __restrict__ y, u64 n, unsigned, float epsilon, float) {
    constexpr int N = COLUMNS / T;
    __shared__ float warps[T / 32];
    const Row row(n);
    float v[N];
    rows::load<T>(v, x, row, 0.0f);
    const float total = rows::block_sum<T>(rows::sum<N>([&](int i) { return Statistic::term(v[i]); }), warps);
    if (threadIdx.x == 0) y[blockIdx.x] = Statistic::of(total, float(row.columns), epsilon);
}

struct Subtract {
    static __device__ float of(float x, float value) { return x - value; }
};

struct Multiply {
    static __device__ float of(float x, float value) { return x * value; }
};

struct Add {
    static __device__ float of(float x, float value) { return x + value; }
};

template <class Operation>
__device__ __forceinline__ float4 each(float4 x, float4 value) {
    return make_float4(Operation::of(x.x, value.x), Operation::of(x.y, value.y), Operation::of(x.z, value.z), Operation::of(x.w, value.w));
}

// Each element with the value of its row, of which a tile has only one.
template <class Operation, int V, int T>
__global__ void __launch_bounds__(T) by_row(const float* __restrict__ x, const float* __restrict__ of_rows, float* __restrict__ y, u64 n, unsigned, float, float) {
    constexpr unsigned TILE = 4 * V * T;
    static_assert(COLUMNS % TILE == 0, "a tile lies in one row");
    const u64 tile = u64(blockIdx.x) * TILE;
    const float value = of_rows[tile / COLUMNS];
    if (n - tile >= TILE) {
        const float4* from = reinterpret_cast<const float4*>(x + tile) + threadIdx.x;
        float4* to = reinterpret_cast<float4*>(y + tile) + threadIdx.x;
        float4 v[V];
#pragma unroll
        for (int j = 0; j < V; ++j) v[j] = __ldcg(from + j * T);
#pragma unroll
        for (int j = 0; j < V; ++j) to[j * T] = each<Operation>(v[j], make_float4(value, value, value, value));
    } else {
#pragma unroll 1
        for (u64 i = tile + threadIdx.x; i < n; i += T) y[i] = Operation::of(x[i], value);
    }
}

// Each element with the value of its column.
template <class Operation, int V, int T>
__global__ void __launch_bounds__(T) by_column(const float* __restrict__ x, const float* __restrict__ of_columns, float* __restrict__ y, u64 n, unsigned, float, float) {
    constexpr unsigned TILE = 4 * V * T;
    static_assert(COLUMNS % TILE == 0, "a tile lies in one row");
    const u64 tile = u64(blockIdx.x) * TILE;
    of_columns += tile % COLUMNS;
    if (n - tile >= TILE) {
        const float4* from = reinterpret_cast<const float4*>(x + tile) + threadIdx.x;
        const float4* values = reinterpret_cast<const float4*>(of_columns) + threadIdx.x;
        float4* to = reinterpret_cast<float4*>(y + tile) + threadIdx.x;
        float4 v[V];
#pragma unroll
        for (int j = 0; j < V; ++j) v[j] = __ldcg(from + j * T);
#pragma unroll
        for (int j = 0; j < V; ++j) to[j * T] = each<Operation>(v[j], values[j * T]);
    } else {
#pragma unroll 1
        for (unsigned i = threadIdx.x; tile + i < n; i += T) y[tile + i] = Operation::of(x[tile + i], of_columns[i]);
    }
}

}  // namespace fusion
