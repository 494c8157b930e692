// What the suite needs on the card beside the kernels it measures.
//
// hold     keeps the stream busy until the host has queued everything behind it, so that no launch waits for the host
//          inside the timed span. It gives up after `limit_ns`: a full queue must not hang the card.
// stamp    writes cycle counter and time of each SM. Two stamps around a span give the clock during it, exactly.
// fill_*   full-mantissa values in [1, 2), the same each time: a hash of the index.

using u64 = unsigned long long;

__device__ __forceinline__ u64 now_ns() {
    u64 t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

extern "C" __global__ void hold(const volatile unsigned* released, u64 limit_ns) {
    const u64 start = now_ns();
    while (!*released && now_ns() - start < limit_ns) {
    }
}

extern "C" __global__ void stamp(u64* stamps) {
    unsigned sm;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    stamps[2 * sm] = clock64();
    stamps[2 * sm + 1] = now_ns();
}

__device__ __forceinline__ u64 hashed(u64 i, u64 seed) {
    u64 h = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
    h = (h ^ (h >> 32)) * 0xBF58476D1CE4E5B9ull;
    return h ^ (h >> 29);
}

#define FILL(name, word, one, shift)                                                                       \
    extern "C" __global__ void name(word* x, u64 n, u64 seed) {                                            \
        for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x)  \
            x[i] = static_cast<word>(one | (hashed(i, seed) >> shift));                                              \
    }

FILL(fill_float16, unsigned short, 0x3C00ull, 54)
FILL(fill_float32, unsigned, 0x3F800000ull, 41)
FILL(fill_float64, u64, 0x3FF0000000000000ull, 12)
