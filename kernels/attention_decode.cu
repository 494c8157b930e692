// One query a head against CONTEXT keys and values that no other sequence shares: all that counts is how fast they come.
//
// So nothing waits in shared memory. Each lane loads 16 bytes of a row at a time and they are operands as they arrive:
// a sum over the width does not care in which order it is taken, so a key's columns are numbered by the lanes that hold
// them, and so are a value's, whose sums are only put in order when they are stored. The keys of the next 16 tokens are
// on their way while these are weighed. The tensor cores take GROUP of 8 rows of queries, and have time to waste.
//
// A context is split among blocks, or one sequence would not fill a card (flash decoding). Each leaves the greatest
// score, the sum of weights and the weighted sum of values behind the outputs, in what is left of their array; the last
// to arrive puts them together.

namespace attention {

constexpr int WARPS = 4, TOKENS = 16, QUERIES = 8;
constexpr unsigned PAIRS = 4096;  // of a sequence and a head of keys, in a launch
constexpr int PARTIAL = WIDTH + 4;  // sums, greatest score, weights; a multiple of a vector

__device__ unsigned arrived[PAIRS];  // blocks of a pair; the last takes it back to 0

// The part of one pair's context that a block weighs.
struct Part {
    u64 pair, row, rows;
    unsigned begin, end, splits;
};

template <int CONTEXT, int SPLIT>
__device__ __forceinline__ Part part_of(u64 block, u64 rows) {
    constexpr unsigned SPLITS = CONTEXT / SPLIT;
    const u64 pair = block / SPLITS, row = pair * CONTEXT;
    const unsigned context = row >= rows ? 0 : rows - row < CONTEXT ? rows - row : CONTEXT;
    const unsigned begin = block % SPLITS * SPLIT;
    return {pair, row, rows, begin, begin + SPLIT < context ? begin + SPLIT : context, (context + SPLIT - 1) / SPLIT};
}

__device__ __forceinline__ uint4 vector(const uint4* x, u64 row, unsigned at, bool there) {
    return there ? __ldcs(x + row * VECTORS + at) : make_uint4(0, 0, 0, 0);
}

// What a warp has of its queries: row i of scores belongs to lanes 4 i … 4 i + 3, column j of sums to lanes 4 i + j / 2.
struct Weighed {
    float greatest, weights;
    float sums[8][4];
};

__device__ __forceinline__ void weigh(Weighed& of, float (&score)[2][4], unsigned first, unsigned end, unsigned (&weight)[2]) {
    const unsigned lane = threadIdx.x % 32;
    float most = minus_infinity();
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        float& s = score[e / 2][e % 2];
        s = first + 8 * (e / 2) + lane % 4 * 2 + e % 2 < end ? s * SCALE : minus_infinity();
        most = fmaxf(most, s);
    }
    const float greatest = fmaxf(of.greatest, greatest_of_four(most)), less = power(of.greatest - greatest);
    float more = 0.0f;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        score[e / 2][e % 2] = power(score[e / 2][e % 2] - greatest);
        more += score[e / 2][e % 2];
    }
    of.greatest = greatest;
    of.weights = fmaf(of.weights, less, more);
    weight[0] = halves(score[0][0], score[0][1]);
    weight[1] = halves(score[1][0], score[1][1]);
    const float even = __shfl_sync(~0u, less, lane % 4 * 8), odd = __shfl_sync(~0u, less, lane % 4 * 8 + 4);
#pragma unroll
    for (int t = 0; t < 8; ++t) of.sums[t][0] *= even, of.sums[t][1] *= odd, of.sums[t][2] *= even, of.sums[t][3] *= odd;
}

__device__ __forceinline__ void load_keys(uint4 (&k)[2][4], const uint4* keys, const Part& part, unsigned first) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int t = 0; t < 2; ++t) {
        const unsigned token = first + 8 * t + lane / 4;
#pragma unroll
        for (int c = 0; c < 4; ++c) k[t][c] = vector(keys, part.row + token, 4 * c + lane % 4, token < part.end);
    }
}

