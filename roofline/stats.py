"""What a series of noisy readings says: its median with an interval, and whether it drifts, is two-peaked or throttled.

Nothing here assumes a distribution: times of launches are skewed, and now and then one is a thousand times too long.
Only ratios count, so scaling a series changes no verdict.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

import numpy as np
import scipy  # its sub-modules load when first used: `scipy.stats` alone takes longer to import than all of roofline
from numpy.typing import NDArray

from roofline.model import Estimate, Samples, Spread

Series = NDArray[np.float64]

# Below 3 % a trend or a second level is what any busy machine shows; the falls that people reported were 10 to 45 %.
NOTABLE = 0.03
# One series in a hundred may be called drifting by chance alone, if its change is notable besides.
SIGNIFICANT = 0.01
# Kendall's tau over fewer readings rarely reaches that significance (8! orders; tau = 1 has p = 5e-5, 0.7 has 0.014).
FEWEST_FOR_TREND = 8
# A level is more than an outlier when it holds this share of the readings, and no fewer than this many.
LEVEL_SHARE = 0.15
FEWEST_IN_LEVEL = 5
# Gaps between one-peaked series' neighbours exceed twice the interquartile range of both sides in at most 4 % of series
# of 12 and in 0.2 % of 30 (normal, log-normal, exponential, uniform; 1500 series of each were drawn).
GAP_OVER_WITHIN = 2.0
# Boost clocks wander by a few percent; below this share of nominal something holds the clock down.
THROTTLED_BELOW = 0.9
# A share of the readings that a glitch of the counter cannot make up.
THROTTLED_SHARE = 0.1


def _checked(samples: Sequence[float]) -> Series:
    """The samples as an array; ValueError where there are none or one is not a positive finite number."""
    series = np.asarray(samples, dtype=np.float64)
    if series.ndim != 1 or not series.size:
        raise ValueError("no samples: at least one positive number is needed")
    wrong = series[~(np.isfinite(series) & (series > 0))]
    if wrong.size:
        raise ValueError(f"a sample is {wrong[0]:g}: each must be positive and finite; drop what the timer got wrong")
    return series


@lru_cache(maxsize=1024)
def _rank(count: int, confidence: float) -> int:
    """Ranks to go in from either end of `count` sorted samples for that confidence; 0 where there are too few."""
    return int(scipy.stats.binom.ppf((1 - confidence) / 2, count, 0.5))


def interval(samples: Sequence[float], confidence: float = 0.95, placements: Sequence[int] = ()) -> Estimate:
    """The median of positive `samples` with a distribution-free interval of the median at that `confidence`.

    The ends are order statistics whose ranks the binomial distribution gives (H. A. David, H. N. Nagaraja, Order
    Statistics, 3rd ed. 2003, section 7.1). Too few samples for that (fewer than 6 at 95 %) give the whole range. Where
    `placements` tells the allocation of each sample and there are several, the interval also covers the median of each
    of them: more samples on the same pages do not say what other pages would have given.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence:g}: it must lie between 0 and 1, such as 0.95")
    series = np.sort(_checked(samples))
    inward = max(_rank(series.size, confidence), 1)
    middle, low, high = float(np.median(series)), float(series[inward - 1]), float(series[-inward])
    medians = list(_medians(_checked(samples), placements).values())
    return Estimate(middle, min([low, middle, *medians]), max([high, middle, *medians]))


def estimate(samples: Samples) -> Estimate:
    """Seconds of one launch, as `interval` gives them."""
    return interval(samples.seconds, placements=samples.placements)


def _medians(series: Series, placements: Sequence[int]) -> dict[int, float]:
    """The median of each placement's samples; ValueError unless there is one placement a sample, or none at all."""
    if placements and len(placements) != series.size:
        raise ValueError(f"{len(placements)} placements for {series.size} samples: give one a sample, or none at all")
    of = np.asarray(placements, dtype=np.int64)
    return {int(placement): float(np.median(series[of == placement])) for placement in np.unique(of)}


def within_placements(samples: Sequence[float], placements: Sequence[int] = ()) -> Series:
    """The samples with the difference between placements taken out: each over the median of its own placement."""
    series = _checked(samples)
    medians = _medians(series, placements)
    own = [medians[placement] for placement in placements] if medians else [float(np.median(series))]
    return np.asarray(series / np.array(own), dtype=np.float64)


def relative_error(value: Estimate) -> float:
    """Half the width of the interval, as a share of the value."""
    return (value.high - value.low) / (2 * value.value)


