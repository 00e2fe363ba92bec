"use strict";

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
