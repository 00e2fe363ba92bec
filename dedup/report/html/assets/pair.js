"use strict";

/** Return the words of a place where two texts differ, those of one side marked. */
function passage(before, own, after, mark, side) {
  const parts = [visible(before), own ? make(mark, {}, visible(own)) : make("span.nothing", { "aria-label": "nothing" }, "∅"), visible(after)];
  return make("p.passage", { dir: "auto", "data-side": side }, "… ", ...parts.flatMap((part) => (part === "" ? [] : [part, " "])), "…");
}

/** Return as much of a text as leaves room for another one in the same line. */
function clipped(text) {
  const most = window.innerWidth < 640 ? 14 : 60;
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Return the first words that differ, in one line: what went and what came. */
function firstDifference(pair) {
  const found = pair.difference;
  if (!found) return null;
  if (!found.places) return make("span.differs", {}, "the same words; only what stands between them differs");
  const [before, removed, added, after] = found.shown[0];
  return make(
    "span.differs",
    { dir: "auto" },
    before ? `… ${visible(before)} ` : "",
    removed ? make("del", {}, clipped(visible(removed))) : "",
    removed && added ? " → " : " ",
    added ? make("ins", {}, clipped(visible(added))) : "",
    after ? ` ${visible(after)} …` : "",
  );
}

/** Return one row of a list of pairs. */
function pairRow(pairs, marks, row) {
  const pair = pairs.get(row);
  const said = marks.of(row);
  const relation = pairs.isDropped(row) ? "copy of" : pairs.isDuplicate(row) ? "kept, copy of" : "kept, similar to";
  return make(
    "article.row",
    { "data-said": said, "aria-label": `${pair.verdict}, similarity ${similarityOf(pair.similarity)}` },
    make("div.figures", {}, make("strong", {}, similarityOf(pair.similarity)), make("span", {}, counted(pair.distance, "bit"))),
    make(
      "div.texts",
      {},
      make("div.line", {}, addressOf(pairs.shown(pair.dropped))),
      make("div.line.muted", {}, make("span.relation", {}, `${relation} `), addressOf(pairs.shown(pair.original))),
      make("div.line.third", {}, firstDifference(pair) ?? make("span.differs.none", {}, pair.verdict === "exact duplicate" ? "the same text" : `rule: ${pair.rule ?? "decided earlier"}`)),
    ),
    make("div.said", {}, { no: "not a duplicate", yes: "rightly dropped", none: "" }[said]),
  );
}

/** The dialog that shows a pair side by side. */
class PairDialog {
  constructor(dialog, pairs, marks) {
    this.dialog = dialog;
    this.pairs = pairs;
    this.marks = marks;
    dialog.addEventListener("keydown", (event) => this.press(event));
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => this.list.focus(this.place));
  }

  open(list, place) {
    this.list = list;
    this.place = place;
    const row = list.items[place];
    const pair = this.pairs.get(row);
    this.dialog.replaceChildren(this.head(place, list.items.length), this.sides(pair), this.facts(pair), this.differences(pair), this.foot(row));
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
    this.dialog.querySelector("h2").focus();
  }

  press(event) {
    if (event.target.closest("input, select")) return;
    const actions = {
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      n: () => this.mark(NOT_A_DUPLICATE),
      r: () => this.mark(RIGHTLY_DROPPED),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  step(by) {
    const place = this.place + by;
    if (place >= 0 && place < this.list.items.length) this.open(this.list, place);
  }

  mark(said) {
    this.dialog.querySelector(`button.mark[data-said="${said}"]:not([disabled])`)?.click();
  }

  head(place, count) {
    const button = (text, label, act, isOff) => {
      const element = make("button.quiet", { type: "button", "aria-label": label, ...(isOff ? { disabled: "" } : {}) }, text);
      element.addEventListener("click", act);
      return element;
    };
    return make(
      "header",
      {},
      make("h2", { id: "pair-title", tabindex: "-1" }, `Pair ${whole(place + 1)} of ${whole(count)}`),
      button("←", "Pair before", () => this.step(-1), place === 0),
      button("→", "Next pair", () => this.step(1), place === count - 1),
      button("✕", "Close", () => this.dialog.close(), false),
    );
  }

  sides(pair) {
    const side = (title, number, note) =>
      make("section", {}, make("h3", {}, title), make("p.key", {}, linkOf(this.pairs.key(number), this.pairs.shown(number))), note ? make("p.muted", {}, ...note) : null);
    const isOther = pair.keeper !== null;
    const keeper = isOther ? ["stored of its cluster: ", linkOf(this.pairs.key(pair.keeper), this.pairs.shown(pair.keeper))] : null;
    return make("div.sides", {}, side(isOther ? "Original" : "Stored", pair.original, keeper), side(this.pairs.isDropped(pair.row) ? "Dropped" : "Kept", pair.dropped, null));
  }

  facts(pair) {
    const rules = this.pairs.data.rules;
    const fact = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, ...value));
    return make(
      "dl.facts",
      {},
      fact("Verdict", pair.kept && pair.kept !== "similar" ? `${pair.verdict}, kept: ${pair.kept}` : pair.verdict),
      fact("Similarity", similarityOf(pair.similarity)),
      fact("Distance", `${counted(pair.distance, "bit")} of 64`),
      fact("Rule", pair.rule ? `${pair.rule}: ${rules[pair.rule] ?? "not known to this version"}` : "decided in an earlier run"),
      ...(pair.matched === null ? [] : [fact("Found by", linkOf(this.pairs.key(pair.matched), this.pairs.shown(pair.matched)))]),
      ...(pair.decided ? [fact("Decided", `${momentOf(pair.decided)}, run ${visible(pair.run)}`)] : []),
    );
  }

  differences(pair) {
    const found = pair.difference;
    if (!found) return make("p.muted", {}, this.whyNothing(pair));
    if (!found.places) return make("p.muted", {}, "Both have the same words; only what stands between them differs.");
    const rest = found.places - found.shown.length;
    const name = this.pairs.isDropped(pair.row) ? "dropped" : "kept";
    return make(
      "section.differences",
      {},
      make("h3", {}, `${counted(found.places, "place")} with other words: ${whole(found.removed)} in the original alone, ${whole(found.added)} in the ${name} page alone`),
      ...found.shown.map(([before, removed, added, after]) => make("div.sides", {}, passage(before, removed, after, "del", "original"), passage(before, added, after, "ins", name))),
      rest > 0 ? make("p.muted", {}, `and ${counted(rest, "more place")}; dedup explain shows them`) : null,
    );
  }

  whyNothing(pair) {
    if (pair.verdict === "exact duplicate") return "Both have the same text.";
    const most = whole(this.pairs.data.most_compared);
    return `Which words differ is not in this page: it has that of the ${most} most doubtful pairs, where the words of both are stored. dedup explain shows it.`;
  }

  foot(row) {
    const hint = make("p.muted.keys", {}, "Keys: ← → other pairs, n not a duplicate, r rightly dropped, Esc back to the list");
    return make("footer", {}, markButtons(this.marks, row), hint);
  }
}
