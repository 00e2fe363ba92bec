"use strict";

const ROWS_AT_ONCE = 40;
const KINDS = {
  text: "stored text",
  words: "only the words are stored: without case, punctuation and lines",
  later: "the text of this run is not stored, a later run found another one",
  nothing: "neither its text nor its words are stored",
};
// Letters of some scripts join by what cannot be seen, and so do pictures of several signs.
const HARMFUL = /(?![\n\t\u00ad\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]/gu;

/** Both texts of a pair in full, row by row beside each other, so that they scroll together. */
class FullTexts {
  /**
   * @param {string[]} names what the two pages are called
   * @param {Object} found what `dedup.report.html.full_texts.texts_of` returns
   */
  constructor(names, found) {
    this.names = names;
    this.rows = found.rows;
    this.shown = 0;
    this.end = make("div", { "aria-hidden": "true" });
    this.box = make("div", {});
    const title = (name, [kind, left]) => make("h3", {}, `${name}: ${KINDS[kind]}${left ? `; its last ${whole(left)} characters are left out` : ""}`);
    this.element = make(
      "section.full",
      { "aria-label": "Both texts in full" },
      make("div.sides.titles", {}, ...found.sides.map((side, at) => title(names[at], side))),
      found.is_compared || found.sides.some(([kind]) => kind === "nothing" || kind === "later") ? null : make("p.muted", {}, "What differs is not marked: the texts are too long for that."),
      this.box,
      this.end,
    );
    // Texts of any length: rows are made when they are about to be seen.
    this.seen = new IntersectionObserver((entries) => entries.some((each) => each.isIntersecting) && this.more(), { rootMargin: "1000px" });
    this.more();
    this.seen.observe(this.end);
  }

  more() {
    const rows = this.rows.slice(this.shown, this.shown + ROWS_AT_ONCE);
    this.shown += rows.length;
    const side = (parts, at) => make("p.passage", { dir: "auto", "data-side": this.names[at] }, ...parts.map((part, place) => this.part(part, place % 2 ? ["del", "ins"][at] : null)));
    this.box.append(...rows.map((row) => make("div.sides", {}, ...row.map(side))));
    this.seen.unobserve(this.end);
    if (this.shown < this.rows.length) this.seen.observe(this.end);
  }

  part(text, mark) {
    const shown = text.replace(HARMFUL, "\ufffd");
    return mark ? make(mark, {}, shown) : shown;
  }
}

/** Return what shows both texts of a pair in full once its button is pressed; in a file, how to see them. */
function fullTextsOf(pairs, pair, names) {
  if (!pairs.data.is_served) {
    return pairs.data.review ? make("p.muted.whole", {}, "Both texts in full: ", make("code", {}, reviewOf(pairs.data.review, pair.run))) : null;
  }
  const button = make("button.quiet", { type: "button", id: "full" }, "Both texts in full");
  const box = make("div", {}, button);
  button.addEventListener("click", async () => {
    button.disabled = true;
    button.textContent = "Reading both texts …";
    try {
      const keys = new URLSearchParams({ a: pair.original, b: pair.dropped, run: pair.run });
      const found = await answerOf(await fetch(`texts?${keys}`));
      // By then another pair may stand there.
      if (!button.isConnected) return;
      const { element } = new FullTexts(names, found);
      box.replaceChildren(element);
      element.scrollIntoView();
    } catch (error) {
      button.disabled = false;
      button.textContent = "Both texts in full";
      box.append(make("p.review", { role: "alert" }, `The texts cannot be shown (${error.message}): is dedup review still running?`));
    }
  });
  return box;
}

/** Return the command that shows a run, with its name where a shell takes that as it is. */
function reviewOf(command, run) {
  return /^[\w.:-]+$/.test(run) ? `${command} --run ${run}` : command;
}

/** Return what `dedup review` has answered; what it refuses is an error. */
async function answerOf(response) {
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  let told = `${response.status} ${response.statusText}`;
  if (response.headers.get("Content-Type") === "application/json") told = JSON.parse(text).error;
  throw new Error(visible(told));
}
