"use strict";

/** What could move, hide or turn round what stands beside it: control characters, marks of direction, separators. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Return a text of a stranger with nothing in it that cannot be seen. */
function visible(text) {
  return text.replace(INVISIBLE, "\ufffd");
}

/**
 * Make an element. What comes from documents stands in it as text, never as markup.
 * @param {string} tag its name, with classes behind dots: "p.about"
 * @param {Object} attributes by name; those that are null are left out
 * @param {...(Node|string|null)} children what stands in it
 */
function make(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  element.classList.add(...classes);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const whole = (number) => number.toLocaleString("en");
// Only what is the same is all the same: estimates may be 1.
const percentOf = (share, isSame) => `${isSame ? 100 : Math.min(99, Math.round(share * 100))}%`;
const momentOf = (seconds) => new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });

const ADDRESS = /^([a-z]+:\/\/)([^/?#]+)(.*)$/is;
const LINKED = /^https?:\/\//i;

/**
 * Return an address as text whose host gives way first where there is little room.
 * @param {string} text the address
 * @param {string} known the host that stands above it already
 */
function addressOf(text, known = "") {
  const shown = visible(text);
  const parts = ADDRESS.exec(shown);
  if (!parts) return make("bdi.address", { title: shown.slice(0, 500) }, make("span.path", {}, shown));
  return make("bdi.address", { title: shown.slice(0, 500), dir: "ltr" }, known === parts[2].toLowerCase() ? null : make("span.host", {}, parts[2]), make("span.path", {}, parts[3] || "/"));
}

/** Return the title of a page, or nothing where it has none. */
function titleOf(title) {
  return title ? make("bdi.title", { title: visible(title) }, visible(title)) : null;
}

/** Return an address that can be opened, if it is one of the web; a click is all that leads there. */
function linkOf(key, shown) {
  const content = make("bdi", { dir: "ltr" }, visible(shown));
  if (!LINKED.test(key)) return content;
  return make("a", { href: key, rel: "noopener noreferrer", target: "_blank" }, content);
}

/** Return the button by which a row is opened; those who see click anywhere in the row, or press Enter on it. */
function opener(...children) {
  return make("button.open", { type: "button", tabindex: "-1" }, ...children);
}

const byId = (id) => document.getElementById(id);

/** Unpack the data of the page: JSON, by gzip, in base64. */
async function readData(element) {
  const packed = atob(element.textContent.trim());
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  element.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Begin a page with its data, or say why there is none. */
function begin(start) {
  readData(byId("data")).then(
    (data) => {
      start(data);
      performance.mark("ready");
      document.documentElement.dataset.ready = "true";
    },
    (error) => {
      byId("trouble").hidden = false;
      byId("trouble").textContent = `The data of this page cannot be read (${error}). It takes a browser of 2023 or newer; else the file is not whole: write the report once more.`;
    },
  );
}
