// The tensor-core roof of Hopper: warpgroup MMA of 64 x 256, both operands from shared memory, accumulators in registers.
//
// The warp-level instructions stop far below this card's peak: only four warps acting as one, reading operands from
// shared memory, keep its tensor cores busy. Two blocks an SM, so that one issues while the other waits for its ROUNDS. Each block
// owns a tile D of 64 x 256 and keeps adding A B, four steps of 32 bytes; accumulators restart every PERIOD steps.
// `warpgroup_mma` is written by tensor_ptx.py: its 128 (64) operands would fill a page.

namespace tensor {

constexpr int ROWS = 64, COLUMNS = 256;

// Start address, offset between groups of eight rows (both in units of 16 bytes) and the 128-byte swizzle.
__device__ __forceinline__ u64 descriptor(unsigned address) {
    return u64((address & 0x3FFFFu) >> 4) | u64(1) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}

template <class Format, class Word, int N, int PERIOD, int ROUNDS>
__global__ void __launch_bounds__(128) wgmma(const float* x, const float* z, float* y, u64 n, unsigned repeats, float, float) {
    extern __shared__ unsigned char memory[];
    constexpr unsigned TILE = ROWS * COLUMNS;
    const unsigned shared_a = (unsigned(__cvta_generic_to_shared(memory)) + 1023u) & ~1023u;
    const unsigned shared_b = shared_a + ROWS * 128;
    const u64 a = descriptor(shared_a), b = descriptor(shared_b);
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    Share share(n, TILE, repeats, PERIOD, blockIdx.x, gridDim.x);
#pragma unroll 1
    while (share.chunk < share.end) {
        const u64 part = u64(share.tile()) * TILE;
        stage<Format>(shared_a, Part<TILE>{x, part, n}, ROWS);
        stage<Format>(shared_b, Part<TILE>{z, part, n}, COLUMNS);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        Word d[N];
#pragma unroll
        for (int i = 0; i < N; ++i) d[i] = 0;
        const unsigned steps = (share.stop() - share.chunk) * PERIOD;
#pragma unroll 1
        for (unsigned step = 0; step < steps; step += 4 * ROUNDS) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            warpgroup_mma(d, a, b, step % PERIOD);
#pragma unroll
            for (int k = 1; k < 4 * ROUNDS; ++k) warpgroup_mma(d, a + 2 * (k % 4), b + 2 * (k % 4), 1);
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        }
        share.chunk = share.stop();
#pragma unroll
        for (int i = 0; i < COLUMNS / 4; ++i) {
            const u64 at = part + (row + 8 * (i % 2)) * COLUMNS + 8 * (i / 2) + column;
            const float2 two = accumulated(d, i);
            put(y, at, n, two.x);
            put(y, at + 1, n, two.y);
        }
        __syncthreads();  // nobody stages the next tile while another warp still reads this one
    }
}

}  // namespace tensor
