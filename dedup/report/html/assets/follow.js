"use strict";

const EVERY = 2_000;

/** What a run is at, asked for again and again while the page is seen. */
class FollowPage {
  constructor() {
    this.drops = new Map();
    this.shown = "";
    document.addEventListener("visibilitychange", () => this.ask());
    this.ask();
  }

  async ask() {
    clearTimeout(this.timer);
    if (document.hidden || this.isAsking) return;
    this.isAsking = true;
    try {
      const answer = await fetch("state");
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
      this.show(await answer.json());
      byId("trouble").hidden = true;
    } catch (error) {
      byId("trouble").hidden = false;
      byId("trouble").textContent = `What stands here is not renewed (${error.message}): is dedup review still running?`;
    }
    this.isAsking = false;
    this.timer = setTimeout(() => this.ask(), EVERY);
  }

  show(state) {
    const { counts } = state;
    byId("run").replaceChildren(...(state.run ? ["run ", make("bdi", {}, visible(state.run))] : []));
    const decided = counts ? `${counted(counts.decided, "page")} decided` : "";
    const heading = { waiting: "Waiting for a crawl", "going on": `Crawling: ${decided}`, silent: `No sign of life: ${decided}`, ended: `The crawl has ended: ${decided}` }[state.state];
    // Who listens to the page is told what changed, and not all of it every time.
    if (byId("told").textContent !== heading) byId("told").textContent = heading;
    byId("why").hidden = !state.told;
    byId("why").textContent = visible(state.told);
    byId("why").classList.toggle("review", state.state === "silent");
    document.title = heading;
    this.showTiles(state);
    this.showOffer(state);
    this.showDrops(state.latest);
    this.showQueue(state.queue);
  }

  showTiles({ counts, rate, queue }) {
    byId("tiles").hidden = !counts;
    if (!counts) return;
    const tile = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
    const more = [
      ["Similar, but kept", counts.similar],
      ["Copies kept all the same", counts.marked],
    ].filter(([, count]) => count);
    byId("tiles").replaceChildren(
      tile("Kept", whole(counts.kept)),
      tile("Exact copies dropped", whole(counts.exact)),
      tile("Near copies dropped", whole(counts.near)),
      ...more.map(([name, count]) => tile(name, whole(count))),
      ...(rate === null ? [] : [tile("Pages a second", rate.toLocaleString("en", { maximumFractionDigits: 1 }))]),
      ...(queue ? [tile("Queued or under way", whole(queue.left) + (queue.is_more ? " or more" : ""))] : []),
    );
  }

  showOffer({ state, counts }) {
    byId("offer").hidden = !counts?.decided;
    const isOver = state === "ended" || state === "silent";
    byId("load").toggleAttribute("data-is-over", isOver);
    byId("load").textContent = isOver ? "Load the full report" : "Open the report as it is now";
  }

  /** Add what is new at the top, so that what has the focus keeps it. */
  showDrops(latest) {
    byId("latest").hidden = !latest.length;
    const name = (row) => JSON.stringify([row.key, row.decided]);
    const names = new Set(latest.map(name));
    for (const [known, element] of this.drops) {
      if (names.has(known)) continue;
      element.remove();
      this.drops.delete(known);
    }
    for (const row of [...latest].reverse()) {
      if (this.drops.has(name(row))) continue;
      const element = dropRow(row);
      this.drops.set(name(row), element);
      byId("drops").prepend(element);
    }
  }

  showQueue(queue) {
    byId("queue").hidden = !queue?.hosts.length;
    const now = JSON.stringify(queue);
    if (byId("queue").hidden || now === this.shown) return;
    this.shown = now;
    const of = queue.counted < queue.left ? `the next ${counted(queue.counted, "page")} of the queue` : "the queue";
    const rows = queue.hosts.map(([host, count]) => [make("bdi", { dir: "ltr" }, visible(host)), whole(count)]);
    const rest = queue.host_count - rows.length;
    byId("queue").replaceChildren(tableOf(`Hosts of ${of}, the most pages first`, [text("Host"), number("Pages")], rows), ...(rest > 0 ? [make("p.note", {}, `and ${counted(rest, "more host")}`)] : []));
  }
}

/** Return one of the latest copies; it leads to its pair in the report, which is made anew. */
function dropRow(row) {
  const percent = `${Math.round(row.similarity * 100)}%`;
  const link = make(
    "a.drop",
    { href: `report#copy-${encodeURIComponent(row.key)}` },
    make("div.figures", {}, make("strong", {}, percent)),
    make(
      "div.texts",
      {},
      make("div.line", {}, addressOf(row.dropped)),
      make("div.line.muted", {}, make("span.relation", {}, row.is_kept ? "kept, copy of " : "copy of "), addressOf(row.original)),
    ),
    make("time.when", {}, new Date(row.decided * 1000).toLocaleTimeString("en-GB")),
  );
  return make("div", { role: "listitem", "aria-label": `${row.verdict}, ${percent} alike` }, link);
}

begin(() => new FollowPage());
