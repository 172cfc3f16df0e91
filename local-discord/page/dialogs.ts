/** Questions and forms on top of the page. */
import { el } from "./dom.js";

/** Resolves to whether the person said yes. */
export function confirmDialog(title, text, yes) {
  return open((dialog, close) => {
    dialog.append(
      el("h2", {}, title),
      el("p", {}, text),
      el(
        "div",
        { class: "dialog-buttons" },
        el("button", { type: "button", class: "button plain", onclick: () => close(false) }, "Cancel"),
        el("button", { type: "button", class: "button danger", onclick: () => close(true) }, yes),
      ),
    );
  }, false);
}

/** A bot's form; resolves to the values by custom_id, or to undefined when it was closed. */
export function formDialog({ title, inputs }) {
  return open((dialog, close) => {
    const fields = inputs.map((input) => {
      const control = el(input.isLong ? "textarea" : "input", {
        id: `form-${input.customId}`,
        required: input.isRequired,
        maxlength: "4000",
        rows: input.isLong ? "4" : undefined,
        value: input.value,
      });
      return { input, control };
    });
    const form = el(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          close(Object.fromEntries(fields.map(({ input, control }) => [input.customId, control.value])));
        },
      },
      el("h2", {}, title),
      fields.map(({ input, control }) =>
        el("label", { class: "form-row", for: control.id }, input.label, input.isRequired && " *", control),
      ),
      el(
        "div",
        { class: "dialog-buttons" },
        el("button", { type: "button", class: "button plain", onclick: () => close(undefined) }, "Cancel"),
        el("button", { type: "submit", class: "button primary" }, "Send"),
      ),
    );
    dialog.append(form);
  }, undefined);
}

function open(fill, dismissed) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { class: "dialog" });
    let result = dismissed;
    fill(dialog, (value) => {
      result = value;
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
