"use strict";

/** Return one row of a list of pairs. */
function pairRow(pairs, marks, row) {
  const pair = pairs.get(row);
  const said = marks.of(row);
  const relation = pairs.isDropped(row) ? "copy of" : pairs.isDuplicate(row) ? "kept, copy of" : "kept, similar to";
  return make(
    "article.row",
    { "data-said": said, "aria-label": `${pair.verdict}, similarity ${similarityOf(pair.similarity)}` },
    make("div.figures", {}, make("strong", {}, similarityOf(pair.similarity)), make("span", {}, counted(pair.distance, "bit")), pair.lost ? make("span.lost", {}, `+${counted(pair.lost, "word")}`) : null, make("span.rule", {}, pair.rule ?? "")),
    make(
      "div.texts",
      {},
      make("div.line", {}, opener(addressOf(pairs.shown(pair.dropped)))),
      make("div.line.muted", {}, make("span.relation", {}, `${relation} `), addressOf(pairs.shown(pair.original))),
      make("div.line.third", {}, firstDifference(pair.difference) ?? make("span.differs.none", {}, pair.verdict === "exact duplicate" ? "the same text" : "which words differ is not known")),
    ),
    make("div.said", {}, { no: "not a duplicate", yes: "rightly dropped", none: "" }[said]),
  );
}

/** The dialog that shows a pair side by side. */
class PairDialog extends RowDialog {
  constructor(dialog, pairs, marks) {
    super(dialog, "Pair");
    this.pairs = pairs;
    this.marks = marks;
    this.keys = { n: () => this.mark(NOT_A_DUPLICATE), r: () => this.mark(RIGHTLY_DROPPED) };
  }

  content(row) {
    const pair = this.pairs.get(row);
    return [this.sides(pair), this.facts(pair), this.differences(pair), this.foot(row)];
  }

  mark(said) {
    this.dialog.querySelector(`button.mark[data-said="${said}"]:not([disabled])`)?.click();
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
      ...(pair.lost ? [fact(this.pairs.isDropped(pair.row) ? "Lost" : "Says more", `${counted(pair.lost, "word")} that nothing else that is stored has`)] : []),
      fact("Rule", pair.rule ? `${pair.rule}: ${rules[pair.rule] ?? "not known to this version"}` : "decided in an earlier run"),
      ...(pair.matched === null ? [] : [fact("Found by", linkOf(this.pairs.key(pair.matched), this.pairs.shown(pair.matched)))]),
      ...(pair.decided ? [fact("Decided", `${momentOf(pair.decided)}, run ${visible(pair.run)}`)] : []),
    );
  }

  differences(pair) {
    const found = pair.difference;
    if (!found) return make("p.muted", {}, this.whyNothing(pair));
    return differencesOf(found, "original", this.pairs.isDropped(pair.row) ? "dropped" : "kept");
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
