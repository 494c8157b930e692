// The special-function units: one function a step, of arguments a step apart, added up. Operations of units.cu.
//
// A scheduler of 32 lanes a clock feeds a unit of 4, so seven of eight issue slots are free: the addition that makes the
// next argument, the one that adds the result, and the multiplication by 1/(2 pi) that comes with a sine hide in them.
// Arguments go from 1/2 … 3/2 over a range of 1 in steps of a power of two, which FP32 holds exactly; there all three
// functions are positive and of the order of 1, so a sum of STEPS of them shows each one that was left out. The
// instructions are PTX with flushed denormals: one machine instruction, no scaling around it.

namespace units {

struct Running {
    float x, sum;
};

#define SPECIAL(NAME, FUNCTION)                                                                                       \
    struct NAME {                                                                                                     \
        using Word = Running;                                                                                         \
        static constexpr int WIDTH = 1;                                                                               \
        float a, b;                                                                                                   \
        __device__ NAME(float a, float b, int) : a(a), b(b) {}                                                        \
        __device__ Word word(const float (&x)[1]) const { return {fmaf(fabsf(x[0]), 0.125f, b), 0.0f}; }              \
        __device__ Word step(Word v, int) const {                                                                     \
            float f;                                                                                                  \
            asm(FUNCTION " %0, %1;" : "=f"(f) : "f"(v.x));                                                            \
            return {v.x + a, v.sum + f};                                                                              \
        }                                                                                                             \
        __device__ float result(Word v, int) const { return v.sum; }                                                  \
    };

SPECIAL(Exp2, "ex2.approx.ftz.f32")
SPECIAL(Rsqrt, "rsqrt.approx.ftz.f32")
SPECIAL(Sin, "sin.approx.ftz.f32")
#undef SPECIAL

}  // namespace units
