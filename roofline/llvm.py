"""LLVM IR for CPU kernels, as text: loops over blocks of vectors, written as they are meant to run.

No optimisation pass touches this text, so the machine code has the loads, steps and stores that stand here. A kernel is
two functions. The entry handles whole blocks, from element `low` up to `high`; the *rest* handles what no block fills,
from `high` up to `end`, one element at a time. So any number of elements is handled exactly, while the instructions of
the entry stay countable. Whoever launches calls both, `repeats` times over.

Both take one pointer to a *job*: 8-byte slots that say which elements of which arrays, and with what scalars.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofline.kernel import Target
from roofline.model import Variant

# The slots of a job, 8 bytes each, in order: what a kernel reads, then what the team keeps for the worker (regions.py).
JOB_SLOTS = (
    *("x", "y", "z", "low", "high", "end", "a", "b", "seed"),
    *("first", "length", "left", "repeats", "size", "window", "windows"),
    *("started", "ended", "present", "count", "cycle_ticks"),
)
SCRATCH, SCRATCH_BYTES = 256, 1024  # room for 16 of the widest vectors of partial sums, and where it begins
JOB_BYTES = 2048
# A longer run of steps is a loop over this many, so that code stays small; up to STRAIGHT_STEPS there is no inner loop.
STEPS_IN_LOOP = 8
STRAIGHT_STEPS = 16

NON_TEMPORAL = ", !nontemporal !0"
METADATA = "!0 = !{i32 1}"
PREFETCH = "llvm.prefetch.p0"
LINE = 64  # bytes of a cache line

States = Sequence[str]


@dataclass(frozen=True)
class Vectors:
    """`count` vectors of `lanes` FP32 values: what one trip through a kernel's loop handles.

    Of every `stride` vectors only the first is handled; so far only scalars pass any over.
    """

    lanes: int
    count: int
    stride: int = 1

    def __post_init__(self) -> None:
        """Refuse what the rest, which goes by single elements, could not complete."""
        if self.lanes > 1 and self.stride > 1:
            raise ValueError(f"{self}: only vectors of one lane can pass others over: give lanes = 1 or stride = 1")

    @property
    def type(self) -> str:
        """The IR type of one vector; a single lane is a plain scalar."""
        return vector_type("float", self.lanes)

    @property
    def bytes(self) -> int:
        """The size and alignment of one vector."""
        return 4 * self.lanes

    @property
    def block(self) -> int:
        """Elements in all the vectors together, those passed over included."""
        return self.lanes * self.count * self.stride

    @property
    def single(self) -> bool:
        """Whether one trip handles one element: what a rest does."""
        return self.lanes == self.count == 1

    @property
    def apart(self) -> int:
        """Bytes from the start of one vector to that of the next."""
        return self.bytes * self.stride

    def __str__(self) -> str:
        return f"{self.lanes}x{self.count}" + (f"_of_{self.stride}" if self.stride > 1 else "")


@dataclass(frozen=True)
class Span:
    """The indices `first`, `first + step` … below `stop`: numbers, or names of values known at run time."""

    first: str | int
    stop: str | int
    step: int = 1

    @property
    def certain(self) -> bool:
        """Whether it is known already that the span is not empty."""
        return isinstance(self.first, int) and isinstance(self.stop, int) and self.first < self.stop


ONE_BY_ONE = Vectors(lanes=1, count=1)


def vector_type(element: str, lanes: int) -> str:
    """The IR type of `lanes` values of `element`."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


