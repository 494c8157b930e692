// Operands in shared memory as the tensor units of Hopper and Blackwell read them.
//
// Rows of A and columns of B take 128 bytes, four steps; their 16-byte chunks are permuted by the row modulo 8 (the 128-byte
// swizzle), and groups of eight rows are 1024 bytes apart. A step moves both descriptors on by 32 bytes.

namespace tensor {

template <class Format, class Elements>
__device__ __forceinline__ void stage(unsigned shared, const Elements& x, int rows) {
#pragma unroll 4
    for (int i = threadIdx.x; i < rows * 32; i += 128) {
        const int row = i / 32, word = i % 32;
        const unsigned at = shared + row * 128 + (word / 4 ^ row % 8) * 16 + word % 4 * 4;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(Format::template word<Format::PER_WORD>(x, i * Format::PER_WORD)) : "memory");
    }
}

}  // namespace tensor
