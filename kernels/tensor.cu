// What every tensor kernel shares: operands made of FP32 elements, accumulators read, steps dealt out.
//
// Operands are a quarter of the element (E2M1: the element), rounded, negative where its last mantissa bit is set.
// Random elements of [1, 2) so give both signs and full mantissas; ones, zeros and small integers stay exact. No header
// is needed: types are put together bit by bit, and instructions are PTX.

namespace tensor {

using u64 = unsigned long long;

// A narrow float of BITS bits, MANTISSA of them behind the point, and an exponent OFFSET less than that of the FP32 element.
// Halves are rounded away from zero; what is too large becomes the largest; zero stays zero, and nothing else is below normal.
template <int BITS, int MANTISSA, int OFFSET>
struct Float {
    using Word = unsigned;
    static constexpr int PER_WORD = 32 / BITS, REGISTERS = 4;
    __device__ __forceinline__ static unsigned code(float x) {
        const unsigned bits = __float_as_uint(x), half = 1u << (22 - MANTISSA), sign = ((bits >> 31) ^ (bits & 1u)) << (BITS - 1);
        unsigned magnitude = (((bits & 0x7FFFFFFFu) + half) >> (23 - MANTISSA)) - (OFFSET << MANTISSA);
        if (BITS < 8) magnitude = min(magnitude, (1u << (BITS - 1)) - 1u);
        if (BITS == 32) magnitude <<= 23 - MANTISSA;
        return x == 0.0f ? 0u : magnitude | sign;
    }
    // The first element lies in the lowest bits. AT_ONCE of them are in flight: who makes many words at once has no room for more.
    template <int AT_ONCE, class Elements>
    __device__ __forceinline__ static unsigned word(const Elements& x, unsigned i) {
        unsigned all = 0;
#pragma unroll AT_ONCE
        for (int e = 0; e < PER_WORD; ++e) all |= code(x[i + e]) << (BITS == 32 ? 0 : BITS * e);
        return all;
    }
};

// The element, and the low byte of its mantissa, which is random or, in small integers, zero.
struct Int8 {
    using Word = unsigned;
    static constexpr int PER_WORD = 4, REGISTERS = 4;
    template <int AT_ONCE, class Elements>
    __device__ __forceinline__ static unsigned word(const Elements& x, unsigned i) {
        unsigned all = 0;
#pragma unroll AT_ONCE
        for (int e = 0; e < PER_WORD; ++e)
            all |= unsigned(static_cast<unsigned char>(int(x[i + e]) + static_cast<signed char>(__float_as_uint(x[i + e])))) << (8 * e);
        return all;
    }
};

// The 29 mantissa bits that FP32 lacks repeat the twelve lowest that it has.
struct Fp64 {
    using Word = double;
    static constexpr int PER_WORD = 1, REGISTERS = 8;
    template <int, class Elements>
    __device__ __forceinline__ static double word(const Elements& x, unsigned i) {
        const float element = x[i];
        const u64 low = __float_as_uint(element) & 0xFFFu;
        const double filled = __longlong_as_double(__double_as_longlong(0.25 * element) | (long long)(low << 17 | low << 5 | low >> 7));
        return __float_as_uint(element) & 1u ? -filled : filled;
    }
};

// One tile's part of an array. Elements beyond the last are zeros; where a tile has fewer than it needs it goes round
// them again, each time FURTHER on.
constexpr unsigned FURTHER = 37;
template <unsigned ELEMENTS>
struct Part {
    const float* x;
    u64 begin, n;
    __device__ __forceinline__ float operator[](unsigned i) const {
        const u64 at = begin + (i + FURTHER * (i / ELEMENTS)) % ELEMENTS;
        return at < n ? x[at] : 0.0f;
    }
};

__device__ __forceinline__ void put(float* y, u64 i, u64 n, float value) {
    if (i < n) y[i] = value;
}

__device__ __forceinline__ float half(unsigned low) {
    float value;
    asm("{.reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h;}" : "=f"(value) : "r"(low));
    return value;
}

// Accumulators 2i and 2i + 1: neighbours in a row. Two FP16 ones share a register.
template <class Word, int N>
__device__ __forceinline__ float2 accumulated(const Word (&d)[N], int i) {
    return make_float2(float(d[2 * i]), float(d[2 * i + 1]));
}
template <int N>
__device__ __forceinline__ float2 accumulated(const unsigned (&d)[N], int i) {
    return make_float2(half(d[i] & 0xFFFFu), half(d[i] >> 16));
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

template <class Word, int TILES, int N>
__device__ __forceinline__ void clear(Word (&d)[TILES][N]) {
#pragma unroll
    for (int t = 0; t < TILES; ++t)
#pragma unroll
        for (int i = 0; i < N; ++i) d[t][i] = 0;
}

}  // namespace tensor
