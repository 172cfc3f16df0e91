/** Clicks the element of a browser's picture whose number a person enters in a form. */
import { AppError } from "../../shared/errors.ts";
import { action } from "./frame/action.ts";
import type { Form } from "./frame/controls.ts";
import { whole } from "./frame/parts.ts";

export const browserClick = action({
  name: "browser-click",
  /** The number of the picture that the person sees; in a later picture an element may have another number. */
  parts: { picture: whole },
  right: "type",
  first: "form",
  isOfSession: true,
  run: async ({ picture }, press) => press.open(clickForm(picture)),
  submit: async ({ picture }, filled, { threadId }, { vm }) => {
    const number = readNumber(filled("number"));
    if (number === undefined) throw new AppError("invalid_request", "number: must not be empty.");
    await vm.thread(threadId).browser.act({ do: "click", number, picture });
  },
});

/** @returns undefined if nothing was written @throws AppError `invalid_request` */
export function readNumber(text: string): number | undefined {
  if (text === "") return undefined;
  const digits = /^#?(\d{1,4})$/.exec(text)?.[1];
  if (digits !== undefined) return Number(digits);
  throw new AppError(
    "invalid_request",
    `number: must be a number of the picture, such as 7, not ${JSON.stringify(text.slice(0, 40))}.`,
  );
}

function clickForm(picture: number): Form {
  return {
    id: browserClick.findId({ picture }) ?? "",
    title: "Click",
    fields: [{ id: "number", label: "Number", description: "It stands on the picture", hint: "7" }],
  };
}
