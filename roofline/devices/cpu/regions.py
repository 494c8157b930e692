"""The team's own code, as LLVM IR: how workers wait, run regions together and note the time.

A *region* is one launch: every worker calls the kernel on its own job and meets the others at a barrier. Workers wait
for regions in `member`; `lead` announces some and takes part as worker 0. All of it is machine code, since a barrier
in Python takes a hundred times as long.

A job's `window` is left at the one after its last, where the next run goes on.

Announcing raises `generation`; each region ends when the last worker to arrive raises `phase`. A worker leaves `member`
when `session` is no longer the one it came for, so a team that is released never spins on.

In the text, `<job.NAME>` and `<team.NAME>` stand for addresses of slots, NOW for a reading of the counter that runs at
a constant rate, FENCE for waiting until everything before is done, and PAUSE for a hint that this is a spin loop.
"""

import re

from roofline.kernel import Target
from roofline.llvm import JOB_SLOTS

# Byte offsets in the block that the team shares. What some write while others spin has 128 bytes to itself, since
# neighbouring cache lines are fetched in pairs.
TEAM_SLOTS = {
    **{"generation": 0, "session": 8},
    "arrived": 128,
    "phase": 256,
    **{"kernel": 384, "rest": 392, "launches": 400, "members": 408},
}
TEAM_BYTES = 512

# The dependent chain that the clock is measured by: add and exclusive-or take one cycle each on every core there is,
# and with operands known only at run time no compiler and no core can fold them. The least of some pulses counts, since
# an interrupt only lengthens one.
CHAIN_TRIPS, CHAIN_PAIRS, CHAIN_PULSES = 1024, 8, 3
CHAIN_CYCLES = 2 * CHAIN_TRIPS * CHAIN_PAIRS

ENTRIES = ("member", "lead", "ticks", "tick", "nothing", "count", "cycles")

X86 = {
    "NOW": "call i64 @llvm.readcyclecounter()",
    "FENCE": "call void @llvm.x86.sse2.lfence()",
    "PAUSE": "call void @llvm.x86.sse2.pause()",
}
# On AArch64 the counter is asked for by name: which of LLVM's two counter intrinsics reads it, and which is a constant
# 0, has changed between releases.
AARCH64 = {
    "NOW": "call i64 @llvm.read_volatile_register.i64(metadata !1)",
    "FENCE": "call void @llvm.aarch64.isb(i32 15)",
    "PAUSE": "call void @llvm.aarch64.hint(i32 1)",
}

COUNTER_NAME = '!1 = !{!"CNTVCT_EL0"}'

WAITING = """
define void @member(ptr %team, ptr %job) {
start:
  %session = load atomic i64, ptr <team.session> acquire, align 8
  %closed = icmp eq i64 %session, 0
  br i1 %closed, label %leave, label %enter
enter:
  %known = load atomic i64, ptr <team.generation> acquire, align 8
  store atomic i64 %session, ptr <job.present> release, align 8
  br label %spin
spin:
  %last = phi i64 [ %known, %enter ], [ %last, %rest ], [ %generation, %work ]
  %now = load atomic i64, ptr <team.session> acquire, align 8
  %same = icmp eq i64 %now, %session
  br i1 %same, label %look, label %leave
look:
  %generation = load atomic i64, ptr <team.generation> acquire, align 8
  %idle = icmp eq i64 %generation, %last
  br i1 %idle, label %rest, label %work
rest:
  PAUSE
  br label %spin
work:
  call void @regions(ptr %team, ptr %job)
  br label %spin
leave:
  ret void
}
define void @lead(ptr %team, ptr %job) {
  %before = atomicrmw add ptr <team.generation>, i64 1 release
  call void @regions(ptr %team, ptr %job)
  ret void
}
"""

# Arriving is a locked operation, which also waits for non-temporal stores: the end is noted after it.
REGIONS = """
define void @regions(ptr %team, ptr %job) {
start:
  %kernel = load ptr, ptr <team.kernel>
  %rest = load ptr, ptr <team.rest>
  %launches = load i64, ptr <team.launches>
  %members = load i64, ptr <team.members>
  %others = sub i64 %members, 1
  %first = load i64, ptr <job.first>
  %length = load i64, ptr <job.length>
  %left = load i64, ptr <job.left>
  %size = load i64, ptr <job.size>
  %windows = load i64, ptr <job.windows>
  %repeats = load i64, ptr <job.repeats>
  %opening = load i64, ptr <job.window>
  %began = NOW
  store i64 %began, ptr <job.started>
  br label %launch
launch:
  %launched = phi i64 [ 0, %start ], [ %more, %met ]
  %window = phi i64 [ %opening, %start ], [ %next, %met ]
  %moved = mul i64 %window, %size
  %low = add i64 %first, %moved
  %high = add i64 %low, %length
  %end = add i64 %high, %left
  store i64 %low, ptr <job.low>
  store i64 %high, ptr <job.high>
  store i64 %end, ptr <job.end>
  br label %repeat
repeat:
  %repeated = phi i64 [ 0, %launch ], [ %again, %repeat ]
  call void %kernel(ptr %job)
  call void %rest(ptr %job)
  %again = add i64 %repeated, 1
  %unfinished = icmp ult i64 %again, %repeats
  br i1 %unfinished, label %repeat, label %arrive
arrive:
  %phase = load atomic i64, ptr <team.phase> monotonic, align 8
  %before = atomicrmw add ptr <team.arrived>, i64 1 acq_rel
  FENCE
  %done = NOW
  store i64 %done, ptr <job.ended>
  %full = icmp eq i64 %before, %others
  br i1 %full, label %open, label %wait
open:
  store atomic i64 0, ptr <team.arrived> monotonic, align 8
  %opened = atomicrmw add ptr <team.phase>, i64 1 release
  br label %met
wait:
  %seen = load atomic i64, ptr <team.phase> acquire, align 8
  %still = icmp eq i64 %seen, %phase
  br i1 %still, label %linger, label %met
linger:
  PAUSE
  br label %wait
met:
  %following = add i64 %window, 1
  %wrapped = icmp uge i64 %following, %windows
  %next = select i1 %wrapped, i64 0, i64 %following
  %more = add i64 %launched, 1
  %continue = icmp ult i64 %more, %launches
  br i1 %continue, label %launch, label %leave
leave:
  store i64 %next, ptr <job.window>
  ret void
}
"""

