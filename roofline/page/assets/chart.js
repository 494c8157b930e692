"use strict";
// The roofline: every ceiling, every point, ridges; levels, legend, zoom, numbers under the pointer and the keyboard.

const Chart = (() => {
  const { make, colour, symbol, places, spread, widthOf, LINE, WIDE } = Frame;
  const JUDGED = "judged";
  const VISIBLE_SPREAD = 1.02; // an error bar shorter than this cannot be seen
  const FIRST_OF_POINTS = 3; // the colours before it are those of slopes, roofs and integer roofs
  const LABELS = { dram: "DRAM", l1: "L1", l2: "L2", l3: "L3", shared: "shared memory" };

  const state = { level: JUDGED, off: new Set(), transform: d3.zoomIdentity };
  let data, host, frame, tip, order;

  const several = () => data.cards.length > 1;
  const lineId = (card, ceiling) => `${card.letter}/line/${ceiling.resource}`;
  const groupId = (group) => `group/${group}`;
  const cardId = (card) => `card/${card.letter}`;
  const isSlope = (ceiling) => ceiling.unit === "B/s";
  const levelOf = (ceiling) => ceiling.resource.split("_")[0];

  function start(known) {
    data = known;
    host = document.getElementById("chart-plot");
    order = new Map([...new Set(data.cards.flatMap((card) => card.marks.map((mark) => mark.group)))].map((g, i) => [g, i]));
    for (const card of data.cards) {
      for (const ceiling of card.ceilings) if (!shownAtFirst(ceiling)) state.off.add(lineId(card, ceiling));
    }
    tip = make("div", { class: "tip", role: "status", hidden: true });
    buildControls();
    buildLegend();
    Frame.whenResized(host, draw);
  }

  // Of several cards only what judges points and what everybody knows; of one, all that its chart has.
  function shownAtFirst(ceiling) {
    if (!several()) return ceiling.drawn;
    return ["dram", "l2", "fp32", "tensor_fp16_fp32acc"].includes(ceiling.resource);
  }

  // -- controls ---------------------------------------------------------------------------------------------------

  function buildControls() {
    const controls = document.getElementById("chart-controls");
    const found = data.levels.filter((level) => data.cards.some((c) => c.marks.some((mark) => mark.places[level])));
    if (found.length > 1) controls.append(levelSwitch(found));
    const buttons = [["Zoom in", () => zoomBy(1.5)], ["Zoom out", () => zoomBy(1 / 1.5)], ["Show all", showAll]];
    controls.append(
      make("div", { class: "buttons", role: "group", "aria-label": "Zoom" },
        ...buttons.map(([text, act]) => {
          const button = make("button", { type: "button", text });
          button.addEventListener("click", act);
          return button;
        })),
    );
  }

  function levelSwitch(found) {
    const set = make("fieldset", { class: "switch" }, make("legend", { text: "Points at the bytes of" }));
    for (const level of [JUDGED, ...found]) {
      const input = make("input", { type: "radio", name: "level", value: level, checked: level === state.level });
      input.addEventListener("change", () => {
        state.level = level;
        draw();
      });
      set.append(make("label", {}, input, level === JUDGED ? "the level that limits" : LABELS[level] || level));
    }
    return set;
  }

  function buildLegend() {
    const legend = document.getElementById("chart-legend");
    if (several()) legend.append(cardsLegend());
    if (order.size) legend.append(pointsLegend());
    for (const card of data.cards) legend.append(linesLegend(card));
  }

  function toggle(id, text, swatch) {
    const input = make("input", { type: "checkbox", checked: !state.off.has(id), "data-id": id });
    input.addEventListener("change", () => {
      if (input.checked) state.off.delete(id);
      else state.off.add(id);
      draw();
    });
    return make("label", {}, input, swatch, make("span", { text }));
  }

  function cardsLegend() {
    const set = make("fieldset", {}, make("legend", { text: "Cards" }));
    data.cards.forEach((card, number) => set.append(toggle(cardId(card), `${card.letter}: ${card.label}`, lineSwatch(number, false))));
    return set;
  }

  function pointsLegend() {
    const set = make("fieldset", {}, make("legend", { text: "Points" }));
    for (const [group, number] of order) {
      const swatch = d3.create("svg").attr("viewBox", "-9 -7 18 14").attr("width", 18).attr("height", 14).attr("aria-hidden", "true");
      swatch.append("path").attr("d", symbol(number)).attr("class", `mark ${several() ? "plain" : colour(number + FIRST_OF_POINTS)}`);
      set.append(toggle(groupId(group), group, swatch.node()));
    }
    return set;
  }

  function linesLegend(card) {
    const lines = card.ceilings.filter((ceiling) => ceiling.unit !== "s");
    const box = make("details", { open: !several() },
      make("summary", { text: several() ? `Lines of ${card.letter}: ${card.label}` : "Lines" }));
    for (const [group, members] of d3.group(lines, (ceiling) => ceiling.group)) {
      const set = make("fieldset", {}, make("legend", { text: group }));
      for (const ceiling of members) {
        const text = `${ceiling.resource} ${Model.si(ceiling.rate, ceiling.unit)}`;
        set.append(toggle(lineId(card, ceiling), text, lineSwatch(styleOf(card, ceiling), ceiling.lower)));
      }
      box.append(set);
    }
    return box;
  }

  function lineSwatch(number, lower) {
    const swatch = d3.create("svg").attr("viewBox", "0 0 26 10").attr("width", 26).attr("height", 10).attr("aria-hidden", "true");
    swatch.append("line").attr("x1", 0).attr("x2", 26).attr("y1", 5).attr("y2", 5).attr("class", lineClass(number, lower));
    return swatch.node();
  }

  // Cards by colour and dash where they are several; else slopes, roofs and integer roofs.
  function styleOf(card, ceiling) {
    if (several()) return data.cards.indexOf(card);
    return isSlope(ceiling) ? 0 : ceiling.unit === "OP/s" ? 2 : 1;
  }

  function lineClass(number, lower) {
    return `line ${colour(number)} ${lower ? "lower" : ""} ${several() ? `card${number % 4}` : ""}`;
  }

  // -- what is shown ----------------------------------------------------------------------------------------------

  function lines() {
    return data.cards.filter((card) => !state.off.has(cardId(card))).flatMap((card) =>
      card.ceilings
        .filter((ceiling) => ceiling.unit !== "s" && !state.off.has(lineId(card, ceiling)))
        .map((ceiling) => ({ card, ceiling, number: styleOf(card, ceiling) })));
  }

  function marks() {
    const found = [];
    data.cards.forEach((card, number) => {
      if (state.off.has(cardId(card))) return;
      for (const mark of card.marks) {
        const place = mark.places[state.level === JUDGED ? mark.level : state.level];
        if (place && !state.off.has(groupId(mark.group))) found.push({ card, mark, place, number });
      }
    });
    return found.sort((one, other) => one.place.intensity - other.place.intensity);
  }

  function domain() {
    const drawn = marks();
    const all = [...data.cards.flatMap((card) => card.limits.x), ...drawn.flatMap((m) => [m.place.intensity / 4, m.place.intensity * 2])];
    const upward = [
      ...data.cards.flatMap((card) => card.limits.y),
      ...lines().filter(({ ceiling }) => !isSlope(ceiling)).flatMap(({ ceiling }) => [ceiling.rate * 1.7, ceiling.rate / 1.7]),
    ];
    return { x: d3.extent(all), y: d3.extent(upward) };
  }

  // -- drawing ----------------------------------------------------------------------------------------------------

  function draw() {
    keepingFocus(drawAll);
  }

  // Points are drawn anew; who is at one by the keyboard stays there, or at the chart where it is gone.
  function keepingFocus(redo) {
    const focused = document.activeElement?.closest?.("#chart-plot [data-key]")?.getAttribute("data-key");
    redo();
    if (focused) (host.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? frame.svg.node()).focus({ preventScroll: true });
  }

  function drawAll() {
    const wide = Frame.widthFor(host) >= WIDE;
    const room = domain();
    frame = Frame.axes(host, {
      label: "Roofline chart: intensity against rate, both logarithmic",
      height: wide ? 600 : 430,
      margin: { left: 54, right: wide ? 272 : 16, top: 28, bottom: 44 },
      x: { domain: room.x, unit: "FLOP/B", name: "intensity: FLOP for each byte" },
      y: { domain: room.y, unit: "FLOP/s", name: "FLOP/s" },
    });
    const base = { x: frame.scales.x.copy(), y: frame.scales.y.copy() };
    host.append(tip);
    frame.svg.node().setAttribute("tabindex", "0");
    zoomable(base);
    redraw(base, wide);
  }

  function zoomable(base) {
    const { svg, area } = frame;
    const zoom = d3.zoom()
      .scaleExtent([1, 200])
      .extent([[area.left, area.top], [area.right, area.bottom]])
      .translateExtent([[area.left, area.top], [area.right, area.bottom]])
      .filter((event) => (event.type === "wheel" ? event.ctrlKey : event.touches ? event.touches.length > 1 : !event.button))
      .on("zoom", ({ transform }) => {
        state.transform = transform;
        keepingFocus(() => redraw(base, Frame.widthFor(host) >= WIDE));
      });
    svg.call(zoom).on("dblclick.zoom", null);
    svg.node().__zoomer = zoom;
    if (state.transform !== d3.zoomIdentity) svg.call(zoom.transform, state.transform);
    svg.on("keydown", (event) => {
      const step = 60;
      const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      if (event.key === "+" || event.key === "=") zoomBy(1.5);
      else if (event.key === "-") zoomBy(1 / 1.5);
      else if (event.key === "0") showAll();
      else if (event.key === "Escape") hideTip();
      else if (moves[event.key] && event.target === svg.node()) svg.call(zoom.translateBy, ...moves[event.key].map((v) => v / state.transform.k));
      else return;
      event.preventDefault();
    });
  }

  function zoomBy(factor) {
    frame.svg.call(frame.svg.node().__zoomer.scaleBy, factor);
  }

  function showAll() {
    frame.svg.call(frame.svg.node().__zoomer.transform, d3.zoomIdentity);
  }

  function redraw(base, wide) {
    const { scales } = frame;
    scales.x.domain(state.transform.rescaleX(base.x).domain());
    scales.y.domain(state.transform.rescaleY(base.y).domain());
    Frame.drawAxes(frame);
    frame.inside.selectAll("*").remove();
    frame.above.selectAll("*").remove();
    const taken = places();
    const [drawn, points] = [lines(), marks()];
    drawLines(drawn);
    for (const point of points) {
      const [cx, cy] = pixel(point);
      taken.take({ left: cx - 6, right: cx + 6, top: cy - 6, bottom: cy + 6 });
    }
    drawRidges(wide, taken);
    nameRoofs(drawn.filter(({ ceiling }) => !isSlope(ceiling)), wide, taken);
    drawMarks(points);
    namePoints(points, taken);
    nameSlopes(drawn.filter(({ ceiling }) => isSlope(ceiling)), wide, taken);
    const hidden = state.level === JUDGED ? 0 : d3.sum(data.cards, (card) => card.marks.filter((mark) => !mark.places[state.level]).length);
    frame.svg.attr("aria-description", hidden ? `${hidden} points are not counted at this level` : null);
  }

  const pixel = ({ place, mark }) => [frame.scales.x(place.intensity), frame.scales.y(mark.rate.value)];

  function drawLines(drawn) {
    const { scales, inside } = frame;
    const [least, most] = scales.x.domain();
    const [floor, top] = scales.y.domain();
    const byCard = d3.group(drawn, ({ card }) => card);
    for (const [, own] of byCard) {
      const roofs = own.filter(({ ceiling }) => !isSlope(ceiling)).map(({ ceiling }) => ceiling.rate);
      const feeds = own.filter(({ ceiling }) => isSlope(ceiling)).map(({ ceiling }) => ceiling.rate);
      const highest = roofs.length ? d3.max(roofs) : top;
      const steepest = d3.max(feeds);
      for (const line of own) {
        const { rate, lower } = line.ceiling;
        let ends;
        if (isSlope(line.ceiling)) {
          const from = Math.max(least, floor / rate);
          ends = [[from, from * rate], [Math.min(most, highest / rate), Math.min(most * rate, highest)]];
        } else {
          ends = [[steepest ? Math.max(least, rate / steepest) : least, rate], [most, rate]];
        }
        if (ends[0][0] >= ends[1][0]) continue;
        line.ends = ends.map(([i, r]) => [scales.x(i), scales.y(r)]);
        const faded = state.level !== JUDGED && isSlope(line.ceiling) && levelOf(line.ceiling) !== state.level;
        const path = inside.append("path").attr("d", d3.line()(line.ends))
          .attr("class", `${lineClass(line.number, lower)} ${line.ceiling.primary ? "primary" : ""} ${faded ? "faded" : ""}`);
        const wideTarget = inside.append("path").attr("d", d3.line()(line.ends)).attr("class", "target");
        wideTarget.on("pointerenter", (event) => {
          path.classed("hot", true);
          showTip(lineTip(line), d3.pointer(event, frame.svg.node()));
        }).on("pointerleave", () => {
          path.classed("hot", false);
          hideTip();
        });
      }
    }
  }

  // Names of roofs stand right of the chart, or above their lines where there is no room for that.
  function nameRoofs(roofs, wide, taken) {
    const { area, scales, above } = frame;
    const inView = roofs.filter((line) => line.ends && line.ends[0][1] >= area.top - 1 && line.ends[0][1] <= area.bottom + 1);
    inView.sort((one, other) => scales.y(one.ceiling.rate) - scales.y(other.ceiling.rate));
    const wanted = inView.map(({ ceiling }) => scales.y(ceiling.rate));
    const heights = spread(wanted, area.top + 4, area.bottom - 4);
    const judgingFirst = d3.sort(d3.range(inView.length), (i) => rankOf(inView[i]));
    judgingFirst.filter((i) => wide || !inView[i].ceiling.lower).forEach((i) => {
      const [line, name] = [inView[i], roofName(inView[i])];
      if (wide) {
        above.append("path").attr("class", "leader").attr("d", d3.line()([[area.right, wanted[i]], [area.right + 12, heights[i]], [area.right + 18, heights[i]]]));
        above.append("text").attr("class", `label ${line.ceiling.lower ? "quiet" : ""}`).attr("x", area.right + 22).attr("y", heights[i] + 4).text(fit(name, 246));
        return;
      }
      const width = widthOf(name) + 4;
      const others = wanted.filter((_, other) => other !== i);
      const box = [-6, -14, 24]
        .map((by) => ({ left: area.right - width, right: area.right, top: wanted[i] + by - 13, bottom: wanted[i] + by + 4 }))
        .find((place) => place.top > area.top && taken.free(place) && !others.some((y) => y > place.top && y < place.bottom));
      if (!box) return;
      taken.take(box);
      above.append("text").attr("class", "label halo").attr("x", area.right - 4).attr("y", box.bottom - 4).attr("text-anchor", "end").text(name);
    });
  }

  function roofName({ card, ceiling }) {
    return `${several() ? `${card.letter}  ` : ""}${ceiling.resource}  ${Model.si(ceiling.rate, ceiling.unit)}`;
  }

  function fit(text, room) {
    if (widthOf(text) <= room) return text;
    let kept = text.length;
    while (kept > 4 && widthOf(`${text.slice(0, kept)}…`) > room) kept -= 1;
    return `${text.slice(0, kept)}…`;
  }

  // Names of slopes stand along their lines. Slopes are parallel, so two names touch only if they do along (u) and across (v).
  function nameSlopes(slopes, wide, taken) {
    const { above, area } = frame;
    const named = [];
    const shown = slopes.filter((line) => line.ends && (wide || !line.ceiling.lower)).sort((one, other) => rankOf(one) - rankOf(other));
    for (const line of shown) {
      const [[x0, y0], [x1, y1]] = line.ends;
      const length = Math.hypot(x1 - x0, y1 - y0);
      const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
      const text = roofName(line);
      const width = widthOf(text);
      const across = x0 * -dy + y0 * dx;
      for (let at = 20; at + width + 10 < length; at += 16) {
        const box = boxOf(x0 + dx * at, y0 + dy * at, dx, dy, width);
        if (box.some((part) => part.top < area.top || part.right > area.right)) break;
        const along = (x0 + dx * at) * dx + (y0 + dy * at) * dy;
        const touches = named.some((n) => Math.abs(n.across - across) < LINE && along < n.along + n.width + 8 && n.along < along + width + 8);
        if (touches || !box.every(taken.free)) continue;
        named.push({ across, along, width });
        box.forEach(taken.take);
        const angle = (Math.atan2(dy, dx) * 180) / Math.PI;
        above.append("text").attr("class", "label halo").text(text)
          .attr("transform", `translate(${x0 + dx * at},${y0 + dy * at}) rotate(${angle}) translate(0,-5)`);
        break;
      }
    }
  }

  // Of slopes that lie on one another those that judge points are named first.
  function rankOf({ ceiling }) {
    return (ceiling.primary ? 0 : 2) + (ceiling.lower ? 1 : 0);
  }

  // A text along a line as a row of small boxes, so that what lies beside its middle is not taken.
  function boxOf(x, y, dx, dy, width) {
    const parts = Math.max(1, Math.ceil(width / 10));
    return d3.range(parts + 1).map((i) => {
      const [cx, cy] = [x + (dx * width * i) / parts + dy * 9, y + (dy * width * i) / parts - dx * 9];
      return { left: cx - 6, right: cx + 6, top: cy - 6, bottom: cy + 6 };
    });
  }

  // The corners of each card; of several cards the one that all have.
  function ridges() {
    const shown = data.cards.filter((card) => !state.off.has(cardId(card)));
    const found = shown.flatMap((card) => (several() ? commonRidge(card) : card.ridges).map((ridge) => ({ card, ridge })));
    const drawn = ({ card, ridge }) => ridge.name.split("/").every((name) => !state.off.has(`${card.letter}/line/${name}`));
    return found.filter(drawn).sort((one, other) => one.ridge.intensity - other.ridge.intensity);
  }

  function commonRidge(card) {
    const [roof, slope] = ["fp32", "dram"].map((name) => card.ceilings.find((ceiling) => ceiling.resource === name));
    return roof && slope ? [{ name: "fp32/dram", intensity: Model.ridge(roof, slope), rate: roof.rate }] : [];
  }

  function drawRidges(wide, taken) {
    const { inside, above, area, scales } = frame;
    for (const { card, ridge } of ridges()) {
      const [at, top] = [scales.x(ridge.intensity), Math.max(scales.y(ridge.rate), area.top)];
      if (at <= area.left || at >= area.right || top > area.bottom) continue;
      inside.append("line").attr("class", "ridge").attr("x1", at).attr("x2", at).attr("y1", top).attr("y2", area.bottom);
      const text = ridgeName(card, ridge, wide);
      const place = ridgePlace(at, top, widthOf(text), taken);
      if (!place) continue;
      taken.take(place);
      above.append("text").attr("class", "label halo quiet").attr("x", place.left + 2).attr("y", place.bottom - 3).text(text);
    }
  }

  function ridgeName(card, ridge, wide) {
    const figure = Model.si(ridge.intensity, wide ? "FLOP/B" : "");
    const [roof, slope] = ridge.name.split("/");
    const one = several() || new Set(card.ridges.map(({ name }) => name.split("/")[1])).size === 1;
    return `${several() ? `${card.letter} ` : ""}ridge ${figure}${wide ? `, ${one ? roof : `${roof} / ${slope}`}` : ""}`;
  }

  function ridgePlace(at, top, width, taken) {
    const { area } = frame;
    for (let bottom = area.bottom - 4; bottom - LINE > top; bottom -= LINE) {
      for (const left of [at + 2, at - width - 6]) {
        const box = { left, right: left + width + 4, top: bottom - LINE, bottom };
        if (left > area.left && box.right < area.right && taken.free(box)) return box;
      }
    }
    return null;
  }

  function drawMarks(points) {
    const { inside, scales } = frame;
    const nodes = points.map((point) => {
      const { mark, card } = point;
      const [cx, cy] = pixel(point);
      const number = order.get(mark.group);
      const group = inside.append("g").attr("class", `point ${colour(several() ? point.number : number + FIRST_OF_POINTS)}`)
        .attr("role", "img").attr("data-key", `${card.letter}/${mark.group}/${mark.name}/${mark.size}`)
        .attr("aria-label", `${mark.name}: ${pointTip(point).join("; ")}`);
      if (state.level === JUDGED) drawElsewhere(group, mark, cy, number);
      const { low, high } = mark.rate;
      if (low && high && high / low > VISIBLE_SPREAD) {
        group.append("path").attr("class", "spread")
          .attr("d", `M${cx - 4},${scales.y(high)}h8m-4,0V${scales.y(low)}m-4,0h8`);
      }
      if (mark.above) group.append("circle").attr("class", "above").attr("cx", cx).attr("cy", cy).attr("r", 10);
      group.append("path").attr("class", "mark").attr("d", symbol(number)).attr("transform", `translate(${cx},${cy})`);
      const show = () => showTip([mark.name, ...pointTip(point)], [cx, cy]);
      group.on("pointerenter", show).on("pointerleave", hideTip).on("focus", show).on("blur", hideTip);
      return group.node();
    });
    Frame.roving(nodes);
  }

  // Where the same kernel lies at the levels that do not limit it: smaller, on one height, for its rate is one.
  function drawElsewhere(group, mark, cy, number) {
    const others = Object.entries(mark.places).filter(([level]) => level !== mark.level);
    if (!others.length) return;
    const across = Object.values(mark.places).map((place) => frame.scales.x(place.intensity));
    group.append("path").attr("class", "tie").attr("d", `M${d3.min(across)},${cy}H${d3.max(across)}`);
    for (const [, place] of others) {
      group.append("path").attr("class", "mark small").attr("d", symbol(number, 22))
        .attr("transform", `translate(${frame.scales.x(place.intensity)},${cy})`);
    }
  }

  function namePoints(points, taken) {
    const { above, area } = frame;
    for (const point of points.filter(({ mark }) => mark.named)) {
      const [cx, cy] = pixel(point);
      const text = fit(`${several() ? `${point.card.letter} ` : ""}${point.mark.name}`, 180);
      const width = widthOf(text) + 4;
      const candidates = [[cx + 10, cy + 5], [cx - width - 8, cy + 5], [cx - width / 2, cy - 11], [cx - width / 2, cy + 21], [cx + 10, cy + 18], [cx + 10, cy - 9]];
      const found = candidates
        .map(([left, base]) => ({ left, right: left + width, top: base - 12, bottom: base + 3, base }))
        .find((box) => box.left > area.left && box.right < area.right && box.top > area.top && box.bottom < area.bottom && taken.free(box));
      if (!found || cx < area.left || cx > area.right) continue;
      taken.take(found);
      above.append("text").attr("class", "label halo").attr("x", found.left).attr("y", found.base).text(text);
    }
  }

  // -- numbers ----------------------------------------------------------------------------------------------------

  function pointTip({ card, mark, place }) {
    const spreadText = mark.rate.low && mark.rate.high ? ` (${Model.si(mark.rate.low, unitOf(mark))} … ${Model.si(mark.rate.high, unitOf(mark))})` : "";
    const level = state.level === JUDGED ? mark.level : state.level;
    return [
      ...(several() ? [`${card.letter}: ${card.label}`] : []),
      `${Model.si(mark.rate.value, unitOf(mark))}${spreadText}, ${mark.seconds} a launch`,
      `intensity ${Model.si(place.intensity, "FLOP/B")} at ${LABELS[level] || level}`,
      `${Model.percent(place.fraction)} of its roof, which ${place.bound} sets${place.roof ? ` at ${Model.si(place.roof, unitOf(mark))}` : ""}`,
      ...(mark.nearest.length > 1 ? [`share of each line: ${mark.nearest.map(([line, share]) => `${line} ${Model.percent(share, 2)}`).join(", ")}`] : []),
      ...(mark.above ? [`above its roof: ${mark.above}; fewer bytes than counted, a faster clock, or a wrong count`] : []),
      ...(mark.flags.length ? [`not steady: ${mark.flags.join(", ")}`] : []),
      ...(mark.diagnosis ? [mark.diagnosis] : []),
      `n = ${mark.size}, variant ${mark.variant}`,
    ];
  }

  const unitOf = (mark) => (/int32|int8/.test(mark.work.unit) ? "OP/s" : "FLOP/s");

  function lineTip({ card, ceiling }) {
    const nominal = ceiling.nominal === null ? "nominal unknown" : `${Model.percent(ceiling.rate / ceiling.nominal)} of nominal, ${Model.si(ceiling.nominal, ceiling.unit)}`;
    return [`${ceiling.resource}: ${Model.si(ceiling.rate, ceiling.unit)}`, ...(several() ? [`${card.letter}: ${card.label}`] : []), nominal, `reached by ${ceiling.reached}`];
  }

  function showTip([title, ...rest], [cx, cy]) {
    tip.replaceChildren(make("strong", { text: title }), ...rest.map((text) => make("span", { text })));
    tip.hidden = false;
    const scale = host.clientWidth / frame.width;
    const left = Math.min(Math.max(cx * scale + 14, 4), host.clientWidth - tip.offsetWidth - 4);
    const over = cy * scale + tip.offsetHeight + 18 > frame.height * scale;
    tip.style.left = `${left}px`;
    tip.style.top = `${over ? Math.max(cy * scale - tip.offsetHeight - 14, 4) : cy * scale + 14}px`;
  }

  function hideTip() {
    tip.hidden = true;
  }

  return { start };
})();
