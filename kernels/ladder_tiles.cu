// The second rung, tiles in shared memory: a block of T×T threads makes one T×T tile of C, an element a thread.
//
// Step by step it brings a T×T tile of A and one of B into shared memory, where each float is used T times. That is all the
// reuse there is: every multiply-add takes two floats from shared memory, and the rate at which it gives them out is what
// limits the kernel.
//
// What crosses each level can be counted because of three choices:
//
// - Loads pass L1 by (.cg), so what the blocks ask of L2 is what it gives, whoever else runs on the SM.
// - A's tile lies turned over, so that the floats a thread takes one after another lie in different rows, as B's do, and
//   must be read word by word: each read of a warp is one pass of the pipe. Read in fours, floats that a whole warp shares
//   take fewer passes than their bytes would (an H200 then gives out 39.5 TB/s of 33.5), and nobody publishes how many.
// - Rows of the turned tile are 32 / T words longer than T, so that no two stores of a warp meet in one bank.
//
// The next tiles are on their way, in registers, while these are multiplied, and two pairs of tiles take turns, so that a
// step has one barrier.

namespace ladder {

template <int T>
__global__ void __launch_bounds__(T * T) tile(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, u64 n, unsigned, float, float) {
    __shared__ float left[2][T][T + 32 / T], right[2][T][T];
    const unsigned size = square_root(n), tiles = (size + T - 1) / T;
    const unsigned row = threadIdx.x / T, column = threadIdx.x % T;
    unsigned turn = 0;
#pragma unroll 1
    for (unsigned which = blockIdx.x; which < tiles * tiles; which += gridDim.x) {
        const unsigned i = which / tiles * T + row, j = which % tiles * T + column;
        const auto of_left = [&](unsigned k) { return i < size && k + column < size ? __ldcg(A + i * size + k + column) : 0.0f; };
        const auto of_right = [&](unsigned k) { return k + row < size && j < size ? __ldcg(B + (k + row) * size + j) : 0.0f; };
        float sum = 0.0f, next_left = of_left(0), next_right = of_right(0);
#pragma unroll 1
        for (unsigned k = 0; k < size; k += T, turn ^= 1) {
            left[turn][column][row] = next_left;
            right[turn][row][column] = next_right;
            __syncthreads();
            next_left = of_left(k + T);
            next_right = of_right(k + T);
#pragma unroll
            for (int t = 0; t < T; ++t) sum = fmaf(left[turn][t][row], right[turn][t][column], sum);
        }
        if (i < size && j < size) C[i * size + j] = sum;
    }
}

}  // namespace ladder
