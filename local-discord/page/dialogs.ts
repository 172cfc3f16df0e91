/** Questions and forms on top of the page. */
import type { FormInput } from "../seen.ts";
import { el } from "./dom.ts";

/** Resolves to whether the person said yes. */
export function confirmDialog(title: string, text: string, yes: string): Promise<boolean> {
  return open<boolean>((dialog, close) => {
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

/** A form; resolves to the values by custom_id, or to undefined if it was closed. */
export function formDialog(form: {
  title: string;
  inputs: readonly FormInput[];
}): Promise<Record<string, string> | undefined> {
  return open<Record<string, string> | undefined>((dialog, close) => {
    const fields = form.inputs.map((input) => ({ input, control: drawField(input) }));
    dialog.append(
      el(
        "form",
        {
          onsubmit: (event: SubmitEvent) => {
            event.preventDefault();
            close(Object.fromEntries(fields.map(({ input, control }) => [input.customId, control.value])));
          },
        },
        el("h2", {}, form.title),
        fields.map(({ input, control }) =>
          el("label", { class: "form-row", for: control.id }, input.label, input.isRequired && " *", control),
        ),
        el(
          "div",
          { class: "dialog-buttons" },
          el("button", { type: "button", class: "button plain", onclick: () => close(undefined) }, "Cancel"),
          el("button", { type: "submit", class: "button primary" }, "Send"),
        ),
      ),
    );
  }, undefined);
}

/** One question with one line of text for an answer. */
export async function askDialog(
  title: string,
  field: { label: string; value: string; isLong?: boolean; maxLength: number },
): Promise<string | undefined> {
  const input: FormInput = {
    customId: "answer",
    label: field.label,
    isLong: field.isLong ?? false,
    isRequired: true,
    value: field.value,
    placeholder: "",
    minLength: 1,
    maxLength: field.maxLength,
  };
  return (await formDialog({ title, inputs: [input] }))?.["answer"];
}

function drawField(input: FormInput): HTMLInputElement | HTMLTextAreaElement {
  return el(input.isLong ? "textarea" : "input", {
    id: `form-${input.customId}`,
    required: input.isRequired,
    minlength: input.minLength,
    maxlength: input.maxLength,
    placeholder: input.placeholder === "" ? undefined : input.placeholder,
    rows: input.isLong ? 4 : undefined,
    value: input.value,
  });
}

function open<Result>(
  fill: (dialog: HTMLDialogElement, close: (result: Result) => void) => void,
  dismissed: Result,
): Promise<Result> {
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
