/** Types text that a person enters in a form into a browser's page. */
import { readNumber } from "./browser-click.ts";
import { action } from "./frame/action.ts";
import type { Form } from "./frame/controls.ts";
import { whole } from "./frame/parts.ts";

export const browserType = action({
  name: "browser-type",
  parts: { picture: whole },
  right: "type",
  first: "form",
  isOfSession: true,
  run: async ({ picture }, press) => press.open(typeForm(picture)),
  submit: async ({ picture }, filled, { threadId }, { vm }) => {
    const number = readNumber(filled("number"));
    const text = filled("text");
    const place = number === undefined ? {} : { number, picture };
    await vm.thread(threadId).browser.act({ do: "type", text, ...place });
  },
});

function typeForm(picture: number): Form {
  return {
    id: browserType.findId({ picture }) ?? "",
    title: "Type",
    fields: [
      {
        id: "text",
        label: "Text",
        description: "It takes the place of what stands there",
        hint: "red shoes",
      },
      { id: "number", label: "Number", description: "Of the field; nothing: where the cursor is", hint: "3" },
    ],
  };
}
