/** Shows the person an agent's newest steps. */
import { action } from "./frame/action.ts";
import { stepsPage } from "./steps.ts";
import { END } from "./steps-file.ts";

export const history = action({
  name: "history",
  parts: {},
  right: "read",
  first: "private reply",
  isOfSession: true,
  run: async (_, press, { vm, now }) =>
    press.show(await stepsPage(vm.thread(press.threadId), { beforeSeq: END }, now())),
});
