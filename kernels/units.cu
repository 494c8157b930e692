// An arithmetic unit by itself: chains of one operation in registers, and nothing else in the loop that could be its limit.
//
// Each thread keeps CHAINS words and takes STEPS steps on each. An operation says what a word is (a double, two halves …),
// how elements become one, what a step does, and what comes out. The loop is rolled to UNROLL steps, so that its body stays
// in the instruction cache and its counter costs nothing that shows. A chunk is one tile of elements, from loading to
// storing; the chunks of all repeats are dealt out in turn over as many blocks as the card holds at once. Tiles are found
// without a division, whose multiplications would stand among those that are counted. x and y carry no __restrict__, so no
// repeat can be skipped.
//
// A step multiplies one operand by itself: v = a·a + v with a = 1/2. Where warps take turns, each instruction reads its
// operands anew, and a third register to read cost 8 % of the FP64 roof and 1 % of the FP16 and BF16 roofs of an H200.
//
// Values must stay exact, or a step that was left out could hide in rounding. FP64 holds any sum of quarters that comes up.
// FP16 and BF16 have 11 and 8 bits: there the last step of each body takes back what the others added, but for 1/256 a step,
// so values stay below 64 and the result still counts the steps. Integers wrap around: v = v·a + b visits all 2^32 values.
// Conversions and packed steps are PTX, so no header is needed.

namespace units {

using u64 = unsigned long long;

template <class Operation, int CHAINS, int STEPS, int UNROLL, int T>
__global__ void __launch_bounds__(T) run(const float* x, float* y, u64 elements, unsigned repeats, float a, float b) {
    constexpr int W = Operation::WIDTH;
    const unsigned n = unsigned(elements);
    const unsigned tiles = (n + CHAINS * W * T - 1) / (CHAINS * W * T);
    const Operation operation(a, b, UNROLL);
    unsigned tile = blockIdx.x;
#pragma unroll 1
    for (unsigned left = tiles * repeats; left > blockIdx.x; left -= min(left, gridDim.x), tile += gridDim.x) {
#pragma unroll 1
        while (tile >= tiles) tile -= tiles;
        const unsigned first = tile * (CHAINS * W * T) + threadIdx.x;
        typename Operation::Word v[CHAINS];
#pragma unroll
        for (int i = 0; i < CHAINS; ++i) {
            float element[W];
#pragma unroll
            for (int e = 0; e < W; ++e) element[e] = first + (i * W + e) * T < n ? x[first + (i * W + e) * T] : 1.0f;
            v[i] = operation.word(element);
        }
#pragma unroll 1
        for (int step = 0; step < STEPS; step += UNROLL) {
#pragma unroll
            for (int s = 0; s < UNROLL; ++s)
#pragma unroll
                for (int i = 0; i < CHAINS; ++i) v[i] = operation.step(v[i], s);
        }
#pragma unroll
        for (int i = 0; i < CHAINS; ++i)
#pragma unroll
            for (int e = 0; e < W; ++e)
                if (first + (i * W + e) * T < n) y[first + (i * W + e) * T] = operation.result(v[i], e);
    }
}

struct Fp64 {
    using Word = double;
    static constexpr int WIDTH = 1;
    double a;
    __device__ Fp64(float a, float, int) : a(a) {}
    __device__ Word word(const float (&x)[1]) const { return x[0]; }
    __device__ Word step(Word v, int) const { return fma(a, a, v); }
    __device__ float result(Word v, int) const { return float(v); }
};

// Two 16-bit numbers in a register, by the instructions of one type.
#define PACKED(NAME, TYPE)                                                                                            \
    struct NAME {                                                                                                     \
        using Word = unsigned;                                                                                        \
        static constexpr int WIDTH = 2;                                                                               \
        Word a, back;                                                                                                 \
        int last;                                                                                                     \
        __device__ static Word pair(float low, float high) {                                                          \
            Word both;                                                                                                \
            asm("{.reg .b16 l, h; cvt.rn." TYPE ".f32 l, %1; cvt.rn." TYPE ".f32 h, %2; mov.b32 %0, {l, h};}"         \
                : "=r"(both)                                                                                          \
                : "f"(low), "f"(high));                                                                               \
            return both;                                                                                              \
        }                                                                                                             \
        __device__ static Word less(float a, int steps) {                                                             \
            const float factor = a * (steps / 64.0f - (steps - 1));                                                   \
            return pair(factor, factor);                                                                              \
        }                                                                                                             \
        __device__ NAME(float a, float, int steps) : a(pair(a, a)), back(less(a, steps)), last(steps - 1) {}          \
        __device__ Word word(const float (&x)[2]) const { return pair(x[0], x[1]); }                                  \
        __device__ Word step(Word v, int s) const {                                                                   \
            asm("fma.rn." TYPE "x2 %0, %1, %2, %0;" : "+r"(v) : "r"(s == last ? back : a), "r"(a));                   \
            return v;                                                                                                 \
        }                                                                                                             \
        __device__ static float number(Word v, int e);                                                                \
        __device__ float result(Word v, int e) const { return number(v, e); }                                         \
    };

PACKED(Fp16, "f16")
PACKED(Bf16, "bf16")
#undef PACKED

__device__ inline float Fp16::number(Word v, int e) {
    float x;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(x) : "r"(v >> 16 * e));
    return x;
}
__device__ inline float Bf16::number(Word v, int e) { return __uint_as_float(e ? v & 0xffff0000u : v << 16); }

// The bits of the element are the integer; the upper 24 of what comes out fit an FP32 number exactly.
struct Int32 {
    using Word = unsigned;
    static constexpr int WIDTH = 1;
    unsigned a, b;
    __device__ Int32(float a, float b, int) : a(unsigned(a)), b(unsigned(b)) {}
    __device__ Word word(const float (&x)[1]) const { return __float_as_uint(x[0]); }
    __device__ Word step(Word v, int) const { return v * a + b; }
    __device__ float result(Word v, int) const { return float(v >> 8); }
};

// Four bytes of a times four bytes of b, added up and to v.
struct Int8Dot {
    using Word = int;
    static constexpr int WIDTH = 1;
    int a, b;
    __device__ Int8Dot(float a, float b, int) : a(int(a) * 0x01010101), b(int(b) * 0x01010101) {}
    __device__ Word word(const float (&x)[1]) const { return int(x[0]); }
    __device__ Word step(Word v, int) const { return __dp4a(a, b, v); }
    __device__ float result(Word v, int) const { return float(v); }
};

}  // namespace units
