"use strict";

/** Return the words of a place where two texts differ, those of one side marked. */
function passage(before, own, after, mark, side) {
  const parts = [visible(before), own ? make(mark, {}, visible(own)) : make("span.nothing", { "aria-label": "nothing" }, "∅"), visible(after)];
  return make("p.passage", { dir: "auto", "data-side": side }, "… ", ...parts.flatMap((part) => (part === "" ? [] : [part, " "])), "…");
}

/** Return as much of a text as leaves room for another one in the same line. */
function clipped(text) {
  const most = window.innerWidth < 640 ? 14 : 60;
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

const HAS_NUMBER = /\p{N}/u;
const FEW_WORDS = 6;

/** Say what kind of difference a place is, and how large. */
function kindOfPlace([, removed, added, , gone, come]) {
  if (!gone) return `+${counted(come, "word")}`;
  if (!come) return `−${counted(gone, "word")}`;
  if (Math.max(gone, come) > FEW_WORDS) return `${counted(gone, "word")}, now ${come}`;
  if (HAS_NUMBER.test(removed) && HAS_NUMBER.test(added)) return "another number";
  return gone === 1 && come === 1 ? "another word" : "other words";
}

/** Return the words that say most of how two texts differ, in one line: how many, what went and what came. */
function tellingDifference(found) {
  if (!found) return null;
  if (!found.places) return make("span.differs", {}, "the same words; only what stands between them differs");
  const place = found.shown[found.telling];
  const [before, removed, added, after] = place;
  return make(
    "span.differs",
    { dir: "auto" },
    make("strong", {}, `${kindOfPlace(place)}: `),
    before ? `… ${visible(before)} ` : "",
    removed ? make("del", {}, clipped(visible(removed))) : "",
    removed && added ? " → " : " ",
    added ? make("ins", {}, clipped(visible(added))) : "",
    after ? ` ${visible(after)} …` : "",
  );
}

/** Return all places where two texts differ, side by side. */
function differencesOf(found, nameBefore, nameAfter) {
  if (!found.places) return make("p.muted", {}, "Both have the same words; only what stands between them differs.");
  const rest = found.places - found.shown.length;
  const told = `${whole(found.removed)} in the ${nameBefore} page alone, ${whole(found.added)} in the ${nameAfter} page alone`;
  return make(
    "section.differences",
    {},
    make("h3", {}, `${counted(found.places, "place")} with other words: ${told}`),
    ...found.shown.map(([before, removed, added, after]) => make("div.sides", {}, passage(before, removed, after, "del", nameBefore), passage(before, added, after, "ins", nameAfter))),
    rest > 0 ? make("p.muted", {}, `and ${counted(rest, "more place")}, which are not in this page`) : null,
  );
}
