"use strict";

/** Return one row of a list of pairs. */
function pairRow(pairs, marks, row) {
  const pair = pairs.get(row);
  const said = marks.of(row);
  const relation = pairs.isDropped(row) ? "copy of" : pairs.isDuplicate(row) ? "kept, copy of" : "kept, similar to";
  return make(
    "article.row",
    { "data-said": said, "aria-label": `${pair.verdict}, ${Math.round(pair.similarity * 100)}% alike` },
    make("div.figures", {}, make("strong", {}, `${Math.round(pair.similarity * 100)}%`), pair.lost ? make("span.lost", {}, `+${counted(pair.lost, "word")}`) : null, pair.isDoubtful && pair.places ? make("span", {}, counted(pair.places, "place")) : null),
    make(
      "div.texts",
      {},
      make("div.line", {}, opener(titleOf(pair.title), addressOf(pairs.shown(pair.dropped)))),
      make("div.line.muted", {}, make("span.relation", {}, `${relation} `), titleOf(pair.originalTitle === pair.title ? null : pair.originalTitle), addressOf(pairs.shown(pair.original)), make("span.rule", {}, pairs.plainRule(pair.rule))),
      make("div.line.third", {}, tellingDifference(pair.difference) ?? make("span.differs.none", {}, pair.hasChanged ? "one of the two has another text since" : pair.verdict === "exact duplicate" ? "the same text" : "which words differ is not known")),
    ),
    make("div.said", {}, marks.told(row)),
  );
}

/** The dialog that shows a pair side by side. */
class PairDialog extends RowDialog {
  constructor(dialog, pairs, marks) {
    super(dialog, "Pair");
    this.pairs = pairs;
    this.marks = marks;
    this.keys = { n: () => this.mark(NOT_A_DUPLICATE), r: () => this.mark(RIGHTLY_DROPPED), u: () => this.undo(), t: () => byId("full")?.click() };
    this.dialog.addEventListener("close", () => history.replaceState(null, "", "#"));
  }

  content(row) {
    history.replaceState(null, "", `#pair-${row}`);
    const pair = this.pairs.get(row);
    const isDropped = this.pairs.isDropped(row);
    const texts = this.pairs.isMarkable(row) ? fullTextsOf(this.pairs, pair, ["original", isDropped ? "dropped" : "kept"]) : null;
    return [this.sides(pair), this.facts(pair), this.differences(pair), ...(texts ? [texts] : []), this.foot(row)];
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
    const side = (heading, title, number) =>
      make("section", {}, make("h3", {}, heading), title ? make("p.title", {}, titleOf(title)) : null, make("p.key", {}, linkOf(this.pairs.key(number), this.pairs.shown(number))));
    return make("div.sides", {}, side("Stored", pair.originalTitle, pair.original), side(this.pairs.isDropped(pair.row) ? "Dropped" : "Kept", pair.title, pair.dropped));
  }

  facts(pair) {
    const rules = this.pairs.data.rules;
    const fact = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, ...value));
    return make(
      "section",
      {},
      make(
        "dl.facts",
        {},
        fact("Verdict", pair.kept && pair.kept !== "similar" ? `${pair.verdict}, kept: ${pair.kept}` : pair.verdict),
        fact("Alike", `${Math.round(pair.similarity * 100)}%`),
        ...(pair.lost ? [fact(this.pairs.isDropped(pair.row) ? "Lost" : "Says more", `${counted(pair.lost, "word")} that nothing else that is stored has`)] : []),
        ...(pair.places ? [fact("Different", `each says in ${counted(pair.places, "place")} or more what the other does not`)] : []),
        fact("Why", this.pairs.plainRule(pair.rule) || "decided in an earlier run"),
      ),
      make(
        "details.decided",
        {},
        make("summary", {}, "How it was decided"),
        make(
          "dl.facts",
          {},
          fact("Rule", pair.rule ? `${pair.rule}: ${rules[pair.rule]?.[1] ?? "not known to this version"}` : "decided in an earlier run"),
          fact("Similarity", similarityOf(pair.similarity)),
          fact("Distance", `${counted(pair.distance, "bit")} of 64`),
          ...(pair.matched === null ? [] : [fact("Found by", linkOf(this.pairs.key(pair.matched), this.pairs.shown(pair.matched)))]),
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
    if (pair.hasChanged) return "A later run found another text on one of the two pages, so the words that differed are not known any more.";
    if (pair.verdict === "exact duplicate") return "Both have the same text.";
    const most = whole(this.pairs.data.most_compared);
    return `Which words differ is not in this page: it has that of the ${most} most doubtful pairs, where the words of both are stored. dedup explain shows it.`;
  }

  foot(row) {
    const hint = make("p.muted.keys", {}, `Keys: ← → other pairs, n not a duplicate, r rightly dropped, u undo, ${this.pairs.data.is_served ? "t both texts, " : ""}Esc back to the list`);
    return make("footer", {}, markButtons(this.marks, () => [row], null, () => this.step(1)), hint);
  }
}
