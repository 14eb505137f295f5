"use strict";
// Draws the charts from the data of the page, each as wide as its place. All text is set as text:
// nothing of the data is ever read as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  const make = (parent, name, attributes = {}, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };
  const color = (number) => `var(--c${number})`;
  const known = (values) => values.filter((value) => value !== null && Number.isFinite(value));

  // Scales: from a value to a share of the axis, and the values that are marked on it.
  const bend = {
    linear: (x) => x,
    log: (x) => Math.log10(x),
    symlog: (x) => Math.sign(x) * Math.log10(1 + Math.abs(x)),
  };
  const scaled = (axis, values, from, to) => {
    const usable = known(values).filter((x) => axis.scale !== "log" || x > 0);
    let [low, high] = axis.domain ?? [Math.min(...usable), Math.max(...usable)];
    if (!usable.length && !axis.domain) [low, high] = [1, 10];
    const f = bend[axis.scale];
    if (!axis.domain) {
      let pad = 0.06 * (f(high) - f(low)) || 0.5;
      [low, high] = axis.scale === "linear" ? [low - pad, high + pad] : [f(low) - pad, f(high) + pad].map((x) => 10 ** x);
    }
    const at = (x) => from + ((f(x) - f(low)) / (f(high) - f(low))) * (to - from);
    return { at, ticks: axis.ticks ?? ticks(axis.scale, low, high, Math.abs(to - from)) };
  };
  const ticks = (scale, low, high, room) => {
    if (scale === "linear") {
      const wish = (high - low) / Math.max(3, room / 46);
      const size = 10 ** Math.floor(Math.log10(wish));
      const steps = [0.5, 1, 2, 5, 10].map((k) => k * size);
      const first = steps.findIndex((step, k) => k && step >= wish);
      const inside = (step) => {
        const found = [];
        for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(+(k * step).toPrecision(6));
        return found;
      };
      const found = inside(steps[first]);
      return found.length > 1 ? found : inside(steps[first - 1]);
    }
    const powers = [];
    const start = scale === "log" ? Math.ceil(Math.log10(low) - 1e-9) : 0;
    const every = Math.max(1, Math.ceil((Math.log10(high) - start) / (room / 45)));
    for (let k = start; k <= Math.log10(high) + 1e-9; k += every) powers.push(10 ** k);
    if (scale === "symlog") return [0, ...powers];
    if (powers.length > 1) return powers;
    const parts = [-1, 0].flatMap((k) => [1, 2, 5].map((x) => x * 10 ** (start + k)));
    const inside = parts.filter((x) => x >= low && x <= high).map((x) => +x.toPrecision(6));
    return inside.length > 2 ? inside : ticks("linear", low, high, room);
  };
  const told = (x) => {
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-3 || size >= 1e5)) return x.toExponential(0).replace("e+", "e");
    return String(+x.toPrecision(4));
  };

  // Each color has a shape of its own, for those who do not see it.
  const shapes = [
    "M0-4.5A4.5 4.5 0 1 1 0 4.5A4.5 4.5 0 1 1 0-4.5", "M-4-4H4V4H-4Z", "M0-5.2L4.8 3.6H-4.8Z", "M0-5.4L5.4 0L0 5.4L-5.4 0Z",
    "M0 5.2L4.8-3.6H-4.8Z", "M-1.6-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z", "M-5-2.5H5V2.5H-5Z", "M-2.5-5H2.5V5H-2.5Z",
  ];
  const mark = (parent, x, y, number, size = 1) =>
    make(parent, "path", { d: shapes[(number - 1) % 8], transform: `translate(${x} ${y}) scale(${size})`, fill: color(number) });

  const legend = (host, series, references = []) => {
    const list = document.createElement("ul");
    list.className = "legend";
    const add = (name, draw) => {
      const item = document.createElement("li");
      const swatch = make(item, "svg", { viewBox: "0 0 22 12", "aria-hidden": "true" });
      draw(swatch);
      item.append(name);
      list.append(item);
    };
    for (const one of series)
      add(one.name, (swatch) => {
        if (one.line) make(swatch, "path", { d: "M0 6H22", stroke: color(one.color), "stroke-width": 2.2, "stroke-dasharray": one.dash ? "5 3" : "none" });
        else mark(swatch, 11, 6, one.color);
      });
    references.forEach((one, index) => add(one.name, (swatch) => make(swatch, "path", { d: "M11 0V12", stroke: "currentColor", "stroke-width": 1.6, "stroke-dasharray": dashes[index % 2] })));
    host.append(list);
  };
  const dashes = ["4 3", "1.5 2.5"];

  const canvas = (host, height) => {
    const width = Math.max(240, host.clientWidth);
    return [make(host, "svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" }), width];
  };
  const grid = (svg, x, y, box, chart) => {
    for (const tick of y.ticks) {
      make(svg, "path", { d: `M${box.left} ${y.at(tick)}H${box.right}`, stroke: "var(--grid)" });
      make(svg, "text", { x: box.left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, told(tick));
    }
    for (const tick of x.ticks) {
      make(svg, "path", { d: `M${x.at(tick)} ${box.top}V${box.bottom}`, stroke: "var(--grid)" });
      make(svg, "text", { x: x.at(tick), y: box.bottom + 16, "text-anchor": "middle" }, told(tick));
    }
    make(svg, "path", { d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`, stroke: "var(--soft)", fill: "none" });
    make(svg, "text", { x: box.right, y: box.bottom + 33, "text-anchor": "end" }, chart.x.label);
    if (chart.y) make(svg, "text", { x: 2, y: 12 }, chart.y.label);
  };

  let clips = 0;
  const clipped = (svg, box) => {
    const id = `clip${clips++}`;
    make(make(svg, "clipPath", { id }), "rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
    return make(svg, "g", { "clip-path": `url(#${id})` });
  };
  // A path through the points that exist; a gap where one is missing.
  const path = (xs, ys, x, y) => {
    let drawn = "", pen = "M";
    xs.forEach((value, i) => {
      const [px, py] = [x.at(value), ys[i] === null ? NaN : y.at(ys[i])];
      if (!Number.isFinite(px) || !Number.isFinite(py)) { pen = "M"; return; }
      drawn += `${pen}${px.toFixed(1)} ${py.toFixed(1)}`;
      pen = "L";
    });
    return drawn;
  };

  const drawLines = (host, chart) => {
    legend(host, chart.series.map((one) => ({ ...one, line: !one.marks })));
    const height = 280;
    const [svg, width] = canvas(host, height);
    const box = { left: 52, right: width - 12, top: 22, bottom: height - 40 };
    const all = (key) => chart.series.flatMap((one) => one[key] ?? []);
    const x = scaled(chart.x, all("x"), chart.x.reversed ? box.right : box.left, chart.x.reversed ? box.left : box.right);
    const y = scaled(chart.y, [...all("y"), ...all("low"), ...all("high")], box.bottom, box.top);
    grid(svg, x, y, box, chart);
    const inside = clipped(svg, box);
    for (const one of chart.series) {
      const stroke = color(one.color);
      if (one.low && one.bars) {
        one.x.forEach((value, i) => {
          if (one.low[i] === null || one.y[i] === null) return;
          const [px, top, end] = [x.at(value), y.at(one.high[i]), y.at(one.low[i])];
          make(inside, "path", { d: `M${px} ${top}V${end}M${px - 2.5} ${top}h5M${px - 2.5} ${end}h5`, stroke, opacity: 0.75 });
        });
      } else if (one.low) {
        const there = path(one.x, one.high, x, y);
        const back = path([...one.x].reverse(), [...one.low].reverse(), x, y);
        if (there && back) make(inside, "path", { d: `${there}L${back.slice(1)}Z`, fill: stroke, opacity: 0.16 });
      }
      if (one.marks) one.x.forEach((value, i) => one.y[i] === null || mark(inside, x.at(value), y.at(one.y[i]), one.color, one.size ?? 1));
      else make(inside, "path", { d: path(one.x, one.y, x, y), fill: "none", stroke, "stroke-width": one.width ?? 1.8, "stroke-linejoin": "round", "stroke-dasharray": one.dash ? "5 3" : "none" });
    }
  };

  const drawDots = (host, chart) => {
    const several = chart.series.length > 1;
    if (several || chart.references.length) legend(host, several ? chart.series : [], chart.references);
    const lane = several ? 11 : 0;
    const step = several ? lane * chart.series.length + 12 : 26;
    const box = { top: 8, bottom: 8 + step * chart.rows.length };
    const [svg, width] = canvas(host, box.bottom + 40);
    const most = Math.floor((0.5 * width) / 6.6);
    const short = (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
    box.left = 14 + 6.6 * Math.max(...chart.rows.map((row) => short(row.name).length));
    box.right = width - 14;
    const points = chart.rows.flatMap((row) => row.points);
    const values = [...points.flatMap((p) => [p.mean, p.low, p.high]), ...chart.references.map((one) => one.value)];
    const x = scaled(chart.x, values, box.left, box.right);
    grid(svg, x, { ticks: [], at: (v) => v }, box, chart);
    chart.references.forEach((one, index) => make(svg, "path", { d: `M${x.at(one.value)} ${box.top}V${box.bottom}`, stroke: "var(--soft)", "stroke-width": 1.6, "stroke-dasharray": dashes[index % 2] }));
    const numbers = new Map(chart.series.map((one, index) => [one.name, { ...one, index }]));
    chart.rows.forEach((row, place) => {
      const middle = box.top + step * (place + 0.5);
      if (place) make(svg, "path", { d: `M${box.left} ${middle - step / 2}H${box.right}`, stroke: "var(--grid)" });
      make(svg, "text", { class: "name", x: box.left - 8, y: middle + 4, "text-anchor": "end" }, short(row.name));
      for (const point of row.points) {
        const one = numbers.get(point.series);
        const y = middle + lane * (one.index - (chart.series.length - 1) / 2);
        if (point.mean === null) continue;
        const [px, low, high] = [point.mean, point.low ?? point.mean, point.high ?? point.mean].map((v) => x.at(v));
        const from = Number.isFinite(low) ? low : box.left;
        const group = make(svg, "g");
        make(group, "title", {}, `${row.name}${several ? `, ${one.name}` : ""}: ${told(point.mean)} (${told(point.low)} … ${told(point.high)})`);
        make(group, "path", { d: `M${from} ${y}H${high}M${from} ${y - 3.5}v7M${high} ${y - 3.5}v7`, stroke: color(one.color), "stroke-width": 1.5 });
        mark(group, px, y, one.color, several ? 0.9 : 1);
        if (several) continue;
        const words = String(+point.mean.toPrecision(3));
        const fits = high + 12 + 7 * words.length < width;
        make(group, "text", { class: "name", x: fits ? high + 8 : from - 8, y: y + 4, "text-anchor": fits ? "start" : "end" }, words);
      }
    });
  };

  const drawHeat = (host, chart) => {
    const panels = document.createElement("div");
    panels.className = "panels";
    for (const panel of chart.panels) {
      const item = document.createElement("div");
      const title = document.createElement("p");
      title.textContent = panel.name;
      item.append(title);
      const size = panel.cells.length;
      const svg = make(item, "svg", { viewBox: `0 0 ${size} ${size}`, "shape-rendering": "crispEdges", "aria-hidden": "true" });
      panel.cells.forEach((row, n) => row.forEach((strength, k) => strength && make(svg, "rect", { x: k, y: n, width: 1, height: 1, fill: color(2), "fill-opacity": strength })));
      panels.append(item);
    }
    host.append(panels);
  };

  const kinds = { lines: drawLines, dots: drawDots, heat: drawHeat };
  const draw = (host, chart) => {
    host.replaceChildren();
    if (host.clientWidth) kinds[chart.kind](host, chart);
  };

  // The slider.
  const sweep = data.sweep;
  const slider = document.getElementById("alpha");
  const choice = document.getElementById("signal");
  const output = document.getElementById("alpha-value");
  const said = document.getElementById("alpha-said");
  const place = (name) => document.getElementById(`alpha-${name}`);
  // The part of a signal from one index to another, with what is recalled of it.
  const recalled = (signal, from, to, now, label, domain) => {
    const cut = (values) => values.slice(from, to);
    const [own, legs, ours] = [signal.signal, signal.recalled[0], signal.recalled[now]].map(cut);
    // The same for all α, so that nothing but the lines moves; far excursions are cut off.
    const [low, high] = [Math.min(...own, ...legs), Math.max(...own, ...legs)];
    const pad = 0.1 * (high - low);
    return {
      kind: "lines", x: { label, scale: "linear", domain, reversed: true }, y: { label: "value", scale: "linear", domain: [low - pad, high + pad] },
      series: [
        { name: "signal", color: 7, x: cut(signal.ages), y: own, width: 1.3 },
        { name: "LegS", color: 2, dash: true, x: cut(signal.ages), y: legs },
        { name: named(now), color: 1, x: cut(signal.ages), y: ours, width: 2.2 },
      ],
    };
  };
  const named = (now) => (now ? `α = ${sweep.alphas[now].toFixed(2)}` : "α = 0, which is LegS");
  const sliderCharts = () => {
    const now = +slider.value;
    const signal = sweep.signals[+choice.value];
    const legs = { name: "LegS", color: 2, dash: true };
    const ours = { name: named(now), color: 1 };
    const age = { label: "relative age (1: the beginning)", scale: "log", domain: [1e-4, 1] };
    return {
      measure: {
        kind: "lines", x: age, y: { label: "density", scale: "log", domain: [0.05, 500] },
        series: [{ ...legs, x: sweep.ages, y: sweep.density[0] }, { ...ours, x: sweep.ages, y: sweep.density[now], width: 2.4 }],
      },
      spectrum: {
        kind: "lines", x: { label: "Re λ: decay", scale: "log", domain: [0.03, 1e5] }, y: { label: "Im λ: oscillation", scale: "symlog", domain: [-0.15, 2000] },
        series: [
          { name: "normal form", color: 2, marks: true, size: 0.6, x: sweep.normal[now][0], y: sweep.normal[now][1] },
          { name: now ? "fractional operator" : "LegS", color: 1, marks: true, size: 0.7, x: sweep.fractional[now][0], y: sweep.fractional[now][1] },
        ],
      },
      whole: recalled(signal, 0, signal.whole, now, "relative age (now at the right)", [0, 1]),
      recent: recalled(signal, signal.whole, signal.ages.length, now, "relative age (now at the right)", [0, signal.ages[signal.whole]]),
    };
  };
  const move = () => {
    const now = +slider.value;
    const signal = sweep.signals[+choice.value];
    output.textContent = sweep.alphas[now].toFixed(2);
    slider.setAttribute("aria-valuetext", `α = ${sweep.alphas[now].toFixed(2)}`);
    const percent = (share) => `${(100 * share).toFixed(0)} %`;
    const beside = (band) => `${told(+signal.errors[now][band].toPrecision(2))} (LegS ${told(+signal.errors[0][band].toPrecision(2))})`;
    const last = sweep.bands.length - 1;
    said.textContent = `The most recent tenth of history has ${percent(sweep.recent[now])} of the weight (LegS ${percent(sweep.recent[0])}). ` +
      `Recall error, in deviations of the signal: ${beside(0)} at ages ${sweep.bands[0]}, ${beside(1)} at ${sweep.bands[1]}, ${beside(last)} at ${sweep.bands[last]}.`;
    for (const [name, chart] of Object.entries(sliderCharts())) draw(place(name), chart);
  };
  slider.addEventListener("input", move);
  choice.addEventListener("change", move);

  // Draw again where a place changes its width; what is folded has none until it is opened.
  const widths = new WeakMap();
  const watch = (host, redraw) => {
    new ResizeObserver(() => {
      if (widths.get(host) === host.clientWidth) return;
      widths.set(host, host.clientWidth);
      redraw();
    }).observe(host);
  };
  for (const figure of document.querySelectorAll("[data-chart]")) {
    const host = figure.querySelector(".plot");
    watch(host, () => draw(host, data.charts[+figure.dataset.chart]));
  }
  watch(place("whole"), move);
})();
