"use strict";

/** A dialog that shows one item of a list, and steps to the others. */
class RowDialog {
  /**
   * @param {HTMLDialogElement} dialog the element
   * @param {string} name what an item is called in the heading
   */
  constructor(dialog, name) {
    this.dialog = dialog;
    this.name = name;
    this.keys = {};
    dialog.addEventListener("keydown", (event) => this.press(event));
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => this.list.focus(this.place));
  }

  open(list, place) {
    this.list = list;
    this.place = place;
    this.dialog.replaceChildren(this.head(place, list.items), ...this.content(list.items[place]));
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
    this.dialog.querySelector("h2").focus();
  }

  press(event) {
    const actions = { ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), ...this.keys };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  step(by) {
    const place = this.place + by;
    if (place >= 0 && place < this.list.items.length) this.open(this.list, place);
  }

  title(place, items) {
    return `${this.name} ${whole(place + 1)} of ${whole(items.length)}`;
  }

  head(place, items) {
    const button = (text, label, act, isOff) => {
      const element = make("button.quiet", { type: "button", "aria-label": label, ...(isOff ? { disabled: "" } : {}) }, text);
      element.addEventListener("click", act);
      return element;
    };
    return make(
      "header",
      {},
      make("h2", { id: "pair-title", tabindex: "-1" }, this.title(place, items)),
      button("←", "The one before", () => this.step(-1), place === 0),
      button("→", "The next one", () => this.step(1), place === items.length - 1),
      button("✕", "Close", () => this.dialog.close(), false),
    );
  }
}
