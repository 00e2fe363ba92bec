"use strict";

/** The page of what changed between two runs. */
class ChangesPage {
  constructor(data) {
    this.data = data;
    this.rows = data.rows;
    this.kind = "all";
    this.dialog = new ChangeDialog(byId("pair"), this);
    this.list = new VirtualList(byId("list"), (row) => this.makeRow(row), (row, place) => this.dialog.open(this.list, place));
    for (const [kind, count] of [["all", null], ...Object.entries(data.counts)]) {
      if (count === 0) continue;
      const tab = make("button", { type: "button", role: "tab", id: `tab-${kind.replace(" ", "-")}`, "aria-controls": "pairs", "data-kind": kind }, kind, count === null ? null : make("span.count", {}, whole(count)));
      tab.addEventListener("click", () => this.show(kind));
      byId("tabs").append(tab);
    }
    byId("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" }[event.key];
      const tab = step && event.target[step];
      if (!tab) return;
      this.show(tab.dataset.kind);
      tab.focus();
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("filters").addEventListener("input", () => this.refresh());
    byId("pairs").hidden = false;
    this.show("all");
  }

  /** Return a key as people read it. */
  shown(number) {
    return this.data.shown[number] ?? this.data.keys[number];
  }

  link(number) {
    return linkOf(this.data.keys[number], this.shown(number));
  }

  show(kind) {
    this.kind = kind;
    for (const tab of byId("tabs").children) {
      const isShown = tab.dataset.kind === kind;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      if (isShown) byId("pairs").setAttribute("aria-labelledby", tab.id);
    }
    this.refresh();
  }

  refresh() {
    const wanted = byId("f-search").value.trim().toLowerCase();
    const has = (number) => number !== null && `${this.data.keys[number]}\n${this.shown(number)}`.toLowerCase().includes(wanted);
    const rows = this.rows.filter((row) => (this.kind === "all" || row.change === this.kind) && (!wanted || has(row.key) || has(row.moved_from)));
    this.list.show(rows);
    const cut = this.data.rows_cut;
    byId("count").textContent = counted(rows.length, "change") + (cut ? `; the page holds the first ${whole(this.rows.length)}, ${whole(cut)} are cut` : "");
  }

  /** Say in a line what an address alone does not say. */
  about(row) {
    if (row.moved_from !== null) return [make("span.lead", {}, "from "), addressOf(this.shown(row.moved_from))];
    if (row.change === "dropped" && row.original !== null) return [make("span.lead", {}, "like "), addressOf(this.shown(row.original))];
    if (row.why) return [visible(row.why)];
    return [row.before === row.now || row.before === null || row.now === null ? (row.now ?? row.before) : `${row.before}, now ${row.now}`];
  }

  makeRow(row) {
    return make(
      "article.row",
      { "aria-label": row.change },
      make("div.figures.kind", {}, make("strong", {}, row.change)),
      make("div.texts", {}, make("div.line", {}, opener(addressOf(this.shown(row.key)))), make("div.line.muted", {}, ...this.about(row)), make("div.line.third", {}, tellingDifference(row.difference) ?? "")),
    );
  }
}

/** The dialog that shows what changed in a document. */
class ChangeDialog extends RowDialog {
  constructor(dialog, page) {
    super(dialog, "Change");
    this.page = page;
  }

  content(row) {
    const fact = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, ...value));
    const [first, second] = this.page.data.runs.map(visible);
    return [
      make("p.key", {}, this.page.link(row.key)),
      make(
        "dl.facts",
        {},
        fact("Change", row.change),
        fact(`In run ${first}`, row.before ?? "not seen"),
        fact(`In run ${second}`, row.now ?? "not seen"),
        ...(row.moved_from === null ? [] : [fact("Moved from", this.page.link(row.moved_from))]),
        ...(row.original === null ? [] : [fact("Resembles", this.page.link(row.original))]),
        ...(row.why ? [fact("Why", visible(row.why))] : []),
        fact("Decided", momentOf(row.decided)),
      ),
      row.difference ? differencesOf(row.difference, "earlier", "later") : row.change === "changed" ? make("p.muted", {}, "The text before is not stored, so it is not known which words changed.") : make("p"),
    ];
  }
}

begin((data) => new ChangesPage(data));
