"use strict";
// The small plots: one sweep each, with the line that it is expected to meet.

const Plots = (() => {
  const { make, colour, symbol } = Frame;

  function start(data) {
    const host = document.getElementById("sweeps");
    let number = 0;
    for (const card of data.cards) {
      for (const plot of card.plots) {
        number += 1;
        host.append(figure(plot, data.cards.length > 1 ? `${card.letter}: ` : "", `plot-${number}`));
      }
    }
    if (number) host.closest("section").hidden = false;
    for (const place of host.querySelectorAll(".plot")) Frame.whenResized(place, place.draw);
  }

  function figure(plot, prefix, id) {
    const place = make("div", { class: "plot", id });
    const legend = make("ul", { class: "key" }, ...plot.series.map((series, i) => {
      const swatch = d3.create("svg").attr("viewBox", "-9 -7 18 14").attr("width", 18).attr("height", 14).attr("aria-hidden", "true");
      swatch.append("path").attr("d", symbol(i)).attr("class", `mark ${colour(i)}`);
      return make("li", {}, swatch.node(), make("span", { text: series.name }));
    }));
    const box = make("figure", {},
      make("figcaption", {}, make("strong", { text: prefix + plot.title }), make("span", { text: plot.about })), place, plot.series.length > 1 ? legend : "");
    place.draw = () => draw(place, plot, prefix);
    return box;
  }

  function draw(host, plot, prefix) {
    const points = plot.series.flatMap((series) => series.points);
    const level = plot.rules.filter((rule) => rule.axis === "y").map((rule) => rule.value);
    const x = padded(d3.extent(points.map(([value]) => value)), 1.25);
    const y = padded(d3.extent([...points.map(([, estimate]) => estimate.value), ...level]), 1.6);
    const frame = Frame.axes(host, {
      label: `${prefix}${plot.title}: ${plot.y.name} by ${plot.x.name}`,
      height: 260,
      margin: { left: 54, right: 12, top: 28, bottom: 44 },
      x: { domain: x, unit: plot.x.unit, name: plot.x.name },
      y: { domain: y, unit: plot.y.unit, name: `${plot.y.name}, ${plot.y.unit}` },
    });
    drawRules(frame, plot.rules);
    const nodes = plot.series.flatMap((series, i) => drawSeries(frame, plot, series, i));
    Frame.roving(nodes);
  }

  function padded([low, high], factor) {
    const wide = Math.max(high, low * 2);
    return [low / factor, wide * factor];
  }

  function drawRules({ inside, above, scales, area }, rules) {
    const taken = Frame.places();
    for (const rule of rules) {
      const at = rule.axis === "y" ? scales.y(rule.value) : scales.x(rule.value);
      const ends = rule.axis === "y" ? [[area.left, at], [area.right, at]] : [[at, area.top], [at, area.bottom]];
      inside.append("path").attr("class", "rule").attr("d", d3.line()(ends));
      const width = Frame.widthOf(rule.name) + 4;
      const [left, base] = rule.axis === "y" ? [area.right - width - 2, at - 4] : [Math.min(at + 3, area.right - width), area.bottom - 6];
      let box = { left, right: left + width, top: base - 12, bottom: base + 2 };
      while (!taken.free(box) && box.top > area.top) box = { ...box, top: box.top - Frame.LINE, bottom: box.bottom - Frame.LINE };
      taken.take(box);
      above.append("text").attr("class", "label halo quiet").attr("x", box.left + 2).attr("y", box.bottom - 2).text(rule.name);
    }
  }

  function drawSeries({ inside, scales }, plot, series, i) {
    const at = ([x, y]) => [scales.x(x), scales.y(y.value)];
    inside.append("path").attr("class", `line ${colour(i)} card${i % 4}`).attr("d", d3.line()(series.points.map(at)));
    return series.points.map((point) => {
      const [cx, cy] = at(point);
      const text = `${plot.series.length > 1 ? `${series.name}: ` : ""}${Model.si(point[0], plot.x.unit)} ${plot.x.unit ? "" : plot.x.name}, ${Model.si(point[1].value, plot.y.unit)}`;
      const group = inside.append("g").attr("class", `point ${colour(i)}`).attr("role", "img").attr("aria-label", text);
      const { low, high } = point[1];
      if (low && high && high / low > 1.02) {
        group.append("path").attr("class", "spread").attr("d", `M${cx},${scales.y(high)}V${scales.y(low)}`);
      }
      group.append("path").attr("class", "mark").attr("d", symbol(i, 34)).attr("transform", `translate(${cx},${cy})`);
      group.append("title").text(text);
      return group.node();
    });
  }

  return { start };
})();