__device__ __forceinline__ void load_values(uint4 (&v)[4][2], const uint4* values, const Part& part, unsigned first) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const unsigned token = first + 8 * (r / 2) + lane % 4 * 2 + r % 2;
#pragma unroll
        for (int h = 0; h < 2; ++h) v[r][h] = vector(values, part.row + token, 8 * h + lane / 4, token < part.end);
    }
}

__device__ __forceinline__ unsigned word(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

// The values of two tokens in one column each: the low and the high halves of a word of both.
__device__ __forceinline__ unsigned low(unsigned one, unsigned two) { return __byte_perm(one, two, 0x5410); }
__device__ __forceinline__ unsigned high(unsigned one, unsigned two) { return __byte_perm(one, two, 0x7632); }

__device__ __forceinline__ void score(float (&s)[2][4], const uint4 (&q)[4], const uint4 (&k)[2][4]) {
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
        for (int e = 0; e < 4; ++e) s[t][e] = 0.0f;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            mma(s[t], {q[c].x, 0, q[c].y, 0}, k[t][c].x, k[t][c].y);
            mma(s[t], {q[c].z, 0, q[c].w, 0}, k[t][c].z, k[t][c].w);
        }
    }
}

__device__ __forceinline__ void add(Weighed& to, const uint4 (&v)[4][2], const unsigned (&weight)[2]) {
#pragma unroll
    for (int t = 0; t < 8; ++t) {
        unsigned w[4];
#pragma unroll
        for (int r = 0; r < 4; ++r) w[r] = word(v[r][t / 4], t % 4);
        mma(to.sums[t], {low(w[0], w[1]), high(w[0], w[1]), low(w[2], w[3]), high(w[2], w[3])}, weight[0], weight[1]);
    }
}

// Where the parts of one query's sums stand, and what they weigh: in shared memory, or where other blocks left them.
template <bool OF_OTHERS>
struct Parts {
    const float* first;
    u64 apart;

    __device__ float2 greatest_and_weights(unsigned i) const { return of<float2>(i, WIDTH); }
    __device__ float4 sums(unsigned i) const { return of<float4>(i, 4 * (threadIdx.x % 32)); }

    template <class Vector>
    __device__ Vector of(unsigned i, int at) const {
        const Vector* place = reinterpret_cast<const Vector*>(first + i * apart + at);
        return OF_OTHERS ? __ldcg(place) : *place;
    }
};

// Four columns a lane of `count` parts together.
struct Together {
    float greatest, weights;
    float4 sums;

    template <bool OF_OTHERS>
    __device__ Together(const Parts<OF_OTHERS>& parts, unsigned count)
        : greatest(minus_infinity()), weights(0.0f), sums(make_float4(0.0f, 0.0f, 0.0f, 0.0f)) {
#pragma unroll 8
        for (unsigned i = 0; i < count; ++i) greatest = fmaxf(greatest, parts.greatest_and_weights(i).x);
#pragma unroll 8
        for (unsigned i = 0; i < count; ++i) {
            const float2 part = parts.greatest_and_weights(i);
            const float4 more = parts.sums(i);
            const float share = power(part.x - greatest);
            weights = fmaf(share, part.y, weights);
            sums.x = fmaf(share, more.x, sums.x), sums.y = fmaf(share, more.y, sums.y);
            sums.z = fmaf(share, more.z, sums.z), sums.w = fmaf(share, more.w, sums.w);
        }
    }

    // For the blocks that come after.
    __device__ void leave(float* place) const {
        const unsigned lane = threadIdx.x % 32;
        reinterpret_cast<float4*>(place)[lane] = sums;
        if (lane == 0) *reinterpret_cast<float2*>(place + WIDTH) = make_float2(greatest, weights);
    }