@dataclass
class Function:
    """The text of one function, written instruction by instruction."""

    name: str
    lines: list[str] = field(default_factory=list)
    declarations: set[str] = field(default_factory=set)
    _numbered: int = 0
    _label: str = "start"

    def emit(self, instruction: str) -> None:
        """Append an instruction that has no result."""
        self.lines.append(f"  {instruction}")

    def value(self, expression: str) -> str:
        """Append an instruction and return the name of its result."""
        name = self._new("%v")
        self.emit(f"{name} = {expression}")
        return name

    def call(self, result: str, callee: str, *arguments: tuple[str, str]) -> str:
        """Call an external function or intrinsic with (type, value) arguments."""
        self.declarations.add(f"declare {result} @{callee}({', '.join(kind for kind, _ in arguments)})")
        return self.value(f"call {result} @{callee}({', '.join(f'{kind} {value}' for kind, value in arguments)})")

    def slot(self, name: str, kind: str) -> str:
        """Load a slot of the job."""
        return self.value(f"load {kind}, ptr {self.slot_address(name)}, align 8")

    def slot_address(self, name: str) -> str:
        """The address of a slot of the job."""
        return self.offset("%job", 8 * JOB_SLOTS.index(name))

    def offset(self, pointer: str, distance: int) -> str:
        """`pointer` moved on by a constant number of bytes."""
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {distance}")

    def splat(self, value: str, element: str, lanes: int) -> str:
        """A vector of `lanes` copies of a scalar."""
        if lanes == 1:
            return value
        kind = vector_type(element, lanes)
        first = self.value(f"insertelement {kind} poison, {element} {value}, i32 0")
        return self.value(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def loop(
        self, span: Span, kind: str | Sequence[str], initial: States, body: Callable[[str, States], States]
    ) -> States:
        """Repeat `states = body(index, states)` for each index of the span and return the last states.

        `kind` is the type of every state, or of each of them in order. A span that is known only at run time may be
        empty: then the initial states are returned.
        """
        kinds = [kind] * len(initial) if isinstance(kind, str) else kind
        top, end, before = self._new("loop"), self._new("end"), self._label
        self._enter(span, top, end)
        at = len(self.lines)
        index, states = self._new("%i"), [self._new("%s") for _ in initial]
        results = body(index, states)
        following = self.value(f"add i64 {index}, {span.step}")
        again = self.value(f"icmp ult i64 {following}, {span.stop}")
        self.emit(f"br i1 {again}, label %{top}, label %{end}")
        last = self._label
        carried = [(index, "i64", str(span.first), following)]
        carried += zip(states, kinds, initial, results, strict=True)
        self.lines[at:at] = [
            f"  {name} = phi {type_} [ {old}, %{before} ], [ {new}, %{last} ]" for name, type_, old, new in carried
        ]
        self._open(end)
        if span.certain:
            return results
        return [
            self.value(f"phi {type_} [ {old}, %{before} ], [ {new}, %{last} ]")
            for type_, old, new in zip(kinds, initial, results, strict=True)
        ]

    def text(self) -> str:
        """The definition, with `ptr %job` as its only argument."""
        return "\n".join([f"define void @{self.name}(ptr %job) {{", "start:", *self.lines, "  ret void", "}"])

    def _enter(self, span: Span, top: str, end: str) -> None:
        if span.certain:
            self.emit(f"br label %{top}")
        else:
            some = self.value(f"icmp ult i64 {span.first}, {span.stop}")
            self.emit(f"br i1 {some}, label %{top}, label %{end}")
        self._open(top)

    def _open(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._label = label

    def _new(self, prefix: str) -> str:
        self._numbered += 1
        return f"{prefix}{self._numbered}"


@dataclass(frozen=True)
class Block:
    """What the body of a kernel sees: the vectors from element `index` on, the arrays, and the run-time scalars.

    `a` and `b` are vectors of the scalars. `factor` and `addend` are a + b and a · b, multiplied out once outside every
    loop, where no instruction fuses multiply and add; else they are empty.
    """

    function: Function
    vectors: Vectors
    target: Target
    pointers: Mapping[str, str]
    a: str
    b: str
    factor: str = ""
    addend: str = ""
    index: str = ""

    def load(self, array: str) -> list[str]:
        """The vectors of `array`."""
        kind, alignment = self.vectors.type, self.vectors.bytes
        addresses = self._addresses(array, self.vectors.apart)
        return [self.function.value(f"load {kind}, ptr {at}, align {alignment}") for at in addresses]

    def store(self, array: str, values: States, non_temporal: bool = False) -> None:
        """Store the vectors of `array`; a scalar has no non-temporal store and takes an ordinary one."""
        kind, alignment, apart, hint = self.vectors.type, self.vectors.bytes, self.vectors.apart, ""
        if non_temporal and self.vectors.lanes > 1:
            hint = NON_TEMPORAL
            if self._stores_pairs:
                kind, alignment, values = self._paired(values)
                apart = alignment
        for value, at in zip(values, self._addresses(array, apart), strict=True):
            self.function.emit(f"store {kind} {value}, ptr {at}, align {alignment}{hint}")

    def prefetch(self, array: str, ahead: int) -> None:
        """Ask for the lines that lie `ahead` bytes beyond this block; past the end of an array nothing happens.

        The core's own prefetching stops at each 4 KiB page. No block is worth asking for from the rest.
        """
        if self.vectors.single or not ahead:
            return
        self.function.declarations.add(f"declare void @{PREFETCH}(ptr, i32, i32, i32)")
        for at in self._addresses(array, max(LINE, self.vectors.apart)):
            line = self.function.offset(at, ahead)
            self.function.emit(f"call void @{PREFETCH}(ptr {line}, i32 0, i32 3, i32 1)")

    def fma(self, multiplicand: str, factor: str, addend: str) -> str:
        """One fused multiply-add of vectors, or a multiply and an add where nothing fuses them."""
        kind = self.vectors.type
        if not self.target.has_fma:
            product = self.function.value(f"fmul {kind} {multiplicand}, {factor}")
            return self.function.value(f"fadd {kind} {product}, {addend}")
        suffix = "f32" if self.vectors.lanes == 1 else f"v{self.vectors.lanes}f32"
        arguments = [(kind, value) for value in (multiplicand, factor, addend)]
        return self.function.call(kind, f"llvm.fma.{suffix}", *arguments)

    def steps(self, values: States, count: int) -> States:
        """`count` steps on each vector, the vectors being chains that do not wait for each other.

        A step is v = a·b + v: AArch64 overwrites the addend, so this form needs no register moves. Without fused steps
        it is v = v·(a + b) + (a·b): the same sum for a + b = 1, and no product that could be taken out of the loop.
        """
        together = written_steps(self.vectors, count)
        if together == count:
            return self._straight(values, count)
        span, kind = Span(0, count, together), self.vectors.type
        return self.function.loop(span, kind, values, lambda _, old: self._straight(old, together))

    def _straight(self, values: States, count: int) -> States:
        for _ in range(count):
            values = [self._step(value) for value in values]
        return values

    def _step(self, value: str) -> str:
        if self.target.has_fma:
            return self.fma(self.a, self.b, value)
        return self.fma(value, self.factor, self.addend)

    @property
    def _stores_pairs(self) -> bool:
        # AArch64 stores non-temporally in pairs (STNP); a lone vector would be split into halves first.
        return self.target.architecture == "aarch64" and self.vectors.count % 2 == 0

    def _paired(self, values: States) -> tuple[str, int, list[str]]:
        lanes, kind = 2 * self.vectors.lanes, self.vectors.type
        order = ", ".join(f"i32 {lane}" for lane in range(lanes))
        joined = [
            self.function.value(f"shufflevector {kind} {one}, {kind} {two}, <{lanes} x i32> <{order}>")
            for one, two in zip(values[::2], values[1::2], strict=True)
        ]
        return vector_type("float", lanes), 4 * lanes, joined

    def _addresses(self, array: str, apart: int) -> list[str]:
        first = self.function.value(f"getelementptr float, ptr {self.pointers[array]}, i64 {self.index}")
        return [self.function.offset(first, at) for at in range(0, 4 * self.vectors.block, apart)]


def written_steps(vectors: Vectors, count: int) -> int:
    """How many of `count` steps stand in the text one after the other; a loop repeats them.

    Raises:
        ValueError: the steps are no multiple of what the loop would hold.
    """
    if vectors.single:
        return 1
    if count <= STRAIGHT_STEPS:
        return count
    if count % STEPS_IN_LOOP:
        raise ValueError(f"{count} steps: more than {STRAIGHT_STEPS} must be a multiple of {STEPS_IN_LOOP}")
    return STEPS_IN_LOOP


def block_variant(target: Target, vectors: int, ahead: int) -> Variant:
    """Blocks of so many of the target's widest vectors, with lines asked for `ahead` bytes ahead (0: not at all)."""
    name = f"{target.lanes}x{vectors}" + (f"-ahead-{ahead}" if ahead else "")
    return Variant(name, {"vectors": vectors, "ahead": ahead})


def entry_name(kernel: str, variant: str) -> str:
    """The entry of a kernel's variant; variants of one name have one rest."""
    return f"{kernel}__{variant}"


def rest_name(entry: str) -> str:
    """The function that handles what the blocks of `entry` leave over."""
    return f"{entry.partition('__')[0]}__rest"


def streaming_kernel(entry: str, target: Target, vectors: Vectors, body: Callable[[Block], None]) -> str:
    """A module whose `entry` applies `body` to every block, and whose rest applies it to every element left."""

    def stateless(block: Block, _: States) -> States:
        body(block)
        return []

    whole, rest = Function(entry), Function(rest_name(entry))
    _sweep(_begin(whole, target, vectors), "low", "high", [], stateless)
    _sweep(_begin(rest, target, one_of(vectors)), "high", "end", [], stateless)
    return _module(whole, rest)


def summing_kernel(entry: str, target: Target, vectors: Vectors, ahead: int, passes: int = 1) -> str:
    """A module that sums every block of `x` into one accumulator a vector, and what no block fills one by one.

    It does so `passes` times over.
    """
    return summing_module(entry, target, vectors, lambda block: _sum_of("low", "high", block, ahead, passes), passes)


def summing_module(
    entry: str, target: Target, vectors: Vectors, sums: Callable[[Block], States], passes: int = 1
) -> str:
    """A module that adds the sum of each worker's part of `x` to the first element of that part of `y`.

    `sums` writes the entry, from `low` up to `high`, and returns a vector of partial sums for each of `vectors`. The
    entry leaves them in the job's scratch room; the rest adds them up, and to them what no block fills, as many
    `passes` over as `sums` makes.
    """
    whole, rest = Function(entry), Function(rest_name(entry))
    _leave_sums(whole, vectors, sums(_begin(whole, target, vectors)))
    _collect_sums(rest, _sum_of("high", "end", _begin(rest, target, one_of(vectors)), passes=passes))
    return _module(whole, rest)


def one_of(vectors: Vectors) -> Vectors:
    """What the rest handles in one trip: a single element, passing over as many as `vectors` do."""
    return replace(ONE_BY_ONE, stride=vectors.stride)


def zero(vectors: Vectors) -> str:
    """The constant 0 of the type of `vectors`."""
    return "0.0" if vectors.lanes == 1 else "zeroinitializer"


def merged(texts: Sequence[str]) -> str:
    """One module of several: what they share (declarations, metadata, a common rest) stands in it once."""
    lines: dict[str, None] = {}
    functions: dict[str, None] = {}
    for text in texts:
        outside, *definitions = text.split("define ")
        functions |= dict.fromkeys(definition.strip() for definition in definitions)
        lines |= dict.fromkeys(outside.splitlines())
    return "\n".join([*lines, *(f"define {function}" for function in functions)])


def expected_steps(target: Target, vectors: Vectors, steps: int) -> dict[str, int]:
    """The arithmetic instructions of `steps` steps in an entry; unfused ones need a sum and a product prepared."""
    written = vectors.count * written_steps(vectors, steps)
    if target.has_fma:
        return {"fma": written, "mul": 0, "add": 0}
    return {"fma": 0, "mul": written + 1, "add": written + 1}


def expected_stores(vectors: Vectors, non_temporal: bool) -> dict[str, int]:
    """The vectors that `entry` stores, by kind of store; and nothing on the stack, and no calls."""
    ordinary, streamed = (0, vectors.count) if non_temporal else (vectors.count, 0)
    return {"store": ordinary, "store_nt": streamed, "spill": 0, "call": 0}


def expected_prefetches(vectors: Vectors, ahead: int) -> dict[str, int]:
    """The lines that `entry` asks for in one trip."""
    return {"prefetch": -(-4 * vectors.block // max(LINE, vectors.apart)) if ahead else 0}


def _module(whole: Function, rest: Function) -> str:
    outside = [*sorted(whole.declarations | rest.declarations), METADATA]
    return "\n".join([*outside, whole.text(), rest.text()])


def _begin(function: Function, target: Target, vectors: Vectors) -> Block:
    pointers = {name: function.slot(name, "ptr") for name in "xyz"}
    a, b = (function.value(f"fptrunc double {function.slot(name, 'double')} to float") for name in "ab")
    prepared = [a, b]
    if not target.has_fma:
        prepared += [function.value(f"fadd float {a}, {b}"), function.value(f"fmul float {a}, {b}")]
    splats = [function.splat(scalar, "float", vectors.lanes) for scalar in prepared]
    return Block(function, vectors, target, pointers, *splats)


def _sweep(block: Block, low: str, high: str, initial: States, body: Callable[[Block, States], States]) -> States:
    function, vectors = block.function, block.vectors
    span = Span(function.slot(low, "i64"), function.slot(high, "i64"), vectors.block)
    return function.loop(span, vectors.type, initial, lambda index, old: body(replace(block, index=index), old))


def _sum_of(low: str, high: str, block: Block, ahead: int = 0, passes: int = 1) -> States:
    """Add up the vectors of `x` between two slots of the job, each in an accumulator of its own, `passes` times."""

    def add(block: Block, sums: States) -> States:
        block.prefetch("x", ahead)
        pairs = zip(sums, block.load("x"), strict=True)
        return [block.function.value(f"fadd {block.vectors.type} {total}, {value}") for total, value in pairs]

    sums = [zero(block.vectors)] * block.vectors.count
    if passes == 1:
        return _sweep(block, low, high, sums, add)
    kind = block.vectors.type
    return block.function.loop(Span(0, passes), kind, sums, lambda _, old: _sweep(block, low, high, old, add))


def _leave_sums(function: Function, vectors: Vectors, sums: States) -> None:
    scratch = function.offset("%job", SCRATCH)
    for number, total in enumerate(sums):
        at = function.offset(scratch, number * vectors.bytes)
        function.emit(f"store {vectors.type} {total}, ptr {at}, align {vectors.bytes}")


def _collect_sums(function: Function, left: States) -> None:
    scratch = function.offset("%job", SCRATCH)
    low, end = function.slot("low", "i64"), function.slot("end", "i64")

    def add(number: str, sums: States) -> States:
        at = function.value(f"getelementptr float, ptr {scratch}, i64 {number}")
        total = function.value(f"fadd float {sums[0]}, {function.value(f'load float, ptr {at}')}")
        function.emit(f"store float 0.0, ptr {at}")  # the next kernel may leave fewer
        return [total]

    def leave(_: str, sums: States) -> States:
        at = function.value(f"getelementptr float, ptr {function.slot('y', 'ptr')}, i64 {low}")
        total = function.value(f"fadd float {function.value(f'load float, ptr {at}')}, {sums[0]}")
        function.emit(f"store float {total}, ptr {at}")
        return sums

    sums = function.loop(Span(0, SCRATCH_BYTES // 4), "float", left, add)
    some = function.value(f"zext i1 {function.value(f'icmp ult i64 {low}, {end}')} to i64")
    function.loop(Span(0, some), "float", sums, leave)
