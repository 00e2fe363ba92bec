"use strict";

/** Return the words of a place where two texts differ, those of one side marked. */
function passage(before, own, after, mark, side, kind) {
  const parts = [visible(before), own ? make(mark, {}, visible(own)) : make("span.nothing", { "aria-label": "nothing" }, "∅"), visible(after)];
  return make("p.passage", { dir: "auto", "data-side": side, "data-kind": kind }, "… ", ...parts.flatMap((part) => (part === "" ? [] : [part, " "])), "…");
}

const FEW_WORDS = 6;
const CHANGED = { negation: "meaning reversed", price: "price changed", number: "number changed", date: "date changed", name: "name or post changed", frame: "on many pages" };

/** Return as much of a text as leaves room for another one beside it. */
function clipped(text) {
  const most = window.innerWidth < 640 ? 48 : 90;
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Return what kind of difference a place is, or how large. */
function kindOfPlace([, , , , gone, come, kind]) {
  if (CHANGED[kind]) return CHANGED[kind];
  if (!gone) return `+${counted(come, "word")}`;
  if (!come) return `−${counted(gone, "word")}`;
  if (Math.max(gone, come) > FEW_WORDS) return `${counted(gone, "word")} replaced by ${come}`;
  return gone === 1 && come === 1 ? "1 word changed" : "words changed";
}

/** Return the places where two texts differ as a row shows them, the most decisive first. */
function rowDifferences(pair) {
  const found = pair.difference;
  if (!found) return make("div.differs.none", {}, pair.has_changed ? "One of the two pages has changed since." : pair.verdict === "exact duplicate" ? "same text" : "differences not known");
  if (!found.places) return make("div.differs.none", {}, "same words; only punctuation differs");
  const places = found.shown.map((place) => {
    const [before, removed, added, after, , , kind] = place;
    return make(
      "span.place",
      { dir: "auto", "data-kind": kind },
      make("strong", {}, kindOfPlace(place)),
      " ",
      before ? `… ${visible(before)} ` : "",
      removed ? make("del", {}, clipped(visible(removed))) : "",
      removed && added ? " → " : "",
      added ? make("ins", {}, clipped(visible(added))) : "",
      after ? ` ${visible(after)} …` : "",
      " ",
    );
  });
  return make("div.differs", {}, ...places);
}

/** Return all places where two texts differ, side by side. */
function differencesOf(found, nameBefore, nameAfter) {
  if (!found.places) return make("p.muted", {}, "Both have the same words; only punctuation differs.");
  const rest = found.places - found.shown.length;
  const told = `${counted(found.removed, "word")} only in the ${nameBefore} page, ${whole(found.added)} only in the ${nameAfter} page`;
  return make(
    "section.differences",
    {},
    make("h3", {}, `${counted(found.places, "difference")}: ${told}`),
    ...found.shown.map(([before, removed, added, after, , , kind]) => make("div.sides", {}, passage(before, removed, after, "del", nameBefore, kind), passage(before, added, after, "ins", nameAfter, kind))),
    rest > 0 ? make("p.muted", {}, `and ${counted(rest, "more difference")}: dedup explain shows them`) : null,
  );
}

/** Return one row of a list of pairs: what differs, then the pages. */
function pairRow(pairs, marks, row) {
  const pair = pairs.get(row);
  const said = marks.of(row);
  const relation = pairs.isDropped(row) ? "duplicate of" : pairs.isDuplicate(row) ? "kept, duplicate of" : "kept, similar to";
  const percent = pairs.alike(row);
  const more = pairs.folded.get(row);
  return make(
    "article.row",
    { "data-said": said, "aria-label": `${pair.verdict}, ${percent} alike` },
    make("div.figures", {}, make("strong", {}, percent), pair.lost ? make("span.lost", {}, `+${counted(pair.lost, "word")}`) : null, pair.difference?.places > 1 ? make("span", {}, counted(pair.difference.places, "place")) : null, more ? make("span.review", {}, `+${whole(more)} like it`) : null),
    make(
      "div.texts",
      {},
      rowDifferences(pair),
      make("div.line", {}, opener(titleOf(pair.title), addressOf(pairs.shown(pair.dropped)))),
      make("div.line.muted", {}, make("span.relation", {}, `${relation} `), titleOf(pair.original_title === pair.title ? null : pair.original_title), addressOf(pairs.shown(pair.original), pair.host), make("span.rule", {}, pairs.plainRule(pair.rule))),
    ),
    make("div.said", {}, marks.told(row)),
  );
}

/** A dialog that shows one item of a list, and steps to the others. */
class RowDialog {
  /**
   * @param {HTMLDialogElement} dialog the element
   * @param {string} name what an item is called in the heading
   */
  constructor(dialog, name) {
    this.dialog = dialog;
    this.name = name;
    this.keys = {};
    dialog.addEventListener("keydown", (event) => this.press(event));
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => this.list.focus(this.place));
  }

  open(list, place) {
    this.list = list;
    this.place = place;
    this.dialog.replaceChildren(this.head(place, list.items), ...this.content(list.items[place]));
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
    this.dialog.querySelector("h2").focus();
  }

  press(event) {
    const actions = { ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), ...this.keys };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  step(by) {
    const place = this.place + by;
    if (place >= 0 && place < this.list.items.length) this.open(this.list, place);
  }

  title(place, items) {
    return `${this.name} ${whole(place + 1)} of ${whole(items.length)}`;
  }

  head(place, items) {
    const button = (text, label, act, isOff) => {
      const element = make("button.quiet", { type: "button", "aria-label": label, ...(isOff ? { disabled: "" } : {}) }, text);
      element.addEventListener("click", act);
      return element;
    };
    return make(
      "header",
      {},
      make("h2", { id: "pair-title", tabindex: "-1" }, this.title(place, items)),
      button("←", "The one before", () => this.step(-1), place === 0),
      button("→", "The next one", () => this.step(1), place === items.length - 1),
      button("✕", "Close", () => this.dialog.close(), false),
    );
  }
}

