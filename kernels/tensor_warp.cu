// The tensor-core roof by warp-level instructions: operands and accumulators in registers, no memory in the loop.
//
// Each warp owns a tile D of (16 MT) x (8 NT) elements and keeps adding the same product A B of one step to it: every MMA
// of a step has an accumulator of its own, so they are independent, and none can be dropped. Accumulators restart at zero
// every PERIOD steps: values stay finite however long a launch is, and D is PERIOD * A B.
//
// `mma` is written by tensor_ptx.py, for one type and card. All types have one layout, counted in registers: those of A
// hold rows `group` and `group` + 8 in turn, four threads side by side; those of B likewise, by columns.

namespace tensor {

// A is row-major (16 MT) x TERMS, B column-major TERMS x (8 NT), D row-major; each at the start of the tile's own part.
template <class Format, class Word, int N, int MT, int NT, int PERIOD, int T>
__global__ void __launch_bounds__(T, 1) mma_sync(const float* x, const float* z, float* y, u64 n, unsigned repeats, float, float) {
    constexpr unsigned TILE = 128 * MT * NT, TERMS = 2 * Format::REGISTERS * Format::PER_WORD;
    const int group = threadIdx.x % 32 / 4, beside = threadIdx.x % 4;
    Share share(n, TILE, repeats, PERIOD, blockIdx.x * (T / 32) + threadIdx.x / 32, gridDim.x * (T / 32));
#pragma unroll 1
    while (share.chunk < share.end) {
        const u64 part = u64(share.tile()) * TILE;
        const Part<TILE> left{x, part, n}, right{z, part, n};
        typename Format::Word a[MT][Format::REGISTERS], b[NT][Format::REGISTERS / 2];
#pragma unroll
        for (int m = 0; m < MT; ++m)
#pragma unroll
            for (int i = 0; i < Format::REGISTERS; ++i)
                a[m][i] = Format::template word<2>(left, (16 * m + group + 8 * (i % 2)) * TERMS + (4 * (i / 2) + beside) * Format::PER_WORD);
#pragma unroll
        for (int t = 0; t < NT; ++t)
#pragma unroll
            for (int i = 0; i < Format::REGISTERS / 2; ++i)
                b[t][i] = Format::template word<2>(right, (8 * t + group) * TERMS + (4 * i + beside) * Format::PER_WORD);
        Word d[MT * NT][N];
#pragma unroll 1
        for (const unsigned stop = share.stop(); share.chunk < stop; ++share.chunk) {
            clear(d);
#pragma unroll 1
            for (unsigned left = share.bodies; left > 0; --left) {
#pragma unroll
                for (unsigned step = 0; step < BODY; ++step)
#pragma unroll
                    for (int t = 0; t < MT * NT; ++t) mma(d[t], a[t / NT], b[t % NT]);
            }
        }
#pragma unroll
        for (int t = 0; t < MT * NT; ++t)
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const u64 at = part + (16 * (t / NT) + group + 8 * i) * (8 * NT) + 8 * (t % NT) + 2 * beside;
                const float2 two = accumulated(d[t], i);
                put(y, at, n, two.x);
                put(y, at + 1, n, two.y);
            }
    }
}

}  // namespace tensor
