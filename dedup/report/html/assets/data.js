"use strict";

const CONDITION = /\b(host|title|rule|lost|places|alike):([<>]?)(\S+)/g;

/** The pairs of the report, by their numbers; all that is asked of one is looked up in the columns. */
class Pairs {
  constructor(data) {
    this.data = data;
    this.columns = data.rows;
    this.size = data.rows.dropped.length;
    this.cutKeys = new Set(data.keys_cut);
    this.lowered = null;
    this.loweredTitles = data.titles.map((title) => title.toLowerCase());
  }

  key(number) {
    return this.data.keys[number];
  }

  /** Return a key as people read it: with letters in the place of their escapes. */
  shown(number) {
    return this.data.shown[number] ?? this.data.keys[number];
  }

  get(row) {
    const { columns: c, data } = this;
    const word = (list, number) => (number === null ? null : list[number]);
    return {
      row,
      verdict: c.verdicts[c.verdict[row]],
      distance: c.distance[row],
      similarity: c.similarity[row],
      dropped: c.dropped[row],
      original: c.original[row],
      matched: c.matched[row],
      run: c.runs[c.run[row]],
      decided: c.decided[row],
      kept: word(c.kept_as, c.kept[row]),
      rule: word(c.rules, c.rule[row]),
      host: c.hosts[c.host[row]],
      isDoubtful: c.doubtful[row] === 1,
      lost: c.lost[row],
      places: c.places[row],
      title: word(data.titles, c.title[row]),
      originalTitle: word(data.titles, c.original_title[row]),
      hasChanged: c.changed[row] === 1,
      difference: data.differences[row] ?? null,
    };
  }

  /** Return what a rule means in a few words; "" for none, its name for one of a later version. */
  plainRule(rule) {
    return rule ? (this.data.rules[rule]?.[0] ?? rule) : "";
  }

  isDuplicate(row) {
    return this.columns.verdicts[this.columns.verdict[row]].endsWith("duplicate");
  }

  isDropped(row) {
    return this.isDuplicate(row) && this.columns.kept[row] === null;
  }

  isMarkable(row) {
    return !this.cutKeys.has(this.columns.dropped[row]) && !this.cutKeys.has(this.columns.original[row]);
  }

  /**
   * Return a function that says of a pair whether it is searched for.
   * @param {string} text words of addresses, titles or of what differs; and conditions, such as host:example rule:holds lost:>50 alike:<80
   */
  search(text) {
    this.lowered ??= this.data.keys.map((key, number) => `${key}\n${this.data.shown[number] ?? ""}`.toLowerCase());
    const c = this.columns;
    const tests = [];
    const isTitled = (row, test) => [c.title[row], c.original_title[row]].some((number) => number !== null && test(this.loweredTitles[number]));
    const words = text.toLowerCase().replace(CONDITION, (_, name, sign, wanted) => {
      const number = parseFloat(wanted);
      const compare = { "<": (value) => value < number, ">": (value) => value > number, "": (value) => value === number }[sign];
      tests.push(
        {
          title: (row) => isTitled(row, (title) => title.includes(wanted)),
          host: (row) => c.hosts[c.host[row]].includes(wanted),
          rule: (row) => c.rule[row] !== null && `${c.rules[c.rule[row]]} ${this.plainRule(c.rules[c.rule[row]])}`.includes(wanted),
          lost: (row) => compare(c.lost[row]),
          places: (row) => compare(c.places[row]),
          alike: (row) => compare(Math.round(c.similarity[row] * 100)),
        }[name],
      );
      return "";
    }).trim();
    if (words) {
      const isIn = this.lowered.map((key) => key.includes(words));
      const differs = (row) => this.data.differences[row]?.shown.some((place) => place.slice(0, 4).join(" ").includes(words));
      tests.push((row) => isIn[c.dropped[row]] || isIn[c.original[row]] || isTitled(row, (title) => title.includes(words)) || differs(row));
    }
    return (row) => tests.every((test) => test(row));
  }

  /**
   * Return the numbers of the pairs that a view shows.
   * @param {string} view look, dropped or similar
   * @param {Object} filter what the form asks for, empty where it asks for nothing
   * @param {Marks} marks what a person has said of them
   */
  select(view, filter, marks) {
    const c = this.columns;
    const isWanted = this.search(filter.search);
    const host = filter.host === "" ? -1 : c.hosts.indexOf(filter.host);
    const rule = filter.rule === "" ? -1 : c.rules.indexOf(filter.rule);
    const selected = [];
    for (let row = 0; row < this.size; row++) {
      if (view === "look" ? c.doubtful[row] !== 1 : (view === "similar") === this.isDuplicate(row)) continue;
      if (!isWanted(row)) continue;
      if (filter.cluster !== null && c.original[row] !== filter.cluster) continue;
      if (filter.host !== "" && c.host[row] !== host) continue;
      if (filter.rule !== "" && c.rule[row] !== rule) continue;
      if (c.similarity[row] < filter.least || c.similarity[row] > filter.most) continue;
      if (c.decided[row] < filter.from || c.decided[row] >= filter.to) continue;
      if (filter.verdict !== "" && !this.isOf(row, filter.verdict)) continue;
      if (filter.mark !== "" && filter.mark !== marks.of(row)) continue;
      selected.push(row);
    }
    return selected;
  }

  isOf(row, verdict) {
    return verdict === "kept" ? !this.isDropped(row) : this.columns.verdicts[this.columns.verdict[row]] === verdict;
  }

  /** Order numbers of pairs; as they come they are the most doubtful first. */
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
    const number = this.columns.hosts.indexOf(host);
    return [...this.columns.host.keys()].filter((row) => this.columns.host[row] === number && this.isDuplicate(row));
  }

  /** Return clusters with their numbers of duplicates, the largest first. */
  clusters() {
    const sizes = new Map();
    for (let row = 0; row < this.size; row++) {
      if (!this.isDuplicate(row)) continue;
      const original = this.columns.cluster[row];
      const known = sizes.get(original) ?? { original, size: 0, rows: [], doubtful: 0, least: 1, title: null };
      if (this.columns.original[row] === original) known.title = this.get(row).originalTitle;
      known.size += 1;
      known.rows.push(row);
      known.doubtful += this.columns.doubtful[row];
      known.least = Math.min(known.least, this.columns.similarity[row]);
      sizes.set(original, known);
    }
    return [...sizes.values()].sort((a, b) => b.size - a.size || b.doubtful - a.doubtful);
  }
}
