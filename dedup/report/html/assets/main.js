"use strict";

const VIEWS = [
  { id: "look", title: "Flagged", panel: "pairs", count: (data) => data.counts.flagged },
  { id: "dropped", title: "All duplicates", panel: "pairs", count: (data) => data.counts.dropped + data.counts.marked },
  { id: "similar", title: "Similar, kept", panel: "pairs", count: (data) => data.counts.similar },
  { id: "clusters", title: "Clusters", panel: "clusters", count: () => null },
  { id: "hosts", title: "Hosts", panel: "hosts", count: (data) => data.host_count },
  { id: "addresses", title: "Addresses of copies", panel: "addresses", count: (data) => data.address_rules.length },
  { id: "numbers", title: "Numbers", panel: "numbers", count: () => null },
];
const ABOUT = {
  look: "Near-duplicates whose differences may matter, most important first. Differences that many pages of a site share are grey and do not count. Open a pair to see all of them, or to mark it as not a duplicate.",
  dropped: "Every duplicate, with its original and the rule that decided.",
  similar: "Kept: these resemble another page, but differ in something that may matter. Pages of one pattern of addresses are one row; a search finds each.",
};

class ReportPage {
  constructor(data) {
    this.data = data;
    this.pairs = new Pairs(data);
    this.marks = new Marks(this.pairs);
    this.marks.changed = () => this.showMarks();
    this.cluster = null;
    this.dialog = new PairDialog(byId("pair"), this.pairs, this.marks);
    this.list = new VirtualList(byId("list"), (row) => pairRow(this.pairs, this.marks, row), (row, place) => this.dialog.open(this.list, place));
    this.clusterList = new VirtualList(byId("cluster-list"), (cluster) => clusterRow(this.pairs, this.marks, cluster), (cluster) => this.openCluster(cluster));
    this.makeTabs();
    this.makeFilters();
    byId("export").addEventListener("click", () => this.marks.save());
    byId("undo").addEventListener("click", () => this.marks.undo());
    window.addEventListener("keydown", (event) => this.press(event));
    this.showMarks();
    this.show(data.counts.flagged ? "look" : data.counts.dropped ? "dropped" : "numbers");
    this.openLinked();
  }

  /** Open the pair whose number is in the address of the page, if there is one. */
  openLinked() {
    const row = parseInt(/^#pair-(\d+)$/.exec(location.hash)?.[1], 10);
    if (!(row < this.pairs.size)) return;
    this.show(this.pairs.isDuplicate(row) ? "dropped" : "similar");
    if (!this.list.items.includes(row)) this.list.show([row, ...this.list.items]);
    this.dialog.open(this.list, this.list.items.indexOf(row));
  }

  makeTabs() {
    for (const view of VIEWS) {
      const count = view.count(this.data);
      if (count === 0 || (view.id === "hosts" && count === 1)) continue;
      const tab = make("button", { type: "button", role: "tab", id: `tab-${view.id}`, "aria-controls": view.panel }, view.title, count === null ? null : make("span.count", {}, whole(count)));
      tab.addEventListener("click", () => this.show(view.id));
      byId("tabs").append(tab);
    }
    byId("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const shown = VIEWS.filter((view) => byId(`tab-${view.id}`));
      const at = shown.findIndex((view) => view.id === this.view);
      this.show(shown[(at + step + shown.length) % shown.length].id);
      byId(`tab-${this.view}`).focus();
    });
  }

  makeFilters() {
    const { columns } = this.pairs;
    const fill = (id, all, words) => byId(id).append(make("option", { value: "" }, all), ...words.map(([value, text]) => make("option", { value }, text)));
    fill("f-host", "all", this.pairs.values("host").sort().map((host) => [host, visible(host) || "(none)"]));
    fill("f-verdict", "all", [["near duplicate", "near duplicate"], ["exact duplicate", "exact duplicate"], ["similar", "similar"], ["kept", "kept"]]);
    fill("f-rule", "all", this.pairs.values("rule").sort().map((rule) => [rule, this.pairs.plainRule(rule)]));
    fill("f-mark", "all", [["none", "not looked at"], ["no", "not a duplicate"], ["yes", "is a copy"]]);
    byId("dates").hidden = !columns.decided.some((moment) => moment > 0);
    byId("filters").addEventListener("input", () => this.refresh());
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("f-clear").addEventListener("click", () => {
      this.clear();
      this.refresh();
    });
  }

  clear() {
    byId("filters").reset();
    this.cluster = null;
  }

