"use strict";

// The page's policy forbids attributes of style, which Chartist gives its drawing; by this way they are allowed.
const plainAttributes = Chartist.Svg.prototype.attr;
Chartist.Svg.prototype.attr = function attr(attributes, namespace) {
  if (typeof attributes !== "object" || !("style" in attributes)) return plainAttributes.call(this, attributes, namespace);
  const { style, ...others } = attributes;
  this._node.style.cssText = style;
  return plainAttributes.call(this, others, namespace);
};

const SHOWN_VERDICTS = ["new", "unchanged", "updated", "similar", "near duplicate", "exact duplicate"];
const BIN = 0.05;
const MOST_LABELS = 9;

/** Return labels of which so many are left out that the others have room. */
function thinned(labels) {
  const step = Math.ceil(labels.length / MOST_LABELS);
  return labels.map((label, at) => (at % step ? "" : label));
}

/** Return a chart of bars with its title, and what it says in words for those who do not see it. */
function barChart(title, about, labels, series, names = []) {
  const box = make("div.plot", { role: "img", "aria-label": `${title}. ${inWords(labels, series, names)}` });
  const legend = names.length > 1 ? make("ul.legend", {}, ...names.map((name, at) => make(`li.${classOf(name)}`, {}, make("span", {}, name)))) : null;
  const draw = () => new Chartist.BarChart(
    box,
    { labels: thinned(labels), series: series.map((data, at) => ({ data, className: classOf(names[at] ?? "near") })) },
    {
      stackBars: true,
      height: "200px",
      chartPadding: { top: 16, right: 0, bottom: 0, left: 8 },
      axisX: { showGrid: false, offset: 22 },
      axisY: { onlyInteger: true, offset: 44, scaleMinSpace: 32, labelInterpolationFnc: (value) => whole(value) },
    },
  ).on("draw", (drawn) => {
    // As wide as there is room for.
    if (drawn.type === "bar") drawn.element._node.style.strokeWidth = `${Math.min(48, 0.7 * drawn.axisX.stepLength)}px`;
  });
  return { element: make("figure.chart", {}, make("figcaption", {}, make("strong", {}, title), make("span.muted", {}, about)), legend, box), draw };
}

const classOf = (verdict) => `of-${verdict.split(" ")[0]}`;

function inWords(labels, series, names) {
  const told = labels.map((label, at) => {
    const values = series.map((data, which) => (data[at] ? `${whole(data[at])}${names[which] ? ` ${names[which]}` : ""}` : "")).filter(Boolean);
    return values.length ? `${label}: ${values.join(", ")}` : "";
  });
  return told.filter(Boolean).join("; ");
}

/** Return how often near-duplicates have a distance, or a similarity in a part of its range. */
function histograms(pairs) {
  const c = pairs.columns;
  const near = [];
  for (let row = 0; row < pairs.size; row++) {
    if (pairs.value("verdict", row) === "near duplicate") near.push(row);
  }
  const farthest = near.reduce((most, row) => Math.max(most, c.distance[row]), 0);
  const distances = new Array(farthest + 1).fill(0);
  const least = near.reduce((least, row) => Math.min(least, c.similarity[row]), 1);
  const bins = Math.ceil(1 / BIN);
  const first = Math.min(bins - 1, Math.floor(least / BIN + 1e-9));
  const similarities = new Array(bins - first).fill(0);
  for (const row of near) {
    distances[c.distance[row]] += 1;
    similarities[Math.min(bins - 1, Math.floor(c.similarity[row] / BIN + 1e-9)) - first] += 1;
  }
  return {
    distances: [distances.map((_, bits) => String(bits)), distances],
    similarities: [similarities.map((_, at) => percentOf((first + at) * BIN, (first + at) * BIN >= 1)), similarities],
  };
}

/** Return the labels of the parts of a run's time, counted from its start. */
function timesOf(timeline, count) {
  const total = count * timeline.seconds;
  return Array.from({ length: count }, (_, at) => {
    const seconds = at * timeline.seconds;
    if (total <= 180) return `${seconds < 10 ? seconds.toFixed(1).replace(/\.0$/, "") : Math.round(seconds)} s`;
    if (total <= 3 * 3600) return `${Math.round(seconds / 60)} min`;
    if (total <= 5 * 86400) return `${Math.round(seconds / 3600)} h`;
    return new Date((timeline.start + seconds) * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  });
}

/** Return the charts of a report. */
function chartsOf(data, pairs) {
  const charts = [];
  const verdicts = SHOWN_VERDICTS.filter((verdict) => data.timeline.bars[verdict]);
  if (verdicts.length) {
    const bars = verdicts.map((verdict) => data.timeline.bars[verdict]);
    charts.push(barChart("Verdicts over the time of the run", "documents decided, from its start", timesOf(data.timeline, bars[0].length), bars, verdicts));
  }
  const { distances, similarities } = histograms(pairs);
  if (data.counts.near + data.counts.marked > 0) {
    charts.push(barChart("Similarity", "near-duplicates, by their similarity to the original", similarities[0], [similarities[1]]));
    charts.push(barChart("Distance", "near-duplicates, by the bits in which fingerprints differ", distances[0], [distances[1]]));
  }
  return charts;
}
