"use strict";
// The roofline model and the text of figures, as roofline/rooflines.py and roofline/units.py have them. The tests hold
// both against the library, figure by figure.

const Model = (() => {
  const DIGITS = 3;
  let units = { prefixes: {}, ranges: {} };

  function setUnits(known) {
    units = known;
  }

  // A positive number rounded to significant digits, halves to even, as [digits, exponent]: 1365.3 is ["137", 3].
  function rounded(value, digits) {
    const [mantissa, exponent] = value.toExponential(60).split("e");
    const all = mantissa.replace(".", "");
    let kept = BigInt(all.slice(0, digits));
    const rest = all.slice(digits);
    const half = /^50*$/.test(rest);
    if (half ? kept % 2n === 1n : rest[0] >= "5") kept += 1n;
    const text = kept.toString();
    return text.length > digits ? [text.slice(0, digits), Number(exponent) + 1] : [text, Number(exponent)];
  }

  // Plain notation without an exponent.
  function plain([digits, exponent]) {
    if (exponent >= digits.length - 1) return digits + "0".repeat(exponent - digits.length + 1);
    if (exponent >= 0) return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
    return `0.${"0".repeat(-exponent - 1)}${digits}`;
  }

  function si(value, unit, digits = DIGITS) {
    if (value === null || value === undefined || Number.isNaN(value)) return "unknown";
    if (!Number.isFinite(value)) return joined((value < 0 ? "-" : "") + "∞", unit);
    if (value === 0) return joined("0", unit);
    const [least, greatest] = units.ranges[unit];
    const [text, exponent] = rounded(Math.abs(value), digits);
    const power = Math.min(Math.max(Math.floor(exponent / 3) * 3, least), greatest);
    return joined((value < 0 ? "-" : "") + plain([text, exponent - power]), units.prefixes[power] + unit);
  }

  function joined(number, symbol) {
    return symbol ? `${number} ${symbol}` : number;
  }

  function percent(fraction, digits = DIGITS) {
    const number = fraction === null || fraction === undefined ? null : fraction * 100;
    const text = si(number, "", digits);
    return text === "unknown" ? text : `${text} %`;
  }

  // min(P, I · β), and the resource that sets it.
  function attainable(intensity, roof, slope, rate = (ceiling) => ceiling.rate) {
    const [most, feed] = [rate(roof), rate(slope)];
    if (most === null || feed === null) return null;
    if (intensity * feed < most) return { value: intensity * feed, bound: slope.resource };
    return { value: most, bound: roof.resource };
  }

  function ridge(roof, slope, rate = (ceiling) => ceiling.rate) {
    const [most, feed] = [rate(roof), rate(slope)];
    return most === null || feed === null ? null : most / feed;
  }

  // How long each resource is at work for one launch, and its share of the longest: that one is never idle.
  function busy(work, roof, slopes) {
    const times = [];
    if (work.flops) times.push({ resource: roof.resource, kind: "arithmetic", seconds: work.flops / roof.rate });
    for (const [level, moved] of Object.entries(work.moved)) {
      const slope = slopes[level];
      if (slope && moved) times.push({ resource: slope.resource, kind: level, seconds: moved / slope.rate });
    }
    const longest = Math.max(...times.map((time) => time.seconds));
    return times
      .map((time) => ({ ...time, share: time.seconds / longest }))
      .sort((one, other) => other.seconds - one.seconds);
  }

  return { setUnits, si, percent, attainable, ridge, busy };
})();
