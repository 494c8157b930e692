// The tensor-core roof by warp-level instructions: operands and accumulators in registers, no memory in the loop.
//
// Each warp owns a tile D of (16 MT) x (8 NT) or (16 MT) x (16 NT) elements and keeps adding the same product A B of 16
// terms to it: every MMA of a step has an accumulator of its own, so they are independent, and none can be dropped.
// Accumulators restart at zero every PERIOD steps: values stay finite however long a launch is, and D is PERIOD * A B.
//
// Operands come from FP32 arrays: a quarter of the element, negative where its last mantissa bit is set. Random elements
// of [1, 2) so give both signs and full mantissas, ones give 1/4 (16 products of 1/16: D counts the steps), zeros zeros.
// No header is needed: conversions and instructions are PTX.

namespace tensor {

using u64 = unsigned long long;

__device__ __forceinline__ float operand(float x) {
    const float quarter = 0.25f * x;
    return __float_as_uint(x) & 1u ? -quarter : quarter;
}

__device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned both;
    asm("{.reg .f16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}" : "=r"(both) : "f"(low), "f"(high));
    return both;
}

__device__ __forceinline__ float2 unpack(unsigned both) {
    float2 v;
    asm("{.reg .f16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(v.x), "=f"(v.y) : "r"(both));
    return v;
}

// Elements beyond the last one are zeros.
__device__ __forceinline__ float element(const float* x, u64 i, u64 n) { return i < n ? operand(x[i]) : 0.0f; }
__device__ __forceinline__ unsigned pair(const float* x, u64 i, u64 n) { return pack(element(x, i, n), element(x, i + 1, n)); }
__device__ __forceinline__ void put(float* y, u64 i, u64 n, float value) {
    if (i < n) y[i] = value;
}

constexpr unsigned BODY = 8;  // steps in the body of a warp's loop

// The steps of all tiles are dealt out in chunks of PERIOD steps, evenly over the owners (warps or warpgroups) whatever
// their number: an owner may begin or end within a tile, since every chunk of a tile leaves the same D.
// `bodies` is PERIOD / BODY, worked out at run time: where the assembler knows the trip count it unrolls, by card.
struct Share {
    unsigned chunk, end, per_tile, bodies;
    __device__ __forceinline__ Share(u64 n, unsigned tile_elements, unsigned repeats, unsigned period, unsigned owner, unsigned owners)
        : per_tile(repeats / period), bodies(repeats / per_tile / BODY) {
        const unsigned chunks = unsigned((n + tile_elements - 1) / tile_elements) * per_tile;
        const unsigned each = chunks / owners, more = chunks % owners;
        chunk = owner * each + min(owner, more);
        end = chunk + each + (owner < more);
    }
    __device__ __forceinline__ unsigned tile() const { return chunk / per_tile; }
    __device__ __forceinline__ unsigned stop() const { return min(end, (tile() + 1) * per_tile); }
};

// One step of 16 terms. sm_75 has only the instruction of 8 terms: two of them, on the halves of the same registers.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma(unsigned (&d)[2], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
__device__ __forceinline__ void half_step(float (&d)[4], unsigned a0, unsigned a1, unsigned b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(b));
}
__device__ __forceinline__ void half_step(unsigned (&d)[2], unsigned a0, unsigned a1, unsigned b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a0), "r"(a1), "r"(b));
}
template <class D>
__device__ __forceinline__ void mma(D& d, const unsigned (&a)[4], const unsigned (&b)[2]) {
    half_step(d, a[0], a[1], b[0]);
    half_step(d, a[2], a[3], b[1]);
}
#endif

__device__ __forceinline__ float2 accumulated(const float (&d)[4], int i) { return make_float2(d[2 * i], d[2 * i + 1]); }
__device__ __forceinline__ float2 accumulated(const unsigned (&d)[2], int i) { return unpack(d[i]); }

