/** Shows only lines of a log that hold a text, which a form asks for. */
import { action } from "./frame/action.ts";
import type { Form } from "./frame/controls.ts";

export const logsGrep = action({
  name: "logs-grep",
  parts: {},
  right: "press",
  first: "form",
  isOfSession: true,
  run: async (_, press) => press.open(grepForm()),
  submit: async (_, filled, { threadId }, { vm }) => {
    const text = filled("text");
    await vm.thread(threadId).setView({ grep: text === "" ? null : text });
  },
});

function grepForm(): Form {
  return {
    id: logsGrep.findId({}) ?? "",
    title: "Only lines that hold…",
    fields: [
      {
        id: "text",
        label: "Text",
        description: "As it is written there; capitals count. Nothing: all lines",
        hint: "ERROR",
      },
    ],
  };
}
