// A linear layer for a few vectors at once, Y = X W: each weight comes from DRAM once and meets the whole batch.
//
// Weights lie as they are used, a row of W for each output. A lane loads 16 bytes of a row at a time and multiplies them
// as they arrive: a sum over k does not care in which order it is taken, so columns are numbered by the lanes that hold
// them, of W and X alike. The tensor cores take 16 rows of W and 8 vectors at once; fewer vectors leave some of them idle,
// which is free while DRAM sets the pace. The warps of a block share k out among them, COLUMNS at a time, so that a block reads
// its rows from end to end; its 16 STRIPES rows make it read X as often as there are such groups of rows, from L2. While a
// step is multiplied the next one is on its way, and while products are put together the next rows are.
//
// A launch goes through as many layers as the array of weights holds, each with vectors of its own.

namespace batch {

using u64 = unsigned long long;
using half = unsigned short;

constexpr unsigned LARGEST = 4096;  // rows and columns of a layer, where the weights are enough for one

constexpr unsigned VECTOR = 8;      // elements that are loaded together

// Layers of `side` rows and columns, a multiple of VECTOR, as many as the weights are enough for.
struct Layers {
    unsigned side;
    u64 count;

    __device__ explicit Layers(u64 n) : side(LARGEST) {
        if (n < u64(LARGEST) * LARGEST) {
            side = unsigned(sqrtf(float(unsigned(n))));
            while (u64(side) * side > n) --side;
            while (u64(side + 1) * (side + 1) <= n) ++side;
            side = side / VECTOR * VECTOR;
        }
        count = side ? n / (u64(side) * side) : 0;
    }
};

__device__ __forceinline__ void mma(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ half rounded(float x) {
    half y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

// Eight elements of a row; those that are not there are zeros.
__device__ __forceinline__ uint4 eight(const half* matrix, unsigned row, unsigned column, unsigned side, bool there) {
    return there ? __ldg(reinterpret_cast<const uint4*>(matrix + u64(row) * side + column)) : make_uint4(0, 0, 0, 0);
}

__device__ __forceinline__ uint4 eight_streamed(const half* matrix, unsigned row, unsigned column, unsigned side, bool there) {
    return there ? __ldcs(reinterpret_cast<const uint4*>(matrix + u64(row) * side + column)) : make_uint4(0, 0, 0, 0);
}

// So many rows of a layer, and its vectors.
struct Tile {
    const half *weights, *vectors;
    unsigned first, rows;  // none of a tile that is not there

    __device__ Tile(const half* weights, const half* vectors, const Layers& all, unsigned there, u64 number, unsigned height) {
        const unsigned of_a_layer = (all.side + height - 1) / height;
        const u64 layer = number / of_a_layer;
        this->weights = weights + layer * all.side * all.side;
        this->vectors = vectors + layer * there * all.side;
        first = number % of_a_layer * height;
        rows = layer < all.count ? all.side : 0;
    }
};

// What a lane holds of one step of its warp: rows of weights and of vectors, the same columns of both.
template <int STRIPES, int GROUPS, int COLUMNS>
struct Step {
    static constexpr int CHUNKS = COLUMNS / 32;
    uint4 w[STRIPES][2][CHUNKS], x[GROUPS][CHUNKS];

    __device__ __forceinline__ void load(const Tile& tile, unsigned there, unsigned k, unsigned side) {
        const unsigned i = threadIdx.x % 32 / 4, j = threadIdx.x % 4;
#pragma unroll
        for (int s = 0; s < STRIPES; ++s)
#pragma unroll
            for (int h = 0; h < 2; ++h)
#pragma unroll
                for (int c = 0; c < CHUNKS; ++c) {
                    const unsigned row = tile.first + 16 * s + 8 * h + i, column = k + 32 * c + 8 * j;
                    w[s][h][c] = eight_streamed(tile.weights, row, column, side, row < tile.rows && column < side);
                }
#pragma unroll
        for (int g = 0; g < GROUPS; ++g)
#pragma unroll
            for (int c = 0; c < CHUNKS; ++c) {
                const unsigned row = 8 * g + i, column = k + 32 * c + 8 * j;
                x[g][c] = eight(tile.vectors, row, column, side, row < there && column < side && tile.rows);
            }
    }

    __device__ __forceinline__ void multiply(float (&sums)[STRIPES][GROUPS][4]) const {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c)
#pragma unroll
            for (int s = 0; s < STRIPES; ++s)
#pragma unroll
                for (int g = 0; g < GROUPS; ++g) {
                    const uint4 &up = w[s][0][c], &down = w[s][1][c], &b = x[g][c];
                    mma(sums[s][g], up.x, down.x, up.y, down.y, b.x, b.y);
                    mma(sums[s][g], up.z, down.z, up.w, down.w, b.z, b.w);
                }
    }
};

// As many as there are registers for: a step's, twice over, and its sums.
__host__ __device__ constexpr int warps_of_an_sm(int stripes, int groups, int columns) {
    return columns / 32 * (2 * stripes + groups) + stripes * groups > 13 ? 8 : 16;
}

// The products of a block: what its warps hold, added and rounded once.
template <int WARPS, int STRIPES, int GROUPS>
__device__ __forceinline__ void store(
    half* products, const float (&sums)[STRIPES][GROUPS][4], unsigned there, unsigned first, unsigned side) {
    constexpr int ROWS = 16 * STRIPES;
    __shared__ float shared[WARPS][8 * GROUPS][ROWS + 1];
    const unsigned warp = threadIdx.x / 32, i = threadIdx.x % 32 / 4, j = threadIdx.x % 4;
#pragma unroll
    for (int s = 0; s < STRIPES; ++s)
#pragma unroll
        for (int g = 0; g < GROUPS; ++g)
#pragma unroll
            for (int e = 0; e < 4; ++e) shared[warp][8 * g + 2 * j + e % 2][16 * s + 8 * (e / 2) + i] = sums[s][g][e];
    __syncthreads();
    for (unsigned at = threadIdx.x; at < there * ROWS; at += 32 * WARPS) {
        const unsigned vector = at / ROWS, row = at % ROWS;
        float total = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) total += shared[w][vector][row];
        if (first + row < side) products[u64(vector) * side + first + row] = rounded(total);
    }
    __syncthreads();
}

template <int BATCH, int STRIPES, int WARPS, int COLUMNS>
__global__ void __launch_bounds__(32 * WARPS, warps_of_an_sm(STRIPES, (BATCH + 7) / 8, COLUMNS) / WARPS)
    layers(const half* vectors, const half* weights, half* products, u64 n, unsigned, float, float) {
    constexpr int GROUPS = (BATCH + 7) / 8, ROWS = 16 * STRIPES, STEP = WARPS * COLUMNS;
    const Layers all(n);
    const unsigned side = all.side, there = BATCH < side ? BATCH : side, start = threadIdx.x / 32 * COLUMNS;
    u64 number = blockIdx.x;
    Tile tile(weights, vectors, all, there, number, ROWS);
    Step<STRIPES, GROUPS, COLUMNS> step;
    step.load(tile, there, start, side);
#pragma unroll 1
    while (tile.rows) {
        number += gridDim.x;
        const Tile next(weights, vectors, all, there, number, ROWS);
        float sums[STRIPES][GROUPS][4] = {};
#pragma unroll 1
        for (unsigned k = start; k < side; k += STEP) {
            step.multiply(sums);
            if (k + STEP < side)
                step.load(tile, there, k + STEP, side);
            else
                step.load(next, there, start, side);
        }
        store<WARPS>(products + (tile.vectors - vectors), sums, there, tile.first, side);
        tile = next;
    }
}

}  // namespace batch
