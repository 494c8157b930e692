// What both kinds of attention are made of: the warp-level matrix instruction, FP32 to FP16, powers of two, streamed loads.
//
// `mma` multiplies 16 x 16 by 16 x 8. Lane 4 i + j holds of A the rows i and i + 8 in columns 2 j, 2 j + 1, 2 j + 8 and
// 2 j + 9, of B those rows in column i, of the sums the rows i and i + 8 in columns 2 j and 2 j + 1 (PTX ISA, "Matrix
// Fragments for mma.m16n8k16"). Powers are of two: what softmax takes the exponential of is scaled by log2(e) before.

namespace attention {

using u64 = unsigned long long;

constexpr int WIDTH = 128;                 // of a head
constexpr int VECTORS = WIDTH * 2 / 16;    // of 16 bytes in a row
constexpr float SCALE = 0.12751743f;       // log2(e) / sqrt(WIDTH)

__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned halves(float low, float high) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ __forceinline__ float power(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xFF800000); }

// Over the four lanes that share the rows of a sum.
__device__ __forceinline__ float greatest_of_four(float mine) {
    mine = fmaxf(mine, __shfl_xor_sync(~0u, mine, 1));
    return fmaxf(mine, __shfl_xor_sync(~0u, mine, 2));
}

__device__ __forceinline__ float sum_of_four(float mine) {
    mine += __shfl_xor_sync(~0u, mine, 1);
    return mine + __shfl_xor_sync(~0u, mine, 2);
}

}  // namespace attention
