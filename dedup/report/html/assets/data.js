"use strict";

const CONDITION = /\b(host|title|rule|lost|places|alike):([<>]?)(\S+)/g;

const TEXTS = new Set(["verdict", "dropped", "original", "matched", "run", "rule", "title", "original_title", "second", "host", "cluster"]);

/** The pairs of the report, by their numbers: a row has a place in each of the columns, where a text stands as its number. */
class Pairs {
  constructor(data) {
    this.data = data;
    this.columns = data.rows;
    this.size = data.rows.dropped.length;
    this.readable = new Map(Object.entries(data.shown).map(([number, shown]) => [data.texts[number], shown]));
    this.lowered = null;
    this.folded = new Map();
  }

  /** Return a key as people read it: with letters in the place of their escapes. */
  shown(key) {
    return this.readable.get(key) ?? key;
  }

  /** Return what a column holds of a row; null for nothing. */
  value(name, row) {
    const found = this.columns[name][row];
    return found !== null && TEXTS.has(name) ? this.data.texts[found] : found;
  }

  /** Return all that is in a column of texts, each once. */
  values(name) {
    return [...new Set(this.columns[name])].filter((number) => number !== null).map((number) => this.data.texts[number]);
  }

  get(row) {
    const values = Object.keys(this.columns).map((name) => [name, this.value(name, row)]);
    return { row, ...Object.fromEntries(values), difference: this.data.differences[row] ?? null };
  }

  /** Return what a rule means in a few words; "" for none, its name for one of a later version. */
  plainRule(rule) {
    return rule ? (this.data.rules[rule] ?? rule) : "";
  }

  isDuplicate(row) {
    return this.value("verdict", row).endsWith("duplicate");
  }

  /** Return how alike both pages of a row are, such as "93%". */
  alike(row) {
    return percentOf(this.columns.similarity[row], this.value("verdict", row) === "exact duplicate");
  }

  isDropped(row) {
    return this.isDuplicate(row) && !this.columns.is_kept[row];
  }

  isMarkable(row) {
    const isWhole = (key) => key.length <= this.data.longest_key || [...key].length <= this.data.longest_key;
    return isWhole(this.value("dropped", row)) && isWhole(this.value("original", row));
  }

  /**
   * Return a function that says of a pair whether it is searched for.
   * @param {string} text words of addresses, titles or of what differs; and conditions, such as host:example rule:contains lost:>50 alike:<80
   */
  search(text) {
    this.lowered ??= this.data.texts.map((each) => `${each}\n${this.readable.get(each) ?? ""}`.toLowerCase());
    const tests = [];
    const isIn = (row, wanted, ...names) => names.some((name) => this.columns[name][row] !== null && this.lowered[this.columns[name][row]].includes(wanted));
    const words = text.toLowerCase().replace(CONDITION, (_, name, sign, wanted) => {
      const number = parseFloat(wanted);
      const compare = { "<": (value) => value < number, ">": (value) => value > number, "": (value) => value === number }[sign];
      tests.push(
        {
          title: (row) => isIn(row, wanted, "title", "original_title"),
          host: (row) => isIn(row, wanted, "host"),
          rule: (row) => isIn(row, wanted, "rule") || this.plainRule(this.value("rule", row)).includes(wanted),
          lost: (row) => compare(this.columns.lost[row] ?? 0),
          places: (row) => compare(this.columns.places[row] ?? 0),
          alike: (row) => compare(parseInt(this.alike(row), 10)),
        }[name],
      );
      return "";
    }).trim();
    if (words) {
      const differs = (row) => this.data.differences[row]?.shown.some((place) => place.slice(0, 4).join(" ").includes(words));
      tests.push((row) => isIn(row, words, "dropped", "original", "title", "original_title") || differs(row));
    }
    return (row) => tests.every((test) => test(row));
  }

  /**
   * Return the numbers of the pairs that a view shows.
   * @param {string} view look, dropped or similar
   * @param {Object} filter what the form asks for, null where it asks for nothing
   * @param {Marks} marks what a person has said of them
   */
  select(view, filter, marks) {
    const c = this.columns;
    const isWanted = this.search(filter.search);
    const isValue = (row, name, wanted) => wanted === null || this.value(name, row) === wanted;
    const selected = [];
    for (let row = 0; row < this.size; row++) {
      if (view === "look" ? !c.is_flagged[row] : (view === "similar") === this.isDuplicate(row)) continue;
      if (!isWanted(row)) continue;
      if (!isValue(row, "original", filter.cluster) || !isValue(row, "host", filter.host) || !isValue(row, "rule", filter.rule)) continue;
      if (c.similarity[row] < filter.least || c.similarity[row] > filter.most) continue;
      if (c.decided[row] < filter.from || c.decided[row] >= filter.to) continue;
      if (filter.verdict === "kept" ? this.isDropped(row) : !isValue(row, "verdict", filter.verdict)) continue;
      if (filter.mark !== null && filter.mark !== marks.of(row)) continue;
      selected.push(row);
    }
    return selected;
  }

  /** Return the first row of each pattern of addresses, and note how many more there are of it. */
  fold(rows) {
    const first = new Map();
    this.folded.clear();
    return rows.filter((row) => {
      const pattern = this.columns.pattern[row];
      if (pattern === null || !first.has(pattern)) {
        first.set(pattern, row);
        return true;
      }
      this.folded.set(first.get(pattern), (this.folded.get(first.get(pattern)) ?? 0) + 1);
      return false;
    });
  }

  /** Order numbers of pairs; as they come they are in the order of review. */
  order(rows, by) {
    const c = this.columns;
    const value = {
      likely: (row) => -c.similarity[row],
      cluster: (row) => c.original[row],
      time: (row) => c.decided[row],
    }[by];
    return value ? rows.sort((a, b) => value(a) - value(b) || a - b) : rows;
  }

  /** Return the numbers of the duplicates of a host. */
  ofHost(host) {
    return Array.from({ length: this.size }, (_, row) => row).filter((row) => this.value("host", row) === host && this.isDuplicate(row));
  }

  /** Return clusters with their numbers of duplicates, the largest first. */
  clusters() {
    const sizes = new Map();
    for (let row = 0; row < this.size; row++) {
      if (!this.isDuplicate(row)) continue;
      const original = this.value("cluster", row);
      const known = sizes.get(original) ?? { original, size: 0, rows: [], flagged: 0, least: 1, title: null };
      if (this.value("original", row) === original) known.title = this.value("original_title", row);
      known.size += 1;
      known.rows.push(row);
      known.flagged += this.columns.is_flagged[row];
      known.least = Math.min(known.least, this.columns.similarity[row]);
      sizes.set(original, known);
    }
    return [...sizes.values()].sort((a, b) => b.size - a.size || b.flagged - a.flagged);
  }
}
