"""K8 on a GPU: `gelu.cu` alone, after and inside the product of `ladder_registers.cu`, and inside the library's."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from roofline.cuda_source import CudaSource, Following
from roofline.kernel import Array, Kernel, Source, Target
from roofline.library_source import Epilogue, product
from roofline.model import Variant, Work

from . import gelu, ladder, ladder_cuda

NO_CPU = "its product is one of a GPU's rungs, which keep their elements in registers until the end"
# Vectors of 16 bytes in flight and threads of a block, best guess first.
FORMS = ((1, 256), (1, 128), (2, 256), (1, 512))
AFTER = FORMS[0]
# __expf is right to 2 + 1.173·|x| units in the last place (CUDA C++ Programming Guide, "Intrinsic Functions"). Beyond
# |x| = 11 the quotient is below the tolerance or x itself, and 20 units of 2^-23 are less than this.
FAST_EXPONENTIAL = 2.0**-18
# The hardware's tanh is right to 2^-11 (PTX ISA, "tanh"), and takes half of x.
FAST_TANH = 2.0**-10
REASON = "the exponential is the hardware's, right to about 20 units in the last place where it matters"


def alone_source(target: Target, variant: Variant) -> CudaSource:
    """One form of the elementwise kernel."""
    loads, threads = variant.integer("loads"), variant.integer("threads")
    return CudaSource(
        text=ladder_cuda.text("ladder.cu", "gelu.cu"),
        entry=f"gelu::alone<{loads}, {threads}>",
        block=4 * loads * threads,
        expects={"load": loads, "store": loads, "special": 2 * 4 * loads, "spill": 0},
        threads=threads,
        tail="gelu::tail",
    )


def product_source(target: Target, variant: Variant) -> CudaSource:
    """The product in registers, with GELU in its epilogue where the scalar `a` asks for it.

    What GELU multiplies and adds there differs by card, and is not asked for.
    """
    bare = ladder_cuda.register_source(target, variant)
    return replace(
        bare,
        text=ladder_cuda.text("ladder.cu", "gelu.cu", "ladder_registers.cu"),
        entry=bare.entry.replace("ladder::Nothing", "gelu::WhereAsked"),
        expects={"load_shared": bare.expects["load_shared"]},
    )


def followed_source(target: Target, variant: Variant) -> CudaSource:
    """The same product, and after each launch of it one of GELU in place."""
    loads, threads = AFTER
    following = Following(f"gelu::after<{loads}, {threads}>", block=4 * loads * threads, threads=threads)
    return replace(product_source(target, variant), then=following)


def alone() -> Kernel:
    """GELU as a kernel of its own, on 64 MiB that are cold when they are met."""
    return Kernel(
        experiment=gelu.EXPERIMENT,
        name="gelu-alone",
        unit="fp32",
        level="dram",
        work=gelu.alone,
        variants=lambda target: _forms() if target.kind == "cuda" else (),
        sources={"cuda": alone_source},
        reference=lambda arrays, launches: [gelu.gelu(arrays[0].astype("float64"))],
        size=lambda elements: ladder.SIDE**2 if elements >= ladder.SIDE**2 else elements,
        tolerance=FAST_EXPONENTIAL,
        tolerance_reason=REASON,
        unsupported={"cpu": NO_CPU},
    )


def _forms() -> Sequence[Variant]:
    return tuple(Variant(f"{loads}x{threads}", {"loads": loads, "threads": threads}) for loads, threads in FORMS)


def _product(
    name: str,
    work: Callable[[int], Work],
    asked: bool,
    source: Callable[[Target, Variant], Source] = product_source,
    reference: Callable[[Sequence[Array]], Array] = gelu.of_product,
) -> Kernel:
    return Kernel(
        experiment=gelu.EXPERIMENT,
        name=name,
        unit="fp32",
        level="l2",
        work=work,
        variants=ladder_cuda.depths,
        sources={"cuda": source},
        reference=lambda arrays, launches: [reference(arrays)],
        arrays=3,
        scalars=(1.0 if asked else 0.0, 0.0),
        memory="own",
        size=lambda elements: ladder.SIDE**2,
        tolerance=FAST_EXPONENTIAL,
        tolerance_reason=REASON,
        unsupported={"cpu": NO_CPU},
    )


def bare() -> Kernel:
    """The product without GELU, against which its epilogue is held."""
    product = _product("product", ladder.registers, asked=False, reference=ladder.product)
    return replace(product, tolerance=0.0, tolerance_reason="sums of small integers are exact in FP32")


def fused() -> Kernel:
    """The product with GELU in its epilogue: the same machine code."""
    return _product("product-gelu", lambda n: gelu.fused(ladder.registers(n), n), asked=True)


def followed() -> Kernel:
    """The product, and then GELU as a kernel of its own: two launches."""
    return _product(
        "product-then-gelu", lambda n: gelu.followed(ladder.registers(n), n), asked=False, source=followed_source
    )


def library(epilogue: Epilogue) -> Kernel:
    """The library's product in TF32, with or without GELU in its epilogue."""

    def work(n: int) -> Work:
        bare = ladder.library(n, "tensor_tf32")
        return gelu.fused(bare, n) if epilogue else bare

    return replace(
        bare(),
        name=f"library-{epilogue}" if epilogue else "library",
        unit="tensor_tf32",
        level="dram",
        work=work,
        variants=lambda target: (Variant("library"),) if target.kind == "cuda" else (),
        sources={"cuda": lambda target, variant: product("tf32", epilogue)},
        reference=lambda arrays, launches: [gelu.of_product(arrays) if epilogue else ladder.product(arrays)],
        tolerance=FAST_TANH if epilogue else 0.0,
        tolerance_reason="the library may use the tanh of the hardware, right to 2^-11",
    )


def every_kernel() -> Iterator[Kernel]:
    """GELU alone; our product bare, fused and followed by GELU; the library's bare and fused."""
    yield alone()
    yield from (bare(), fused(), followed())
    yield from (library(""), library("gelu"))