struct Fp32 {
    using Word = float;
    static constexpr int MMA = 4, WMMA = 8;  // accumulator registers of one instruction
};
struct Fp16 {
    using Word = unsigned;
    static constexpr int MMA = 2, WMMA = 4;
};

template <class Word, int TILES, int N>
__device__ __forceinline__ void clear(Word (&d)[TILES][N]) {
#pragma unroll
    for (int t = 0; t < TILES; ++t)
#pragma unroll
        for (int i = 0; i < N; ++i) d[t][i] = 0;
}

// A is row-major (16 MT) x 16, B column-major 16 x (8 NT), D row-major; each at the start of the tile's own part.
template <class Acc, int MT, int NT, int PERIOD, int T>
__global__ void __launch_bounds__(T, 1) mma_sync(const float* x, const float* z, float* y, u64 n, unsigned repeats, float, float) {
    const int group = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    Share share(n, 128 * MT * NT, repeats, PERIOD, blockIdx.x * (T / 32) + threadIdx.x / 32, gridDim.x * (T / 32));
#pragma unroll 1
    while (share.chunk < share.end) {
        const u64 part = u64(share.tile()) * (128 * MT * NT);
        unsigned a[MT][4], b[NT][2];
#pragma unroll
        for (int m = 0; m < MT; ++m)
#pragma unroll
            for (int i = 0; i < 4; ++i) a[m][i] = pair(x, part + (16 * m + group + 8 * (i % 2)) * 16 + column + 8 * (i / 2), n);
#pragma unroll
        for (int t = 0; t < NT; ++t)
#pragma unroll
            for (int i = 0; i < 2; ++i) b[t][i] = pair(z, part + (8 * t + group) * 16 + column + 8 * i, n);
        typename Acc::Word d[MT * NT][Acc::MMA];
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
                const u64 at = part + (16 * (t / NT) + group + 8 * i) * (8 * NT) + 8 * (t % NT) + column;
                const float2 two = accumulated(d[t], i);
                put(y, at, n, two.x);
                put(y, at + 1, n, two.y);
            }
    }
}

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
__device__ __forceinline__ float stored(const unsigned* tile, int i, unsigned) {
    return unpack(tile[i / 2] >> 16 * (i % 2)).x;
}

// Fragments of the portable instruction have no documented layout, so they pass through a warp's own shared tile.
template <class Acc, int MT, int NT, int PERIOD, int T>
__global__ void __launch_bounds__(T, 1) wmma_sync(const float* x, const float* z, float* y, u64 n, unsigned repeats, float, float) {
    __shared__ __align__(32) unsigned tiles[T / 32][256];
    unsigned* tile = tiles[threadIdx.x / 32];
    const unsigned address = unsigned(__cvta_generic_to_shared(tile));
    const int lane = threadIdx.x % 32;
    Share share(n, 256 * MT * NT, repeats, PERIOD, blockIdx.x * (T / 32) + threadIdx.x / 32, gridDim.x * (T / 32));
#pragma unroll 1
    while (share.chunk < share.end) {
        const u64 part = u64(share.tile()) * (256 * MT * NT);
        unsigned a[MT][8], b[NT][8];
#pragma unroll
        for (int m = 0; m < MT; ++m) {
            for (int i = lane; i < 128; i += 32) tile[i] = pair(x, part + 256 * m + 2 * i, n);
            __syncwarp();
            WMMA_LOAD("a", "row", a[m], address);
            __syncwarp();
        }
#pragma unroll
        for (int t = 0; t < NT; ++t) {
            for (int i = lane; i < 128; i += 32) tile[i] = pair(z, part + 256 * t + 2 * i, n);
            __syncwarp();
            WMMA_LOAD("b", "col", b[t], address);
            __syncwarp();
        }
        typename Acc::Word d[MT * NT][Acc::WMMA];
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
                put(y, part + (16 * (t / NT) + i / 16) * (16 * NT) + 16 * (t % NT) + i % 16, n, stored(tile, i, typename Acc::Word()));
            __syncwarp();
        }
    }
}

}  // namespace tensor
