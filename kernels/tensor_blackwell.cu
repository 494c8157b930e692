// The tensor-core roof of data-centre Blackwell: tcgen05.mma of 128 x 256, operands from shared, sums in tensor memory.
//
// One thread issues for the whole SM, so one warp elects it and three only read the result. Each block owns a tile D of
// 128 x 256 (256 columns of tensor memory, of 512) and keeps adding A B, four steps of 32 bytes; the sums restart every
// PERIOD steps. Batches of ROUNDS times four steps each report to one of two barriers: the next is issued before the last
// has ended. `tensor_mma` and `row_of_sums` are written by tensor_ptx.py.

namespace tensor {

constexpr int ROWS = 128, COLUMNS = 256;
constexpr unsigned ONES = 0x38383838u;  // four UE4M3 scales of 1

// As on Hopper (tensor_hopper.cu), with the constant that this generation wants in bit 46.
__device__ __forceinline__ u64 descriptor(unsigned address) {
    return u64((address & 0x3FFFFu) >> 4) | u64(1) << 16 | u64(1024 >> 4) << 32 | u64(1) << 46 | u64(1) << 62;
}

__device__ __forceinline__ bool elected() {
    unsigned one;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(one));
    return one;
}

__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity) {
    asm volatile(
        "{.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

__device__ __forceinline__ float sum_of(unsigned word, float) { return __uint_as_float(word); }
__device__ __forceinline__ float sum_of(unsigned word, int) { return float(int(word)); }
__device__ __forceinline__ float sum_of(unsigned word, unsigned) { return half(word & 0xFFFFu); }  // not packed

template <class Format, class Word, int SCALES, int PERIOD, int ROUNDS>
__global__ void __launch_bounds__(128) tcgen05(const float* x, const float* z, float* y, u64 n, unsigned repeats, float, float) {
    extern __shared__ unsigned char memory[];
    __shared__ u64 barriers[2];
    __shared__ unsigned allocated;
    constexpr unsigned TILE = ROWS * COLUMNS, BATCH = 4 * ROUNDS, WANTED = SCALES ? 2 * COLUMNS : COLUMNS;
    const unsigned shared_a = (unsigned(__cvta_generic_to_shared(memory)) + 1023u) & ~1023u;
    const unsigned shared_b = shared_a + ROWS * 128, barrier = unsigned(__cvta_generic_to_shared(barriers));
    const u64 a = descriptor(shared_a), b = descriptor(shared_b);
    const unsigned warp = threadIdx.x / 32;
    if (warp == 0) {
        const unsigned address = unsigned(__cvta_generic_to_shared(&allocated));
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(address), "r"(WANTED) : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; ++i) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier + 8 * i) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\ntcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const unsigned sums = allocated, own_lanes = sums + (warp * 32 << 16), scales = sums + COLUMNS;
#pragma unroll 1
    for (int column = 0; column < SCALES; ++column)
        asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(own_lanes + COLUMNS + column), "r"(ONES) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    unsigned batches = 0;  // issued so far: batch i reports to barrier i % 2, whose parity then is i / 2 % 2
    Share share(n, TILE, repeats, PERIOD, blockIdx.x, gridDim.x);
#pragma unroll 1
    while (share.chunk < share.end) {
        const u64 part = u64(share.tile()) * TILE;
        stage<Format>(shared_a, Part<TILE>{x, part, n}, ROWS);
        stage<Format>(shared_b, Part<TILE>{z, part, n}, COLUMNS);
        asm volatile("fence.proxy.async.shared::cta;\ntcgen05.fence::before_thread_sync;" ::: "memory");
        __syncthreads();
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
        const unsigned steps = (share.stop() - share.chunk) * PERIOD, end = batches + steps / BATCH;
        if (warp == 0 && elected()) {
            unsigned step = 0;
#pragma unroll 1
            for (unsigned i = batches; i < end; ++i, step += BATCH) {
                if (i >= batches + 2) wait_for(barrier + 8 * (i % 2), (i / 2 + 1) % 2);
                tensor_mma(sums, a, b, scales, step % PERIOD);
#pragma unroll
                for (int k = 1; k < BATCH; ++k) tensor_mma(sums, a + 2 * (k % 4), b + 2 * (k % 4), scales, 1);
                asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier + 8 * (i % 2))
                             : "memory");
            }
        }
        __syncwarp();
        batches = end;
        wait_for(barrier + 8 * ((end - 1) % 2), (end - 1) / 2 % 2);
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
        share.chunk = share.stop();
#pragma unroll 1
        for (int column = 0; column < COLUMNS; column += 32) {
            unsigned word[32];
            row_of_sums(word, own_lanes + column);
#pragma unroll
            for (int i = 0; i < 32; ++i) put(y, part + u64(threadIdx.x) * COLUMNS + column + i, n, sum_of(word[i], Word()));
        }
        asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
        __syncthreads();  // nobody stages the next tile, or adds to its sums, while another warp still reads this one
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    }
    if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(sums), "r"(WANTED));
}

}  // namespace tensor