  get filter() {
    const value = (id) => byId(id).value;
    const chosen = (id) => (byId(id).selectedIndex > 0 ? value(id) : null);
    const least = parseFloat(value("f-least"));
    const most = parseFloat(value("f-most"));
    const day = (text, plus) => new Date(`${text}T00:00:00`).getTime() / 1000 + plus;
    return {
      search: value("f-search").trim(),
      host: chosen("f-host"),
      verdict: chosen("f-verdict"),
      rule: chosen("f-rule"),
      mark: chosen("f-mark"),
      least: Number.isNaN(least) ? -1 : least / 100,
      most: Number.isNaN(most) ? 2 : most / 100,
      from: value("f-from") ? day(value("f-from"), 0) : -Infinity,
      to: value("f-to") ? day(value("f-to"), 86_400) : Infinity,
      cluster: this.cluster,
    };
  }

  show(id) {
    this.view = id;
    const shown = VIEWS.find((view) => view.id === id);
    for (const view of VIEWS) {
      byId(view.panel).hidden = view.panel !== shown.panel;
      const tab = byId(`tab-${view.id}`);
      if (!tab) continue;
      tab.setAttribute("aria-selected", String(view.id === id));
      tab.tabIndex = view.id === id ? 0 : -1;
    }
    byId(shown.panel).setAttribute("aria-labelledby", `tab-${id}`);
    if (shown.panel === "pairs") this.refresh();
    if (id === "clusters") this.clusterList.show((this.clusters ??= this.pairs.clusters()));
    if (id === "hosts" && !byId("hosts").firstChild) byId("hosts").append(hostTable(this.data, this.pairs, this.marks, (host) => this.openHost(host)));
    if (id === "addresses" && !byId("addresses").firstChild) byId("addresses").append(ruleTable(this.data));
    if (id === "numbers" && !byId("numbers").firstChild) this.drawNumbers();
  }

  drawNumbers() {
    const charts = chartsOf(this.data, this.pairs);
    byId("numbers").append(make("div.charts", {}, ...charts.map((chart) => chart.element)), notedTables(this.data));
    // Only what is in the page has a width to draw in.
    for (const chart of charts) chart.draw();
  }

  refresh() {
    byId("about").textContent = ABOUT[this.view];
    const filter = this.filter;
    const rows = this.pairs.order(this.pairs.select(this.view, filter, this.marks), byId("order").value);
    this.pairs.folded.clear();
    this.list.show(this.view === "similar" && !filter.search ? this.pairs.fold(rows) : rows);
    const cut = this.data.rows_cut;
    byId("count").textContent = counted(rows.length, "pair") + (cut && this.view !== "look" ? `; ${whole(cut)} more are not in this page` : "");
    const buttons = groupButtons(this.marks, () => rows, `all ${counted(rows.length, "pair")} shown here`);
    byId("all-shown").replaceChildren(...(rows.length > 1 ? ["Mark all as", buttons] : []));
    this.showChip();
  }

  showChip() {
    const chip = byId("cluster-chip");
    chip.hidden = this.cluster === null;
    if (chip.hidden) return;
    const leave = make("button.quiet", { type: "button" }, "all clusters");
    leave.addEventListener("click", () => {
      this.cluster = null;
      this.refresh();
    });
    chip.replaceChildren("Duplicates of ", linkOf(this.cluster, this.pairs.shown(this.cluster)), " ", leave);
  }

  openCluster(cluster) {
    this.clear();
    this.cluster = cluster.original;
    this.show("dropped");
    this.list.focus(0);
  }

  openHost(host) {
    this.clear();
    byId("f-host").value = host;
    byId("more-filters").open = true;
    this.show("dropped");
    byId("f-host").focus();
  }

  showMarks() {
    const count = this.marks.said.size;
    byId("marks").hidden = !count;
    byId("undo").hidden = !this.marks.last.length;
    const where = this.marks.isKept ? "saved in this browser." : "not saved when this page is closed: save them first.";
    const [next, command] = this.marks.acts ? ["Pages marked \u201cnot a duplicate\u201d have been released. To measure:", "dedup evaluate marks.jsonl --database DATABASE"] : ["Next:", "dedup release --marks marks.jsonl"];
    byId("marks-told").replaceChildren(`${counted(count, "mark")} ${where} ${next} `, make("code", {}, command));
    for (const list of [this.list, this.clusterList]) {
      if (!list) continue;
      const place = list.box.contains(document.activeElement) ? document.activeElement.closest("[data-place]")?.dataset.place : undefined;
      list.show(list.items);
      if (place !== undefined) list.focus(Number(place));
    }
  }

  press(event) {
    if (byId("pair").open || event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "u") this.marks.undo();
    if (event.key !== "/" || byId("pairs").hidden) return;
    event.preventDefault();
    byId("f-search").focus();
  }
}

begin((data) => new ReportPage(data));
