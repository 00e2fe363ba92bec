"use strict";

/** Return a table; columns of numbers stand at the right. */
function tableOf(caption, headings, rows) {
  const cell = (tag, value, at) => {
    const isNumber = headings[at].isNumber;
    return make(isNumber ? `${tag}.number` : tag, tag === "th" ? { scope: "col" } : {}, value);
  };
  return make(
    "div.scroll",
    {},
    make(
      "table",
      {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...headings.map((each, at) => cell("th", each.text, at)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((value, at) => cell("td", value, at))))),
    ),
  );
}

const text = (name) => ({ text: name, isNumber: false });
const number = (name) => ({ text: name, isNumber: true });

/** Return the hosts as a list of work: what share was dropped, and where a person should look. */
function hostTable(data, pairs, marks, openHost) {
  const flagged = new Map();
  for (let row = 0; row < pairs.size; row++) {
    if (pairs.columns.is_flagged[row]) {
      const host = pairs.value("host", row);
      flagged.set(host, (flagged.get(host) ?? 0) + 1);
    }
  }
  const isOver = new Set(data.over_limit.filter((each) => each.kind === "host").map((each) => each.name));
  const rows = data.hosts.map(([host, kept, unchanged, exact, near]) => {
    const dropped = exact + near;
    const share = dropped / (kept + unchanged + dropped);
    const why = [];
    if (isOver.has(host)) why.push("nearly all was dropped");
    if (flagged.get(host)) why.push(`${whole(flagged.get(host))} flagged`);
    const name = make("button.link", { type: "button" }, make("bdi", { dir: "ltr" }, visible(host) || "(none)"));
    name.addEventListener("click", () => openHost(host));
    const meter = make("meter", { min: 0, max: 1, value: share, "aria-hidden": "true" });
    return [name, whole(kept), whole(unchanged), whole(exact), whole(near), make("span.share", {}, meter, `${Math.round(share * 100)}%`), why.length ? make("strong.review", {}, why.join(", ")) : make("span.muted", {}, "none flagged"), dropped ? groupButtons(marks, () => pairs.ofHost(host), `all duplicates of ${visible(host)}`) : ""];
  });
  const rest = data.host_count - data.hosts.length;
  return make(
    "div",
    {},
    tableOf("Hosts, those with the most dropped pages first", [text("Host"), number("Kept"), number("Unchanged"), number("Exact"), number("Near"), number("Dropped"), text(""), text("Mark all as")], rows),
    rest > 0 ? make("p.note", {}, `and ${counted(rest, "more host")}, which are not in this page`) : null,
  );
}

/** Return the rules by which addresses lead to copies, each with its examples. */
function ruleTable(data) {
  const address = (shown) => make("bdi", { dir: "ltr" }, visible(shown));
  const rows = data.address_rules.map(([site, rule, where, pairs, notIn, examples]) => [
    address(site),
    make("div", {}, address(rule), ...examples.map(([copy, original]) => make("div.muted", {}, address(copy), " = ", address(original)))),
    address(where),
    pairs,
    notIn && address(notIn),
  ]);
  return tableOf("Addresses of a site that lead to copies, learnt from all runs; not where pages contradict it", [text("Site"), text("Addresses are the same"), text("In"), number("Pairs"), text("Not in")], rows);
}

/** Return what the run went over, did not examine or skipped. */
function notedTables(data) {
  const parts = [];
  if (data.over_limit.length) {
    const rows = data.over_limit.map((each) => [each.kind, make("bdi", {}, visible(each.name)), whole(each.documents), whole(each.duplicates)]);
    parts.push(tableOf("Over a limit: traps, or pages that are no copies", [text("What"), text("Name"), number("Documents"), number("Duplicates")], rows));
  }
  if (data.not_examined.length) {
    const rows = data.not_examined.map((each) => [whole(each.count), visible(each.item_class) || "dict", visible(each.reason), visible(each.fields), each.setting]);
    parts.push(tableOf("Items that were not examined", [number("Items"), text("Class"), text("Why"), text("It has"), text("Set")], rows));
  }
  const { seen, kept, dropped, skipped: left } = data.counts;
  const skipped = [...Object.entries(data.skip_counts), ...Object.entries(data.not_fetched)];
  if (skipped.length) {
    parts.push(make("p", {}, `${whole(seen)} seen: ${whole(kept)} kept, ${whole(dropped)} dropped, ${whole(left)} skipped`));
    const of = (title, counts) => tableOf(title, [text("Why"), number("Pages")], Object.entries(counts).map(([why, count]) => [visible(why), whole(count)]));
    if (left) parts.push(of("Skipped pages", data.skip_counts));
    if (Object.keys(data.not_fetched).length) parts.push(of("Pages that were not asked for", data.not_fetched));
    const total = skipped.reduce((sum, [, count]) => sum + count, 0);
    const rows = data.skipped.map(([key, why, detail, referrer]) => [make("bdi", {}, visible(key)), visible(detail ? `${why} (${detail})` : why), make("bdi", {}, visible(referrer))]);
    parts.push(make("details", {}, make("summary", {}, `Which they are${total > rows.length ? `: the first ${whole(rows.length)}` : ""}`), tableOf("", [text("Page"), text("Why"), text("Linked from")], rows)));
  }
  return make("div", {}, ...parts);
}

/** Return the buttons that say something of a whole group at once. */
function groupButtons(marks, rowsOf, what) {
  return markButtons(marks, rowsOf, what, () => {});
}

/** Return one row of the list of clusters. */
function clusterRow(pairs, marks, cluster) {
  const flagged = cluster.flagged ? make("strong.review", {}, `${whole(cluster.flagged)} flagged`) : null;
  return make(
    "article.row",
    { "aria-label": counted(cluster.size, "duplicate"), "data-said": marks.ofAll(cluster.rows) },
    make("div.figures", {}, make("strong", {}, whole(cluster.size)), make("span", {}, cluster.size === 1 ? "duplicate" : "duplicates")),
    make("div.texts", {}, make("div.line", {}, opener(titleOf(cluster.title), addressOf(pairs.shown(cluster.original)))), make("div.line.muted", {}, `at least ${percentOf(cluster.least, cluster.least >= 1)} alike`, flagged)),
    groupButtons(marks, () => cluster.rows, "the whole cluster"),
  );
}
