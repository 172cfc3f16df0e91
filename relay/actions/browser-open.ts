/** Opens an address in a browser that a person enters in a form. */
import { action } from "./frame/action.ts";
import type { Form } from "./frame/controls.ts";

export const browserOpen = action({
  name: "browser-open",
  parts: {},
  right: "type",
  first: "form",
  isOfSession: true,
  run: async (_, press) => press.open(openForm()),
  submit: async (_, filled, { threadId }, { vm }) => {
    await vm.thread(threadId).browser.act({ do: "open", url: filled("url") });
  },
});

function openForm(): Form {
  return {
    id: browserOpen.findId({}) ?? "",
    title: "Go to",
    fields: [{ id: "url", label: "Address", description: "Of a web page", hint: "example.org" }],
  };
}
