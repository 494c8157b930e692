// The tensor-core roof of Hopper: warpgroup MMA, m64n256k16, both operands from shared memory, accumulators in registers.
//
// The warp-level instructions stop far below this card's peak: only four warps acting as one, reading operands from
// shared memory, keep its tensor cores busy. Two blocks an SM, so that one issues while the other waits for its ROUNDS. Each block
// owns a tile D of 64 x 256 and keeps adding A B with 64 terms, 16 a step; accumulators restart every PERIOD steps.
// `warpgroup_mma` is written by tensor.py: its 128 (64) operands would fill a page.
//
// Shared layout: rows of 64 halves (128 bytes), A by rows, B by columns; the 16-byte chunks of row r are permuted by
// r mod 8 (the 128-byte swizzle), groups of eight rows are 1024 bytes apart. A step moves both descriptors on by 16
// halves. Operands are as in tensor.cu.

namespace tensor {

constexpr int ROWS = 64, COLUMNS = 256, TERMS = 64;

// Start address, offset between groups of eight rows (both in units of 16 bytes) and the 128-byte swizzle.
__device__ __forceinline__ u64 descriptor(unsigned address) {
    return u64((address & 0x3FFFFu) >> 4) | u64(1) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}

__device__ __forceinline__ void stage(unsigned shared, const float* x, u64 part, u64 n, int rows) {
    for (int i = threadIdx.x; i < rows * TERMS / 2; i += 128) {
        const int row = i / (TERMS / 2), term = i % (TERMS / 2) * 2;
        const unsigned at = shared + row * 128 + ((term / 8 ^ row % 8) * 16) + term % 8 * 2;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(pair(x, part + row * TERMS + term, n)) : "memory");
    }
}

__device__ __forceinline__ float2 accumulated(const float (&d)[128], int i) { return make_float2(d[2 * i], d[2 * i + 1]); }
__device__ __forceinline__ float2 accumulated(const unsigned (&d)[64], int i) { return unpack(d[i]); }

template <class Word, int N, int PERIOD, int ROUNDS>
__global__ void __launch_bounds__(128) wgmma(const float* x, const float* z, float* y, u64 n, unsigned repeats, float, float) {
    extern __shared__ unsigned char memory[];
    const unsigned shared_a = (unsigned(__cvta_generic_to_shared(memory)) + 1023u) & ~1023u;
    const unsigned shared_b = shared_a + ROWS * TERMS * 2;
    const u64 a = descriptor(shared_a), b = descriptor(shared_b);
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    Share share(n, ROWS * COLUMNS, repeats, PERIOD, blockIdx.x, gridDim.x);
#pragma unroll 1
    while (share.chunk < share.end) {
        const u64 part = u64(share.tile()) * (ROWS * COLUMNS);
        stage(shared_a, x, part, n, ROWS);
        stage(shared_b, z, part, n, COLUMNS);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        Word d[N];
#pragma unroll
        for (int i = 0; i < N; ++i) d[i] = 0;
        const unsigned steps = (share.stop() - share.chunk) * PERIOD;
#pragma unroll 1
        for (unsigned step = 0; step < steps; step += ROUNDS * TERMS / 16) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            warpgroup_mma(d, a, b, step % PERIOD);
#pragma unroll
            for (int k = 1; k < ROUNDS * TERMS / 16; ++k) warpgroup_mma(d, a + 2 * (k % 4), b + 2 * (k % 4), 1);
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
