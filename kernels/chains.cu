// Independent chains of FMAs in registers: the arithmetic roof, and what too few chains or too few warps leave of it.
//
// Each thread holds CHAINS elements and runs STEPS dependent steps v = a*b + v on each. The loop is rolled to UNROLL
// steps so that its body stays in the instruction cache and its counter costs nothing that shows. How many warps share
// an SM is the grid's business: tiles and repeats are dealt out evenly over the blocks there are. Which tile is next is
// counted and not divided out, since a lone warp has nobody to hide a division. x and y carry no __restrict__, so that
// no repeat can be skipped.

namespace chains {

template <int CHAINS, int STEPS, int UNROLL, int T>
__global__ void __launch_bounds__(T) run(const float* x, float* y, unsigned long long elements, unsigned repeats, float a, float b) {
    const unsigned n = unsigned(elements);
    const unsigned chunks = (n + CHAINS * T - 1) / (CHAINS * T) * repeats;
    const unsigned each = chunks / gridDim.x, more = chunks % gridDim.x;
    const unsigned begin = blockIdx.x * each + min(blockIdx.x, more);
    unsigned first = begin / repeats * (CHAINS * T) + threadIdx.x, left = repeats - begin % repeats;
#pragma unroll 1
    for (unsigned chunk = each + (blockIdx.x < more); chunk > 0; --chunk) {
        float v[CHAINS];
#pragma unroll
        for (int i = 0; i < CHAINS; ++i) v[i] = first + i * T < n ? x[first + i * T] : 0.0f;
#pragma unroll 1
        for (int step = 0; step < STEPS; step += UNROLL) {
#pragma unroll
            for (int s = 0; s < UNROLL; ++s)
#pragma unroll
                for (int i = 0; i < CHAINS; ++i) v[i] = fmaf(a, b, v[i]);
        }
#pragma unroll
        for (int i = 0; i < CHAINS; ++i)
            if (first + i * T < n) y[first + i * T] = v[i];
        if (--left == 0) {
            left = repeats;
            first += CHAINS * T;
        }
    }
}

}  // namespace chains
