"use strict";
// What all plots share: elements, markers, a frame of logarithmic axes, and a place for each text.

const Frame = (() => {
  const SHAPES = [
    d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar, d3.symbolWye,
  ];
  const COLOURS = 6;
  const LINE = 14; // pixels between two lines of text
  const WIDE = 640;

  // An HTML element; text is text, whatever it says.
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "text") element.textContent = value;
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== null) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  function colour(order) {
    return `c${order % COLOURS}`;
  }

  function symbol(order, size = 60) {
    return d3.symbol(SHAPES[order % SHAPES.length], size)();
  }

  // Decades, fewer where they would touch; where they are hardest to read between, also their twos and fives.
  function ticks(scale, room, each) {
    const [low, high] = scale.domain().map(Math.log10);
    const most = Math.max(2, Math.floor(room / each));
    const powers = d3.range(Math.floor(low), Math.ceil(high) + 1);
    const fits = (values) => values.filter((value) => Math.log10(value) >= low - 1e-9 && Math.log10(value) <= high + 1e-9);
    const fine = fits(powers.flatMap((power) => [1, 2, 5].map((by) => by * 10 ** power)));
    if (fine.length <= Math.min(most, 8)) return fine;
    const decades = fits(powers.map((power) => 10 ** power));
    const step = Math.ceil(decades.length / most);
    return decades.filter((_, order) => order % step === 0);
  }

  // A figure without needless digits: "10 GFLOP/s", "1 B".
  function tick(value, unit) {
    const [number, ...rest] = Model.si(value, unit).split(" ");
    return [String(Number(number)), ...rest].join(" ");
  }

  // An SVG with two logarithmic axes. `x` and `y`: {domain, unit, name}.
  function axes(host, { label, height, margin, x, y }) {
    const width = widthFor(host);
    const svg = d3.create("svg")
      .attr("viewBox", `0 0 ${width} ${height}`)
      .attr("role", "group")
      .attr("aria-label", label);
    const area = { left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom };
    const scales = {
      x: d3.scaleLog(x.domain, [area.left, area.right]),
      y: d3.scaleLog(y.domain, [area.bottom, area.top]),
    };
    const clip = `clip-${host.id}`;
    svg.append("clipPath").attr("id", clip).append("rect")
      .attr("x", area.left).attr("y", area.top)
      .attr("width", area.right - area.left).attr("height", area.bottom - area.top);
    const below = svg.append("g").attr("class", "axes").attr("aria-hidden", "true");
    const inside = svg.append("g").attr("clip-path", `url(#${clip})`);
    const above = svg.append("g");
    const frame = { svg, area, width, height, scales, below, inside, above, x, y };
    drawAxes(frame);
    host.replaceChildren(svg.node());
    return frame;
  }

  function drawAxes({ below, area, scales, x, y }) {
    below.selectAll("*").remove();
    const across = ticks(scales.x, area.right - area.left, 48);
    const upward = ticks(scales.y, area.bottom - area.top, 34);
    for (const value of across) {
      const at = scales.x(value);
      below.append("line").attr("class", "grid").attr("x1", at).attr("x2", at).attr("y1", area.top).attr("y2", area.bottom);
      below.append("text").attr("x", at).attr("y", area.bottom + 16).attr("text-anchor", "middle").text(tick(value, x.unit === "FLOP/B" ? "" : x.unit));
    }
    for (const value of upward) {
      const at = scales.y(value);
      below.append("line").attr("class", "grid").attr("x1", area.left).attr("x2", area.right).attr("y1", at).attr("y2", at);
      below.append("text").attr("x", area.left - 6).attr("y", at + 4).attr("text-anchor", "end")
        .text(tick(value, y.unit).replace(/(FLOP|OP|B)\/s$/, "").trim());
    }
    below.append("rect").attr("class", "edge").attr("x", area.left).attr("y", area.top)
      .attr("width", area.right - area.left).attr("height", area.bottom - area.top);
    below.append("text").attr("class", "name").attr("x", (area.left + area.right) / 2).attr("y", area.bottom + 35)
      .attr("text-anchor", "middle").text(x.name);
    below.append("text").attr("class", "name").attr("x", area.left - 6).attr("y", area.top - 8)
      .attr("text-anchor", area.left > 90 ? "middle" : "start").attr("dx", area.left > 90 ? 0 : -area.left + 10).text(y.name);
  }

  // Boxes that are taken; `free` says whether a box touches none of them.
  function places() {
    const taken = [];
    const touches = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return {
      take: (box) => taken.push(box),
      free: (box) => !taken.some((other) => touches(box, other)),
    };
  }

  // Heights for labels at `wanted` ones, in order, no two nearer than a line, all within [top, bottom] if there is room.
  function spread(wanted, top, bottom, gap = LINE) {
    const heights = wanted.slice();
    for (let round = 0; round < 2; round += 1) {
      for (let i = 0; i < heights.length; i += 1) {
        heights[i] = Math.max(heights[i], i ? heights[i - 1] + gap : top);
      }
      for (let i = heights.length - 1; i >= 0; i -= 1) {
        heights[i] = Math.min(heights[i], i < heights.length - 1 ? heights[i + 1] - gap : bottom);
      }
    }
    return heights;
  }

  const ruler = document.createElement("canvas").getContext("2d");

  function widthOf(text, pixels = 12) {
    ruler.font = `${pixels}px ${getComputedStyle(document.body).fontFamily}`;
    return ruler.measureText(text).width;
  }

  const drawn = [];
  let paper = 0;

  // The pixels that a plot has: those of its place, or of the paper that it is printed on.
  function widthFor(host) {
    return paper || Math.max(host.clientWidth, 260);
  }

  // Redraws when the place for a plot has another width.
  function whenResized(host, draw) {
    let last = 0;
    drawn.push(draw);
    new ResizeObserver(() => {
      if (!paper && host.clientWidth && Math.abs(host.clientWidth - last) > 1) {
        last = host.clientWidth;
        draw();
      }
    }).observe(host);
  }

  // Draws everything for paper of so many pixels, 0 for the screen: what is drawn wide is too small to read in print.
  function redrawFor(width) {
    paper = width;
    for (const draw of drawn) draw();
  }

  // One of a group can be reached with Tab, the others from there with the arrow keys.
  function roving(nodes) {
    nodes.forEach((node, order) => {
      node.setAttribute("tabindex", order ? "-1" : "0");
      node.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        const to = event.key === "Home" ? 0 : event.key === "End" ? nodes.length - 1 : by && order + by;
        if (to === undefined || !nodes[to]) return;
        event.preventDefault();
        event.stopPropagation();
        node.setAttribute("tabindex", "-1");
        nodes[to].setAttribute("tabindex", "0");
        nodes[to].focus();
      });
    });
  }

  return { make, colour, symbol, axes, drawAxes, places, spread, widthOf, widthFor, whenResized, redrawFor, roving, LINE, WIDE, SHAPES };
})();