/** The dialog that shows a pair side by side. */
class PairDialog extends RowDialog {
  constructor(dialog, pairs, marks) {
    super(dialog, "Pair");
    this.pairs = pairs;
    this.marks = marks;
    this.keys = { n: () => this.mark(NOT_A_DUPLICATE), r: () => this.mark(IS_COPY), u: () => this.undo(), t: () => byId("full")?.click() };
    this.dialog.addEventListener("close", () => history.replaceState(null, "", "#"));
  }

  content(row) {
    history.replaceState(null, "", `#pair-${row}`);
    const pair = this.pairs.get(row);
    const isDropped = this.pairs.isDropped(row);
    const texts = this.pairs.isMarkable(row) ? fullTextsOf(this.pairs, pair, ["original", isDropped ? "dropped" : "kept"]) : null;
    return [this.sides(pair), this.differences(pair), ...(texts ? [texts] : []), this.facts(pair), this.foot(row)];
  }

  mark(said) {
    this.dialog.querySelector(`button.mark[data-said="${said}"]:not([disabled])`)?.click();
  }

  async undo() {
    await this.marks.undo();
    if (this.dialog.open) this.open(this.list, this.place);
  }

  title(place, items) {
    const judged = items.filter((row) => this.marks.of(row) !== "none").length;
    return super.title(place, items) + (judged ? `, ${whole(judged)} judged` : "");
  }

  sides(pair) {
    const side = (heading, title, key) =>
      make("section", {}, make("h3", {}, heading), title ? make("p.title", {}, titleOf(title)) : null, make("p.key", {}, linkOf(key, this.pairs.shown(key))));
    return make("div.sides", {}, side("Stored", pair.original_title, pair.original), side(this.pairs.isDropped(pair.row) ? "Dropped" : "Kept", pair.title, pair.dropped));
  }

  facts(pair) {
    const fact = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, ...value));
    return make(
      "section",
      {},
      make(
        "dl.facts",
        {},
        fact("Verdict", pair.is_kept && this.pairs.isDuplicate(pair.row) ? `${pair.verdict}, kept: this run drops nothing` : pair.verdict),
        fact("Alike", this.pairs.alike(pair.row)),
        ...(pair.lost ? [fact(this.pairs.isDropped(pair.row) ? "Lost" : "New text", `${counted(pair.lost, "word")} found nowhere else`)] : []),
        ...(pair.places && !pair.difference ? [fact("Different", `they differ in ${whole(pair.places)} or more places`)] : []),
        fact("Why", this.pairs.plainRule(pair.rule) || "decided in an earlier run"),
      ),
      make(
        "details.decided",
        {},
        make("summary", {}, "How it was decided"),
        make(
          "dl.facts",
          {},
          fact("Fingerprints", pair.distance ? `${whole(pair.distance)} of 64 bits differ` : "the same"),
          ...(pair.matched === pair.original ? [] : [fact("Found by", linkOf(pair.matched, this.pairs.shown(pair.matched)))]),
          ...(pair.decided ? [fact("Decided", `${momentOf(pair.decided)}, run ${visible(pair.run)}`)] : []),
        ),
      ),
    );
  }

  differences(pair) {
    const found = pair.difference;
    if (!found) return make("p.muted", {}, this.whyNothing(pair));
    return differencesOf(found, "original", this.pairs.isDropped(pair.row) ? "dropped" : "kept");
  }

  whyNothing(pair) {
    if (pair.has_changed) return "A later run found another text on one of the two pages, so the words that differed are no longer known.";
    if (pair.verdict === "exact duplicate") return "Both have the same text.";
    const most = whole(this.pairs.data.most_compared);
    return `The words that differ are not in this page: it compares the ${most} pairs that come first, if the words of both are stored. dedup explain may show them.`;
  }

  foot(row) {
    const hint = make("p.muted.keys", {}, `Keys: ← → other pairs, n not a duplicate, r ${this.marks.label(IS_COPY, row).slice(2)}, u undo, ${this.pairs.data.is_served ? "t both texts, " : ""}Esc back to the list`);
    return make("footer", {}, markButtons(this.marks, () => [row], null, () => this.step(1)), hint);
  }
}