def relative_spread(samples: Sequence[float]) -> float:
    """The interquartile range of `samples` over their median: 0 where all are equal, blind to a few outliers."""
    series = _checked(samples)
    low, high = np.percentile(series, (25, 75))
    return float((high - low) / np.median(series))


@dataclass(frozen=True)
class Drift:
    """A trend over a whole series: the relative `change` from its first to its last sample, and its chance `p`."""

    change: float
    p: float

    @property
    def present(self) -> bool:
        """Whether the trend is both more than chance and large enough to matter."""
        return self.p < SIGNIFICANT and abs(self.change) >= NOTABLE


STEADY = Drift(change=0.0, p=1.0)


def drift(samples: Sequence[float]) -> Drift:
    """The trend of `samples` in the order they ran.

    Its size is the Theil-Sen slope (P. K. Sen, JASA 63, 1968, 1379), times the length, over the median; its chance is
    that of Kendall's tau between order and value (M. G. Kendall, Biometrika 30, 1938, 81). Both ignore outliers.
    """
    series = _checked(samples)
    if series.size < FEWEST_FOR_TREND or np.all(series == series[0]):
        return STEADY
    order = np.arange(series.size)
    slope = float(scipy.stats.theilslopes(series, order).slope)
    chance = float(scipy.stats.kendalltau(order, series).pvalue)
    return Drift(slope * (series.size - 1) / float(np.median(series)), chance)


@dataclass(frozen=True)
class Levels:
    """Two levels between which a series jumps, and the share of its samples on the upper one."""

    lower: float
    upper: float
    upper_share: float


def two_peaked(samples: Sequence[float]) -> Levels | None:
    """The two levels of `samples`, None where there is one.

    The widest gap between neighbours in size splits them. It must exceed the spread within either side, each side must
    hold enough samples to be more than outliers, and the levels must lie notably apart (robust form of the separation
    D of K. M. Ashman, C. M. Bird, S. E. Zepf, Astron. J. 108, 1994, 2348).
    """
    series = np.sort(_checked(samples))
    least = max(FEWEST_IN_LEVEL, math.ceil(LEVEL_SHARE * series.size))
    if series.size < 2 * least:
        return None
    gaps = np.diff(series[least - 1 : series.size - least + 1])
    split = least + int(np.argmax(gaps))
    lower, upper = series[:split], series[split:]
    within = max(float(np.subtract(*np.percentile(side, (75, 25)))) for side in (lower, upper))
    levels = Levels(float(np.median(lower)), float(np.median(upper)), upper.size / series.size)
    apart = levels.upper - levels.lower >= NOTABLE * levels.lower
    return levels if apart and gaps.max() > GAP_OVER_WITHIN * within else None


def throttled(clock_hz: Sequence[float], nominal_hz: float | None) -> str | None:
    """Why readings of the clock say that something held it down, None where they do not or nominal is unknown.

    A clock above nominal is none of this: rated boost is what specifications use and a cool card runs faster.
    """
    if nominal_hz is None or not clock_hz:
        return None
    shares = _checked(clock_hz) / _checked([nominal_hz])
    below = float(np.mean(shares < THROTTLED_BELOW))
    if below < THROTTLED_SHARE:
        return None
    if below == 1:
        return f"clock stayed at {median(shares):.0%} of nominal".replace("%", " %")
    text = f"clock below {THROTTLED_BELOW:.0%} of nominal in {below:.0%} of the readings, least {shares.min():.0%}"
    return text.replace("%", " %")


def burst_and_sustained(samples: Sequence[float]) -> tuple[float, float]:
    """The medians of the first and of the last tenth of `samples`, of three at least so that no outlier decides."""
    series = _checked(samples)
    tenth = max(3, series.size // 10)
    return float(np.median(series[:tenth])), float(np.median(series[-tenth:]))


def growth(work: Sequence[float], seconds: Sequence[float]) -> float:
    """The power of `work` with which `seconds` grow: 1 is proportional, 0 says that time does not depend on work.

    It is the Theil-Sen slope between the logarithms. Work that the compiler removed, and launches that are all
    overhead, show as 0 (C6).
    """
    amount, time = np.log(_checked(work)), np.log(_checked(seconds))
    if amount.size != time.size or np.ptp(amount) == 0:
        raise ValueError(f"{amount.size} amounts of work and {time.size} times: give pairs, with two amounts or more")
    return float(scipy.stats.theilslopes(time, amount).slope)


def spread(readings: Sequence[float | None]) -> Spread | None:
    """Least, median and greatest of what could be read, None where nothing could."""
    return Spread.of([reading for reading in readings if reading is not None])
