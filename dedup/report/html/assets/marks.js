"use strict";

const PLACE = "dedup marks of ";
const NOT_A_DUPLICATE = "no";
const RIGHTLY_DROPPED = "yes";
const OUTCOMES = {
  released: "released: the next crawl keeps it",
  kept: "kept already",
  moved: "copy of another page by now",
  unknown: "not known any more",
};

/** What a person has said of pairs, kept in the browser where it allows that, and saved as a file. */
class Marks {
  constructor(pairs) {
    this.pairs = pairs;
    this.place = PLACE + pairs.data.identity;
    this.isKept = true;
    this.said = new Map();
    this.last = [];
    this.changed = () => {};
    try {
      this.said = new Map(JSON.parse(localStorage.getItem(this.place) ?? "[]"));
    } catch (error) {
      // Pages from files may have no storage of their own.
      this.isKept = false;
    }
  }

  name(row) {
    const { dropped, original } = this.pairs.columns;
    return JSON.stringify([this.pairs.key(original[row]), this.pairs.key(dropped[row])]);
  }

  /** Return what was said of a pair: "no", "yes", or "none". */
  of(row) {
    return this.said.get(this.name(row))?.said ?? "none";
  }

  /** Say something of a pair; the same once more takes it back. Where the page is served, "no" acts at once, for good. */
  toggle(row, said) {
    const name = this.name(row);
    const pair = this.pairs.get(row);
    if (this.acts && said === NOT_A_DUPLICATE) {
      this.release(name, pair.rule ?? pair.verdict);
      return;
    }
    this.last.push([name, this.said.get(name)]);
    if (this.of(row) === said) this.said.delete(name);
    else this.said.set(name, { said, kind: pair.rule ?? pair.verdict });
    this.keep();
  }

  /** Whether the page is served, and marks act at once. */
  get acts() {
    return this.pairs.data.is_served;
  }

  async release(name, kind) {
    const [a, b] = JSON.parse(name);
    const trouble = byId("trouble");
    try {
      const answer = await fetch("marks", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ a, b }) });
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
      const { outcome } = await answer.json();
      this.said.set(name, { said: NOT_A_DUPLICATE, kind, outcome });
      trouble.hidden = true;
      this.keep();
    } catch (error) {
      trouble.hidden = false;
      trouble.textContent = `The mark is not kept (${error.message}): is dedup review still running?`;
    }
  }

  /** Return what a row says of its mark. */
  told(row) {
    const found = this.said.get(this.name(row));
    if (!found) return "";
    if (found.said === RIGHTLY_DROPPED) return "rightly dropped";
    return OUTCOMES[found.outcome] ?? "not a duplicate";
  }

  /** Take back what was said last in this page. */
  undo() {
    if (!this.last.length) return;
    const [name, before] = this.last.pop();
    if (before) this.said.set(name, before);
    else this.said.delete(name);
    this.keep();
  }

  keep() {
    try {
      localStorage.setItem(this.place, JSON.stringify([...this.said]));
    } catch (error) {
      this.isKept = false;
    }
    this.changed();
  }

  /** Return the marks as labelled pairs, a line of JSON each: original, document, and 1 where it is a duplicate. */
  lines() {
    return [...this.said].map(([name, { said, kind }]) => {
      const [a, b] = JSON.parse(name);
      return `${JSON.stringify({ a, b, label: said === RIGHTLY_DROPPED ? 1 : 0, kind })}\n`;
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

/** Return the two buttons that say something of a pair; `done` is called once it is said. */
function markButtons(marks, row, done) {
  const isMarkable = marks.pairs.isMarkable(row);
  const button = (said, text) => {
    const element = make(
      "button.mark",
      { type: "button", "aria-pressed": String(marks.of(row) === said), "data-said": said, ...(isMarkable ? {} : { disabled: "", title: "its address is too long for this page" }) },
      text,
    );
    element.addEventListener("click", (event) => {
      event.stopPropagation();
      marks.toggle(row, said);
      for (const each of element.parentElement.querySelectorAll("button.mark")) {
        each.setAttribute("aria-pressed", String(marks.of(row) === each.dataset.said));
      }
      if (marks.of(row) !== "none") done();
    });
    return element;
  };
  return make("div.marking", { role: "group", "aria-label": "What it is" }, button(NOT_A_DUPLICATE, "Not a duplicate"), button(RIGHTLY_DROPPED, "Rightly dropped"));
}