    __device__ void store(unsigned short* row) const {
        const float share = 1.0f / weights;
        const uint2 four = make_uint2(halves(sums.x * share, sums.y * share), halves(sums.z * share, sums.w * share));
        reinterpret_cast<uint2*>(row)[threadIdx.x % 32] = four;
    }
};

template <int GROUP>
__device__ __forceinline__ void leave(float (&shared)[WARPS][GROUP][PARTIAL], const Weighed& of) {
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, query = lane / 4;
    const float weights = sum_of_four(of.weights);
    if (query < GROUP && lane % 4 == 0) {
        shared[warp][query][WIDTH] = of.greatest;
        shared[warp][query][WIDTH + 1] = weights;
    }
#pragma unroll
    for (int t = 0; t < 8; ++t)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const unsigned owner = lane % 4 * 2 + e % 2, column = t / 4 * 64 + lane / 4 * 8 + t % 4 * 2 + e / 2;
            if (owner < GROUP) shared[warp][owner][column] = of.sums[t][e];
        }
}

// Whether this block is the last of its pair to get here; then it sees what the others left.
__device__ __forceinline__ bool last_of(u64 pair, unsigned splits) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&arrived[pair], splits - 1) == splits - 1;
    __syncthreads();
    __threadfence();
    return last;
}

template <int CONTEXT, int GROUP, int SPLIT>
__global__ void __launch_bounds__(32 * WARPS, 3)
    decode(const uint4* keys, const uint4* values, const uint4* queries, unsigned short* out, u64 n, unsigned, float, float) {
    static_assert(GROUP <= QUERIES && WIDTH == 4 * 32, "a row of scores a query, four columns a lane");
    __shared__ __align__(16) float shared[WARPS][GROUP][PARTIAL];
    const Part part = part_of<CONTEXT, SPLIT>(blockIdx.x, n / WIDTH);
    if (part.begin >= part.end) return;
    if (part.pair >= PAIRS) __trap();
    const unsigned lane = threadIdx.x % 32;
    const u64 query = part.pair * GROUP;
    uint4 q[4], k[2][4], v[4][2];
#pragma unroll
    for (int c = 0; c < 4; ++c) q[c] = vector(queries, query + lane / 4, 4 * c + lane % 4, lane / 4 < GROUP && query + lane / 4 < part.rows);
    Weighed warp = {minus_infinity(), 0.0f, {}};
    unsigned first = part.begin + threadIdx.x / 32 * TOKENS;
    load_keys(k, keys, part, first);
#pragma unroll 1
    for (; first < part.end; first += WARPS * TOKENS) {
        float s[2][4];
        unsigned weight[2];
        load_values(v, values, part, first);
        score(s, q, k);
        load_keys(k, keys, part, first + WARPS * TOKENS);
        weigh(warp, s, first, part.end, weight);
        add(warp, v, weight);
    }
    leave(shared, warp);
    __syncthreads();
    float* left = reinterpret_cast<float*>(out + (part.rows + CONTEXT - 1) / CONTEXT * GROUP * WIDTH);
    for (unsigned g = threadIdx.x / 32; g < GROUP; g += WARPS) {
        const Together mine(Parts<false>{&shared[0][g][0], GROUP * PARTIAL}, WARPS);
        if (part.splits > 1)
            mine.leave(left + (u64(blockIdx.x) * GROUP + g) * PARTIAL);
        else if (query + g < part.rows)
            mine.store(out + (query + g) * WIDTH);
    }
    if (part.splits == 1 || !last_of(part.pair, part.splits)) return;
    const float* parts = left + part.pair * (CONTEXT / SPLIT) * GROUP * PARTIAL;
    for (unsigned g = threadIdx.x / 32; g < GROUP; g += WARPS)
        Together(Parts<true>{parts + g * PARTIAL, GROUP * PARTIAL}, part.splits).store(out + (query + g) * WIDTH);
}

}  // namespace attention
