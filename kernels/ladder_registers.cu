// The rung above tiles: the reuse is in registers.
//
// A block of 256 threads makes a 128×128 tile of C, a thread 8×8 elements of it: sixteen floats from shared memory feed 64
// multiply-adds, so shared memory is asked for an eighth of what tiles alone ask. The next strips of A and B are on their
// way, in registers, while these are multiplied, and two pairs of strips take turns, so that a step has one barrier.
//
// - A thread's elements are four squares of 4×4, 16 rows and 32 columns apart: of the lanes that shared memory serves at
//   once, 16 bytes each, all want the same floats of A, or 128 bytes of a row of B.
// - A's strip lies turned over, its rows four floats longer than they need be: the stores of a warp meet in no bank.
// - Loads pass L1 by (.cg), so what the blocks ask of L2 is what it gives.
// - Loads and stores move 16 bytes. Where rows begin anywhere else, each
//   element is made as the lowest rung does it.
//
// `Last` is done to each element before it is stored, as the scalar `a` says: nothing, or the GELU of gelu.cu.

namespace ladder {

constexpr unsigned SIDE = 128, THREADS = 256, PADDING = 4;

__device__ __forceinline__ float4 four(const float* at, bool inside) {
    return inside ? __ldcg(reinterpret_cast<const float4*>(at)) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

template <class Last>
__device__ __forceinline__ void one_by_one(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, unsigned size, float a) {
#pragma unroll 1
    for (unsigned which = blockIdx.x * THREADS + threadIdx.x; which < size * size; which += gridDim.x * THREADS)
        C[which] = Last::of(element<1>(A, B, size, which / size, which % size), a);
}

// DEPTH columns of A and rows of B make a step: a thread brings DEPTH / 8 times four floats of each.
template <int DEPTH, class Last>
__global__ void __launch_bounds__(THREADS, 2) registers(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, u64 n, unsigned, float a, float) {
    constexpr int EACH = DEPTH / 8;
    __shared__ __align__(16) float left[2][DEPTH][SIDE + PADDING], right[2][DEPTH][SIDE];
    const unsigned size = square_root(n), tiles = (size + SIDE - 1) / SIDE;
    if (size % 4) {
        one_by_one<Last>(A, B, C, size, a);
        return;
    }
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned row = warp / 2 * 32 + lane / 8 * 4, column = warp % 2 * 64 + lane % 8 * 4;
    const unsigned left_row = threadIdx.x / 2, left_step = threadIdx.x % 2 * 4;
    const unsigned right_step = warp, right_column = lane * 4;
    unsigned turn = 0;
#pragma unroll 1
    for (unsigned which = blockIdx.x; which < tiles * tiles; which += gridDim.x) {
        const unsigned top = which / tiles * SIDE, side = which % tiles * SIDE;
        const float* from_left = A + (top + left_row) * size + left_step;
        const float* from_right = B + right_step * size + side + right_column;
        // how far the matrix goes on from what this thread brings in next; there is nothing beyond its edges
        int columns = top + left_row < size ? int(size - left_step) : 0;
        int rows = side + right_column < size ? int(size - right_step) : 0;
        float4 next_left[EACH], next_right[EACH];
        const auto fetch = [&] {
#pragma unroll
            for (int i = 0; i < EACH; ++i) {
                next_left[i] = four(from_left + 8 * i, columns > 8 * i);
                next_right[i] = four(from_right + 8 * i * size, rows > 8 * i);
            }
            from_left += DEPTH;
            from_right += DEPTH * size;
            columns -= DEPTH;
            rows -= DEPTH;
        };
        float sums[8][8] = {};
        fetch();
#pragma unroll 1
        for (unsigned k = 0; k < size; k += DEPTH, turn ^= 1) {
#pragma unroll
            for (int i = 0; i < EACH; ++i) {
                left[turn][left_step + 8 * i][left_row] = next_left[i].x;
                left[turn][left_step + 8 * i + 1][left_row] = next_left[i].y;
                left[turn][left_step + 8 * i + 2][left_row] = next_left[i].z;
                left[turn][left_step + 8 * i + 3][left_row] = next_left[i].w;
                *reinterpret_cast<float4*>(&right[turn][right_step + 8 * i][right_column]) = next_right[i];
            }
            __syncthreads();
            fetch();
#pragma unroll
            for (int t = 0; t < DEPTH; ++t) {
                float x[8], y[8];
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    *reinterpret_cast<float4*>(x + 4 * half) = *reinterpret_cast<const float4*>(&left[turn][t][row + 16 * half]);
                    *reinterpret_cast<float4*>(y + 4 * half) = *reinterpret_cast<const float4*>(&right[turn][t][column + 32 * half]);
                }
#pragma unroll
                for (int i = 0; i < 8; ++i)
#pragma unroll
                    for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
            }
        }
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 8; j += 4) {
                const unsigned r = top + row + 16 * (i / 4) + i % 4, c = side + column + 8 * j;
                const float4 done = make_float4(Last::of(sums[i][j], a), Last::of(sums[i][j + 1], a), Last::of(sums[i][j + 2], a), Last::of(sums[i][j + 3], a));
                if (r < size && c < size) *reinterpret_cast<float4*>(C + r * size + c) = done;
            }
    }
}

}  // namespace ladder