SMALL_KERNELS = """
define void @nothing(ptr %job) {
  ret void
}
define void @count(ptr %job) {
  %before = load i64, ptr <job.count>
  %after = add i64 %before, 1
  store i64 %after, ptr <job.count>
  ret void
}
"""

CLOCK = """
define i64 @ticks() {
  %now = NOW
  ret i64 %now
}
define i64 @tick() {
start:
  br label %read
read:
  %reading = phi i64 [ 0, %start ], [ %next, %read ]
  %least = phi i64 [ -1, %start ], [ %smaller, %read ]
  %one = NOW
  %two = NOW
  %apart = sub i64 %two, %one
  %moved = icmp ne i64 %apart, 0
  %step = select i1 %moved, i64 %apart, i64 -1
  %smaller = call i64 @llvm.umin.i64(i64 %least, i64 %step)
  %next = add i64 %reading, 1
  %more = icmp ult i64 %next, 4096
  br i1 %more, label %read, label %leave
leave:
  ret i64 %smaller
}
"""


def team_code(target: Target) -> str:
    """The module of the team's functions, `ENTRIES`."""
    text = "\n".join((WAITING, REGIONS, SMALL_KERNELS, CLOCK, _cycles()))
    words = AARCH64 if target.architecture == "aarch64" else X86
    for word, call in words.items():
        text = re.sub(rf"\b{word}\b", call, text)
    signatures = {re.sub(r"(i32|metadata) !?\d+", r"\1", call.replace("call", "declare", 1)) for call in words.values()}
    lines = [line for number, line in enumerate(text.splitlines()) for line in _addressed(number, line)]
    return "\n".join([*sorted(signatures), "declare i64 @llvm.umin.i64(i64, i64)", COUNTER_NAME, *lines])


def _addressed(number: int, line: str) -> list[str]:
    """The line, after one that works out the address of the slot that it names, if it names one."""
    slot = re.search(r"<(team|job)\.(\w+)>", line)
    if slot is None:
        return [line]
    block, name = slot.groups()
    offset = TEAM_SLOTS[name] if block == "team" else 8 * JOB_SLOTS.index(name)
    at = f"%at{number}"
    return [f"  {at} = getelementptr i8, ptr %{block}, i64 {offset}", line.replace(slot.group(), at)]


def _cycles() -> str:
    chain, link = [], "%link"
    for pair in range(CHAIN_PAIRS):
        chain += [f"  %sum{pair} = add i64 {link}, %a", f"  %xor{pair} = xor i64 %sum{pair}, %b"]
        link = f"%xor{pair}"
    return f"""
define void @cycles(ptr %job) {{
start:
  %a = load i64, ptr <job.a>
  %b = load i64, ptr <job.b>
  br label %pulse
pulse:
  %pulses = phi i64 [ 0, %start ], [ %pulsed, %over ]
  %least = phi i64 [ -1, %start ], [ %smaller, %over ]
  FENCE
  %began = NOW
  FENCE
  br label %trip
trip:
  %trips = phi i64 [ 0, %pulse ], [ %tripped, %trip ]
  %link = phi i64 [ %began, %pulse ], [ {link}, %trip ]
{chr(10).join(chain)}
  %tripped = add i64 %trips, 1
  %more = icmp ult i64 %tripped, {CHAIN_TRIPS}
  br i1 %more, label %trip, label %over
over:
  FENCE
  %ended = NOW
  store i64 {link}, ptr <job.seed>
  %took = sub i64 %ended, %began
  %smaller = call i64 @llvm.umin.i64(i64 %least, i64 %took)
  %pulsed = add i64 %pulses, 1
  %again = icmp ult i64 %pulsed, {CHAIN_PULSES}
  br i1 %again, label %pulse, label %leave
leave:
  store i64 %smaller, ptr <job.cycle_ticks>
  ret void
}}
"""
