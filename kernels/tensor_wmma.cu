// The tensor-core roof by the portable instruction, WMMA: FP16 operands, the same loop as in tensor_warp.cu on tiles of 16 x 16.

namespace tensor {

using Fp16 = Float<16, 10, 114>;

__device__ __forceinline__ void wmma(float (&d)[8], const unsigned (&a)[8], const unsigned (&b)[8]) {
    asm volatile(
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, "
        "{%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),
          "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
}
__device__ __forceinline__ void wmma(unsigned (&d)[4], const unsigned (&a)[8], const unsigned (&b)[8]) {
    asm volatile(
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
        "{%12,%13,%14,%15,%16,%17,%18,%19}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),
          "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
}

#define WMMA_LOAD(which, order, fragment, address)                                                                                   \
    asm volatile("wmma.load." which ".sync.aligned." order ".m16n16k16.shared.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"                   \
                 : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3]), "=r"(fragment[4]), "=r"(fragment[5]), \
                   "=r"(fragment[6]), "=r"(fragment[7])                                                                               \
                 : "r"(address)                                                                                                       \
                 : "memory")

__device__ __forceinline__ void wmma_store(unsigned address, const float (&d)[8]) {
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};" ::"r"(address), "f"(d[0]), "f"(d[1]),
                 "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7])
                 : "memory");
}
__device__ __forceinline__ void wmma_store(unsigned address, const unsigned (&d)[4]) {
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3])
                 : "memory");
}
__device__ __forceinline__ float stored(const unsigned* tile, int i, float) { return __uint_as_float(tile[i]); }
__device__ __forceinline__ float stored(const unsigned* tile, int i, unsigned) { return half(tile[i / 2] >> 16 * (i % 2) & 0xFFFFu); }

// Fragments of the portable instruction have no documented layout, so they pass through a warp's own shared tile.
template <class Word, int N, int MT, int NT, int PERIOD, int T>
__global__ void __launch_bounds__(T, 1) wmma_sync(const float* x, const float* z, float* y, u64 n, unsigned repeats, float, float) {
    constexpr unsigned TILE = 256 * MT * NT;
    __shared__ __align__(32) unsigned tiles[T / 32][256];
    unsigned* tile = tiles[threadIdx.x / 32];
    const unsigned address = unsigned(__cvta_generic_to_shared(tile));
    const int lane = threadIdx.x % 32;
    Share share(n, TILE, repeats, PERIOD, blockIdx.x * (T / 32) + threadIdx.x / 32, gridDim.x * (T / 32));
#pragma unroll 1
    while (share.chunk < share.end) {
        const u64 part = u64(share.tile()) * TILE;
        const Part<TILE> left{x, part, n}, right{z, part, n};
        unsigned a[MT][8], b[NT][8];
#pragma unroll
        for (int m = 0; m < MT; ++m) {
            for (int i = lane; i < 128; i += 32) tile[i] = Fp16::word<2>(left, 256 * m + 2 * i);
            __syncwarp();
            WMMA_LOAD("a", "row", a[m], address);
            __syncwarp();
        }
#pragma unroll
        for (int t = 0; t < NT; ++t) {
            for (int i = lane; i < 128; i += 32) tile[i] = Fp16::word<2>(right, 256 * t + 2 * i);
            __syncwarp();
            WMMA_LOAD("b", "col", b[t], address);
            __syncwarp();
        }
        Word d[MT * NT][N];
#pragma unroll 1
        for (const unsigned stop = share.stop(); share.chunk < stop; ++share.chunk) {
            clear(d);
#pragma unroll 1
            for (unsigned left = share.bodies; left > 0; --left) {
#pragma unroll
                for (unsigned step = 0; step < BODY; ++step)
#pragma unroll
                    for (int t = 0; t < MT * NT; ++t) wmma(d[t], a[t / NT], b[t % NT]);
            }
        }
#pragma unroll
        for (int t = 0; t < MT * NT; ++t) {
            wmma_store(address, d[t]);
            __syncwarp();
            for (int i = lane; i < 256; i += 32)
                put(y, part + (16 * (t / NT) + i / 16) * (16 * NT) + 16 * (t % NT) + i % 16, n, stored(tile, i, Word()));
            __syncwarp();
        }
    }
}

}  // namespace tensor
