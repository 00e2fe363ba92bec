"use strict";

const BEYOND = 8;
const MOST_PRINTED = 300;

/** A list of any length, of which only those rows are in the page that can be seen. */
class VirtualList {
  /**
   * @param {HTMLElement} box where it stands; its style says how high a row is
   * @param {function(*, number): HTMLElement} makeRow from an item and its place to what is shown of it
   * @param {function(*, number)} open what opens an item
   */
  constructor(box, makeRow, open) {
    this.box = box;
    this.makeRow = makeRow;
    this.open = open;
    this.items = [];
    this.rows = new Map();
    this.isPrinting = false;
    const update = () => this.update();
    window.addEventListener("scroll", update, { passive: true });
    window.addEventListener("resize", () => this.show(this.items));
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    box.addEventListener("keydown", (event) => this.move(event));
  }

  /** Show other items, from the first one on. */
  show(items) {
    this.items = items;
    this.clear();
    this.update();
  }

  clear() {
    this.box.replaceChildren();
    this.rows.clear();
    this.height = parseFloat(getComputedStyle(this.box).getPropertyValue("--row")) * parseFloat(getComputedStyle(document.documentElement).fontSize);
    this.box.style.height = this.isPrinting ? "auto" : `${this.items.length * this.height}px`;
  }

  /** Make the rows that can be seen now, and remove those that cannot. */
  update() {
    if (this.isPrinting || !this.box.offsetParent) return;
    const top = this.box.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / this.height) - BEYOND);
    const last = Math.min(this.items.length, Math.ceil((window.innerHeight - top) / this.height) + BEYOND);
    for (const [place, row] of this.rows) {
      if (place >= first && place < last) continue;
      row.remove();
      this.rows.delete(place);
    }
    for (let place = first; place < last; place++) {
      if (!this.rows.has(place)) this.add(place);
    }
  }

  add(place) {
    const row = this.makeRow(this.items[place], place);
    row.setAttribute("role", "listitem");
    row.setAttribute("aria-setsize", this.items.length);
    row.setAttribute("aria-posinset", place + 1);
    row.tabIndex = place === 0 ? 0 : -1;
    row.dataset.place = place;
    row.style.top = `${place * this.height}px`;
    row.addEventListener("click", (event) => {
      if (!event.target.closest("a")) this.open(this.items[place], place);
    });
    this.rows.set(place, row);
    // In their order, for those who read without seeing where rows stand.
    const before = this.rows.get(place - 1);
    if (before) before.after(row);
    else this.box.prepend(row);
  }

  /** Put the focus on a row, which is brought into sight. */
  focus(place) {
    if (!this.items.length) return;
    const wanted = Math.max(0, Math.min(this.items.length - 1, place));
    const top = this.box.getBoundingClientRect().top + wanted * this.height;
    if (top < 0 || top + this.height > window.innerHeight) {
      window.scrollBy(0, top - window.innerHeight / 3);
    }
    this.update();
    for (const row of this.rows.values()) row.tabIndex = -1;
    const row = this.rows.get(wanted);
    row.tabIndex = 0;
    row.focus({ preventScroll: true });
  }

  move(event) {
    const row = event.target.closest("[data-place]");
    if (!row || event.target !== row) return;
    const place = Number(row.dataset.place);
    const page = Math.max(1, Math.floor(window.innerHeight / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -place, End: this.items.length };
    if (event.key in steps) this.focus(place + steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.open(this.items[place], place);
    else return;
    event.preventDefault();
  }

  /** Let the first rows stand one below the other while the page is printed, which cannot scroll. */
  print(isPrinting) {
    if (!this.box.offsetParent) return;
    this.isPrinting = isPrinting;
    this.clear();
    if (!isPrinting) {
      this.update();
      return;
    }
    const count = Math.min(MOST_PRINTED, this.items.length);
    for (let place = 0; place < count; place++) this.add(place);
    if (count < this.items.length) {
      this.box.append(make("p.note", {}, `and ${whole(this.items.length - count)} more, which are not printed`));
    }
  }
}
