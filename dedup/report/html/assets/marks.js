"use strict";

const PLACE = "dedup marks of ";
const NOT_A_DUPLICATE = "no";
const IS_COPY = "yes";
const OUTCOMES = {
  released: "released: the next crawl keeps it",
  kept: "kept already",
  moved: "now a duplicate of another page",
  unknown: "no longer in the database",
  left: "decided again since: cannot be undone",
};
const SAID = { [NOT_A_DUPLICATE]: "✗ not a duplicate", [IS_COPY]: "✓ is a copy" };
// Of what is sent at once; a key has 4,000 at most.
const MOST_CHARACTERS_SENT = 200_000;

/** What a person has said of pairs, kept in the browser where it allows that, and saved as a file. */
class Marks {
  constructor(pairs) {
    this.pairs = pairs;
    this.place = PLACE + pairs.data.identity;
    this.isKept = true;
    this.said = new Map();
    this.last = [];
    this.isBusy = false;
    this.changed = () => {};
    try {
      this.said = new Map(JSON.parse(localStorage.getItem(this.place) ?? "[]"));
    } catch (error) {
      // Pages from files may have no storage of their own.
      this.isKept = false;
    }
  }

  name(row) {
    return JSON.stringify([this.pairs.value("original", row), this.pairs.value("dropped", row)]);
  }

  /** Return what was said of a pair: "no", "yes", or "none". */
  of(row) {
    // Names of very many pairs take a while.
    return this.said.size ? (this.said.get(this.name(row))?.said ?? "none") : "none";
  }

  /** Return what was said of all of some pairs alike; "none" where that is not one and the same. */
  ofAll(rows) {
    const first = rows.length ? this.of(rows[0]) : "none";
    return first === "none" || rows.every((row) => this.of(row) === first) ? first : "none";
  }

  /** Say something of pairs; the same once more takes it back. Where the page is served, "no" acts at once. */
  async say(rows, said) {
    if (this.isBusy) return;
    const all = rows.filter((row) => this.pairs.isMarkable(row));
    const isTakenBack = this.ofAll(all) === said;
    const kindOf = (pair) => pair.rule ?? pair.verdict;
    const changes = all
      .filter((row) => isTakenBack || this.of(row) !== said)
      .map((row) => [this.name(row), isTakenBack ? undefined : { said, kind: kindOf(this.pairs.get(row)) }]);
    // A pair of several runs has one mark.
    const before = await this.change([...new Map(changes)]);
    if (before.length) this.last.push(before);
    this.changed();
  }

  /** Take back what was said last in this page, of however many pairs. */
  async undo() {
    if (this.isBusy || !this.last.length) return;
    const last = this.last.pop();
    const done = new Set((await this.change(last)).map(([name]) => name));
    const rest = last.filter(([name]) => !done.has(name));
    if (rest.length) this.last.push(rest);
    this.changed();
  }

  /** Change marks, by the names of their pairs; return what those were that have been changed. */
  async change(changes) {
    this.isBusy = true;
    const isNo = (mark) => mark?.said === NOT_A_DUPLICATE;
    const [done, released, back] = [[], [], []];
    for (const change of changes) {
      const was = this.said.get(change[0]);
      if (!this.acts || isNo(was) === isNo(change[1])) this.set(change, done);
      else (isNo(was) ? back : released).push(change);
    }
    byId("trouble").hidden = true;
    try {
      await this.send(released, false, done);
      await this.send(back, true, done);
    } catch (error) {
      byId("trouble").hidden = false;
      byId("trouble").textContent = `Not all marks were saved (${error.message}): is dedup review still running?`;
    }
    this.isBusy = false;
    this.keep();
    return done;
  }

  set([name, mark], done) {
    done.push([name, this.said.get(name)]);
    if (mark) this.said.set(name, mark);
    else this.said.delete(name);
  }

  /** Whether the page is served, and marks act at once. */
  get acts() {
    return this.pairs.data.is_served;
  }

  /** Let marks act, some hundred in a request. */
  async send(changes, isUndone, done) {
    for (let at = 0; at < changes.length; ) {
      const some = [];
      for (let size = 0; at < changes.length && size < MOST_CHARACTERS_SENT; at++) {
        some.push(changes[at]);
        size += changes[at][0].length;
      }
      const body = JSON.stringify({ pairs: some.map(([name]) => JSON.parse(name)), undo: isUndone });
      const { outcomes } = await answerOf(await fetch("marks", { method: "POST", headers: { "Content-Type": "application/json" }, body }));
      some.forEach(([name, mark], number) => {
        const outcome = outcomes[number];
        // What has been decided anew since keeps its mark.
        if (outcome === "left" && this.said.get(name).outcome === "released") this.said.get(name).outcome = outcome;
        else this.set([name, mark && !isUndone ? { ...mark, outcome } : mark], done);
      });
      byId("marks").hidden = false;
      if (at < changes.length) byId("marks-told").textContent = `${whole(at)} of ${counted(changes.length, "mark")} …`;
    }
  }

  /** Return what a row says of its mark. */
  told(row) {
    const found = this.said.get(this.name(row));
    if (!found) return "";
    const outcome = OUTCOMES[found.outcome];
    return outcome ? `✗ ${outcome}` : this.label(found.said, row);
  }

  /** Return what a mark is called: what was dropped rightly is a copy, and not every copy was dropped. */
  label(said, row) {
    return said === IS_COPY && this.pairs.isDropped(row) ? "✓ rightly dropped" : SAID[said];
  }

  keep() {
    try {
      localStorage.setItem(this.place, JSON.stringify([...this.said]));
    } catch (error) {
      this.isKept = false;
    }
  }

  /** Return the marks as labelled pairs, a line of JSON each: original, document, and 1 where it is a duplicate. */
  lines() {
    return [...this.said].map(([name, { said, kind }]) => {
      const [a, b] = JSON.parse(name);
      return `${JSON.stringify({ a, b, label: said === IS_COPY ? 1 : 0, kind })}\n`;
    });
  }

  save() {
    const address = URL.createObjectURL(new Blob(this.lines(), { type: "application/jsonl" }));
    const link = make("a", { href: address, download: "marks.jsonl" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}

/**
 * Return the two buttons that say something of pairs.
 * @param {function(): number[]} rowsOf their numbers, once they are needed
 * @param {string|null} what they are called where they are many
 * @param {function()} done is called once it is said of one
 */
function markButtons(marks, rowsOf, what, done) {
  const isMarkable = what !== null || marks.pairs.isMarkable(rowsOf()[0]);
  const press = (element) => element.setAttribute("aria-pressed", String(marks.ofAll(rowsOf()) === element.dataset.said));
  const button = (said) => {
    const label = marks.label(said, rowsOf()[0]);
    const title = isMarkable ? (what === null ? null : `${label}: ${what}`) : "its address is too long for this page";
    const element = make("button.mark", { type: "button", "data-said": said, title, disabled: isMarkable ? null : "" }, label);
    element.addEventListener("click", async (event) => {
      event.stopPropagation();
      const rows = rowsOf();
      await marks.say(rows, said);
      if (!element.isConnected || what !== null) return;
      element.parentElement.querySelectorAll("button.mark").forEach(press);
      if (marks.of(rows[0]) !== "none") done();
    });
    if (what === null) press(element);
    return element;
  };
  return make("div.marking", { role: "group", "aria-label": what ?? "What it is" }, button(NOT_A_DUPLICATE), button(IS_COPY));
}
