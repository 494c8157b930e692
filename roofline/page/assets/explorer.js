"use strict";
// The explorer: a kernel, a roof and a slope of a card; where the kernel lies, what binds it, and which resource waits.

const Explorer = (() => {
  const { make } = Frame;
  const OWN = "own";
  const LEAST = 0.01;
  const MOST = 10000;
  let data, parts, roofs;
  const state = { card: 0, kernel: "preset/0", step: 0, roof: "", slope: "", intensity: 10 };

  function start(known) {
    data = known;
    parts = Object.fromEntries(["controls", "verdict", "plot", "figures", "waits", "waits-about"].map((name) => [name, document.getElementById(`explorer-${name}`)]));
    roofs = (card) => card.ceilings.filter((ceiling) => data.arithmetic.includes(ceiling.unit));
    buildControls();
    chooseKernel(state.kernel);
    Frame.whenResized(parts.plot, draw);
  }

  const slopes = (card) => card.ceilings.filter((ceiling) => ceiling.unit === "B/s");
  const card = () => data.cards[state.card];
  const kernelOf = (id) => {
    const [kind, number] = id.split("/");
    if (kind === "preset") return data.presets[number];
    if (kind === "mark") return card().marks[number];
    return null;
  };

  // -- controls ---------------------------------------------------------------------------------------------------

  function buildControls() {
    const cards = select("explorer-card", data.cards.map((c, i) => [String(i), `${c.letter}: ${c.label}`]), (value) => {
      state.card = Number(value);
      if (state.kernel.startsWith("mark/")) state.kernel = "preset/0";
      fillKernels();
      chooseKernel(state.kernel);
      draw();
    });
    const kernel = select("explorer-kernel", [], (value) => {
      chooseKernel(value);
      draw();
    });
    const roof = select("explorer-roof", [], (value) => {
      state.roof = value;
      draw();
    });
    const slope = select("explorer-slope", [], (value) => {
      state.slope = value;
      draw();
    });
    parts.controls.append(
      ...(data.cards.length > 1 ? [field("card", "explorer-card", cards)] : []),
      field("kernel", "explorer-kernel", kernel),
      field("roof", "explorer-roof", roof),
      field("slope", "explorer-slope", slope),
      make("div", { id: "explorer-slider", class: "field slider" }),
    );
    fillKernels();
  }

  function field(text, id, control) {
    return make("div", { class: "field" }, make("label", { for: id, text }), control);
  }

  function select(id, options, act) {
    const element = make("select", { id });
    fill(element, options);
    element.addEventListener("change", () => act(element.value));
    return element;
  }

  function fill(element, options) {
    element.replaceChildren(...options.map(([value, text]) => make("option", { value, text })));
  }

  function fillKernels() {
    const element = document.getElementById("explorer-kernel");
    const presets = make("optgroup", { label: "usual kernels" }, ...data.presets.map((p, i) => make("option", { value: `preset/${i}`, text: p.name })));
    const own = make("optgroup", { label: "your own" }, make("option", { value: OWN, text: "any intensity" }));
    const measured = card().marks.map((mark, i) => make("option", { value: `mark/${i}`, text: mark.name }));
    element.replaceChildren(presets, own, ...(measured.length ? [make("optgroup", { label: "measured on this card" }, ...measured)] : []));
    element.value = state.kernel;
  }

  // A kernel brings its unit and its slope along; where the card has no such ceiling another one is shown, and said so.
  function chooseKernel(id) {
    state.kernel = id;
    const kernel = kernelOf(id);
    state.step = kernel?.first ?? 0;
    const work = workOf(kernel);
    state.roof = pick(roofs(card()), [work?.unit, "fp32"]);
    const level = kernel?.level ?? "dram";
    state.slope = pick(slopes(card()), [work?.slopes[level], level, "dram"]);
    const named = (ceiling) => [ceiling.resource, `${ceiling.resource}, ${Model.si(ceiling.rate, ceiling.unit)}`];
    for (const [name, found] of [["roof", roofs(card())], ["slope", slopes(card())]]) {
      const element = document.getElementById(`explorer-${name}`);
      fill(element, found.map(named));
      element.value = state[name];
    }
    buildSlider(kernel);
  }

  function pick(ceilings, wanted) {
    const names = ceilings.map((ceiling) => ceiling.resource);
    return wanted.find((name) => names.includes(name)) ?? names[0] ?? "";
  }

  function buildSlider(kernel) {
    const box = document.getElementById("explorer-slider");
    const sweep = kernel?.steps?.length > 1;
    const custom = state.kernel === OWN;
    box.hidden = !sweep && !custom;
    box.replaceChildren();
    if (box.hidden) return;
    const [most, value] = custom ? [600, positionOf(state.intensity)] : [kernel.steps.length - 1, state.step];
    const input = make("input", { id: "explorer-setting", type: "range", min: 0, max: most, step: 1, value });
    const output = make("output", { for: "explorer-setting", id: "explorer-setting-text" });
    const tell = () => {
      output.textContent = custom ? Model.si(state.intensity, "FLOP/B") : kernel.steps[state.step].label;
      input.setAttribute("aria-valuetext", `${custom ? "intensity" : kernel.setting} ${output.textContent}`);
    };
    input.addEventListener("input", () => {
      if (custom) state.intensity = intensityAt(Number(input.value));
      else state.step = Number(input.value);
      tell();
      draw();
    });
    box.append(make("label", { for: "explorer-setting", text: custom ? "intensity" : kernel.setting }), input, output);
    tell();
  }

  const intensityAt = (position) => LEAST * (MOST / LEAST) ** (position / 600);
  const positionOf = (intensity) => Math.round((600 * Math.log(intensity / LEAST)) / Math.log(MOST / LEAST));

  // -- the model --------------------------------------------------------------------------------------------------

  function workOf(kernel) {
    return kernel?.steps ? kernel.steps[state.step].work : kernel?.work ?? null;
  }

  // Everything that is shown of one choice. Nothing here is measured but the ceilings.
  function explore({ work, intensity, roof, slope, level, launch }) {
    const nominal = (ceiling) => ceiling.nominal;
    const found = {
      intensity,
      attainable: Model.attainable(intensity, roof, slope),
      nominal: Model.attainable(intensity, roof, slope, nominal),
      ridge: Model.ridge(roof, slope),
      nominalRidge: Model.ridge(roof, slope, nominal),
    };
    if (work) {
      found.waits = Model.busy(work, roof, slopesFor(work, slope, level));
      found.seconds = Math.max(...found.waits.map((time) => time.seconds));
      found.launch = launch ? launch.rate : null;
    } else {
      found.waits = Model.busy({ flops: intensity, moved: { [level]: 1 } }, roof, { [level]: slope });
    }
    return found;
  }

  // Of each level that the work is counted at the slope that bounds it; at the chosen level the chosen one.
  function slopesFor(work, slope, level) {
    const known = new Map(slopes(card()).map((ceiling) => [ceiling.resource, ceiling]));
    const found = {};
    for (const name of Object.keys(work.moved)) found[name] = known.get(work.slopes[name] ?? name) ?? known.get(name);
    found[level] = slope;
    return found;
  }

  // What is chosen, as `explore` takes it; null where the card has no roof or no slope.
  function chosen() {
    const [roof, slope] = [find(state.roof), find(state.slope)];
    if (!roof || !slope) return null;
    const kernel = kernelOf(state.kernel);
    const work = workOf(kernel);
    const level = slope.resource.split("_")[0];
    if (work && !(work.moved[level] > 0)) return { lacking: level };
    const intensity = work ? work.flops / work.moved[level] : state.intensity;
    return { work, intensity, roof, slope, level, launch: find("launch") };
  }

  const find = (resource) => card().ceilings.find((ceiling) => ceiling.resource === resource);

  // -- what is said -----------------------------------------------------------------------------------------------

  function draw() {
    const choice = chosen();
    const missing = !choice ? "This card has no roof or no slope, so nothing can be said of a kernel." : choice.lacking ? `The bytes of this kernel are not counted at ${choice.lacking}: choose another slope.` : "";
    parts.verdict.textContent = missing;
    parts.figures.replaceChildren();
    parts.waits.replaceChildren();
    parts["waits-about"].textContent = "";
    parts.plot.replaceChildren();
    if (missing) return;
    const found = explore(choice);
    const kernel = kernelOf(state.kernel);
    parts.verdict.textContent = verdict(kernel, choice, found);
    showFigures(kernel, choice, found);
    showWaits(choice, found);
    drawPlot(kernel, choice, found);
  }

  function verdict(kernel, choice, found) {
    const { roof, slope } = choice;
    const name = kernel ? kernelName(kernel) : `A kernel of intensity ${Model.si(found.intensity, "FLOP/B")}`;
    const best = Model.si(found.attainable.value, roof.unit);
    const far = Model.si(Math.max(found.ridge / found.intensity, found.intensity / found.ridge), "");
    const said = [];
    if (found.launch && found.seconds < found.launch) {
      said.push(`${name}: too small to matter how it is written. The work takes ${Model.si(found.seconds, "s")}, launching it ${Model.si(found.launch, "s")}: the launch overhead binds. Do more in each launch.`);
    } else if (found.attainable.bound === slope.resource) {
      said.push(`${name} is memory-bound: ${slope.resource} binds it at ${best}, ${Model.percent(found.attainable.value / roof.rate)} of what ${roof.resource} can do. It lies ${far} × left of the ridge: the arithmetic units wait for bytes, so only fewer bytes for the same work (reuse, fusion, smaller types) make it faster.`);
    } else {
      said.push(`${name} is compute-bound: ${roof.resource} binds it at ${best}. It lies ${far} × right of the ridge: memory waits for the units, so only a faster unit or type, or fewer FLOP, make it faster.`);
    }
    const work = choice.work;
    if (work && work.unit !== roof.resource) said.push(`It is meant for ${work.unit}; you look at it under ${roof.resource}.`);
    if (kernel?.places) said.push(`Measured: ${Model.si(kernel.rate.value, roof.unit)}, ${Model.percent(kernel.rate.value / found.attainable.value)} of that.`);
    return said.join(" ");
  }

  function kernelName(kernel) {
    const setting = kernel.setting ? ` (${kernel.setting} ${kernel.steps[state.step].label})` : "";
    return kernel.name[0].toUpperCase() + kernel.name.slice(1) + setting;
  }

  function showFigures(kernel, choice, found) {
    const { roof, slope, work, level } = choice;
    const best = (value) => (value ? `${Model.si(value.value, roof.unit)}, set by ${value.bound}` : "unknown");
    const rows = [
      ["intensity", Model.si(found.intensity, "FLOP/B"), "intensity"],
      ["attainable, as measured", best(found.attainable), "attainable"],
      ["attainable, nominal", best(found.nominal), "nominal"],
      ["ridge, as measured", Model.si(found.ridge, "FLOP/B"), "ridge"],
      ["ridge, nominal", found.nominalRidge === null ? "unknown" : Model.si(found.nominalRidge, "FLOP/B"), "nominal-ridge"],
    ];
    if (work) {
      rows.push(["one launch", `${Model.si(work.flops, "FLOP")}, ${Model.si(work.moved[level], "B")} at ${level}`, "work"]);
      rows.push(["time by the model", Model.si(found.seconds, "s"), "seconds"]);
      rows.push(["counted", work.convention, "convention"]);
    }
    if (kernel?.about) rows.push(["what it does", kernel.about, "about"]);
    parts.figures.replaceChildren(...rows.flatMap(([name, text, id]) => [make("dt", { text: name }), make("dd", { text, id: `explorer-${id}` })]));
  }

  function showWaits(choice, found) {
    const [longest, ...rest] = found.waits;
    parts["waits-about"].textContent = rest.length
      ? `While ${longest.resource} works all the time, the others wait. How much of the time each is busy, at best:`
      : `Only ${longest.resource} has anything to do.`;
    parts.waits.replaceChildren(...found.waits.map((time) => {
      const bar = make("span", { class: `bar ${time.kind === "arithmetic" ? "press" : "feed"}` });
      bar.style.width = `${100 * time.share}%`;
      return make("li", {},
        make("span", { class: "what", text: time.resource }),
        make("span", { class: "track", "aria-hidden": "true" }, bar),
        make("span", { class: "share", text: `${Model.percent(time.share)} busy` }));
    }));
  }

  // -- the picture ------------------------------------------------------------------------------------------------

  function drawPlot(kernel, { roof, slope }, found) {
    const nominal = found.nominalRidge === null ? null : { roof: roof.nominal, slope: slope.nominal };
    const around = [found.intensity / 6, found.intensity * 6, found.ridge / 40, found.ridge * 40, LEAST * 3, 3000];
    const x = d3.extent(around);
    const tops = [roof.rate, nominal?.roof ?? roof.rate];
    const y = [Math.min(found.attainable.value / 8, slope.rate * x[0] * 2), d3.max(tops) * 2.5];
    const frame = Frame.axes(parts.plot, {
      label: "The chosen kernel under the chosen roof",
      height: 320,
      margin: { left: 54, right: 12, top: 28, bottom: 44 },
      x: { domain: x, unit: "FLOP/B", name: "intensity: FLOP for each byte" },
      y: { domain: y, unit: roof.unit, name: roof.unit },
    });
    const line = d3.line().x((point) => frame.scales.x(point[0])).y((point) => frame.scales.y(point[1]));
    const roofline = (p, b) => line([[x[0], x[0] * b], [p / b, p], [x[1], p]]);
    if (nominal) frame.inside.append("path").attr("class", "line nominal").attr("d", roofline(nominal.roof, nominal.slope));
    frame.inside.append("path").attr("class", "line c1 primary").attr("d", roofline(roof.rate, slope.rate));
    const at = frame.scales.x(found.ridge);
    frame.inside.append("line").attr("class", "ridge").attr("x1", at).attr("x2", at).attr("y1", frame.scales.y(roof.rate)).attr("y2", frame.area.bottom);
    const [cx, cy] = [frame.scales.x(found.intensity), frame.scales.y(found.attainable.value)];
    frame.inside.append("line").attr("class", "drop").attr("x1", cx).attr("x2", cx).attr("y1", cy).attr("y2", frame.area.bottom);
    const point = frame.inside.append("g").attr("class", "point c0").attr("role", "img").attr("id", "explorer-point")
      .attr("aria-label", `${kernel ? kernel.name : "kernel"} at ${Model.si(found.intensity, "FLOP/B")}, at most ${Model.si(found.attainable.value, roof.unit)}`);
    point.append("path").attr("class", "mark").attr("d", Frame.symbol(3, 130)).attr("transform", `translate(${cx},${cy})`);
    if (kernel?.rate) {
      frame.inside.append("path").attr("class", "mark c3").attr("d", Frame.symbol(0, 60))
        .attr("transform", `translate(${cx},${frame.scales.y(kernel.rate.value)})`);
    }
    nameThings(frame, { roof, slope, found, nominal, point: [cx, cy], measured: Boolean(kernel?.rate) });
  }

  function nameThings(frame, { roof, slope, found, nominal, point: [cx, cy], measured }) {
    const taken = Frame.places();
    const { area, scales } = frame;
    taken.take({ left: cx - 9, right: cx + 9, top: cy - 9, bottom: cy + 9 });
    taken.take({ left: scales.x(found.ridge) - 1, right: scales.x(found.ridge) + 1, top: scales.y(roof.rate), bottom: area.bottom });
    const put = (text, candidates, quiet = false) => {
      const width = Frame.widthOf(text) + 4;
      for (const [x, y, anchor] of candidates) {
        const left = anchor === "end" ? x - width : anchor === "middle" ? x - width / 2 : x;
        const box = { left, right: left + width, top: y - 12, bottom: y + 3 };
        if (left < area.left || box.right > area.right || box.top < area.top || box.bottom > area.bottom || !taken.free(box)) continue;
        taken.take(box);
        frame.above.append("text").attr("class", `label halo ${quiet ? "quiet" : ""}`).attr("x", left + 2).attr("y", y).text(text);
        return;
      }
    };
    const roofY = scales.y(roof.rate);
    put(`${roof.resource} ${Model.si(roof.rate, roof.unit)}`, [[area.right - 4, roofY + 17, "end"], [area.right - 4, roofY - 8, "end"]]);
    const best = `at most ${Model.si(found.attainable.value, roof.unit)}`;
    put(best, [[cx + 13, cy + 20, "start"], [cx - 13, cy - 10, "end"], [cx + 13, cy + 40, "start"], [cx - 13, cy + 30, "end"], [cx - 13, cy - 26, "end"], [cx, cy + 28, "middle"], [scales.x(found.ridge) + 5, cy + 4, "start"], [scales.x(found.ridge) - 5, cy - 40, "end"]]);
    const along = Math.sqrt(scales.x.domain()[0] * found.ridge);
    put(`${slope.resource} ${Model.si(slope.rate, slope.unit)}`, [0.55, 0.3, 0.75, 0.15].flatMap((t) => {
      const i = scales.x.domain()[0] ** (1 - t) * found.ridge ** t;
      return [[scales.x(i) - 8, scales.y(i * slope.rate) - 8, "end"], [scales.x(i) + 12, scales.y(i * slope.rate) + 18, "start"]];
    }).concat([[scales.x(along), scales.y(along * slope.rate), "end"]]));
    put(`ridge ${Model.si(found.ridge, "FLOP/B")}`, [[scales.x(found.ridge) + 4, area.bottom - 6, "start"], [scales.x(found.ridge) - 4, area.bottom - 6, "end"], [scales.x(found.ridge) + 4, area.bottom - 22, "start"]], true);
    if (nominal) put("dotted: nominal", [[area.left + 6, area.top + 16, "start"], [area.right - 4, area.bottom - 6, "end"]], true);
    if (measured) put("round: as measured", [[area.left + 6, area.top + 32, "start"], [area.right - 4, area.bottom - 22, "end"]], true);
  }

  // For the tests: the figures of any preset, step and roof of a card, as text.
  function figuresOf(cardNumber, preset, step, roofName, slopeName) {
    const before = { ...state };
    Object.assign(state, { card: cardNumber, kernel: `preset/${preset}`, step, roof: roofName, slope: slopeName });
    const choice = chosen();
    const found = explore(choice);
    Object.assign(state, before);
    return {
      intensity: Model.si(found.intensity, "FLOP/B"),
      attainable: Model.si(found.attainable.value, choice.roof.unit),
      bound: found.attainable.bound,
      nominal: found.nominal && Model.si(found.nominal.value, choice.roof.unit),
      ridge: Model.si(found.ridge, "FLOP/B"),
      seconds: Model.si(found.seconds, "s"),
      waits: found.waits.map((time) => [time.resource, Model.percent(time.share)]),
    };
  }

  return { start, figuresOf };
})();
