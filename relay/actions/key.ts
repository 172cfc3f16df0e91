/** Presses keys in the terminal, such as Ctrl-C. */
import { action } from "./frame/action.ts";
import { keyNames } from "./frame/parts.ts";

export const key = action({
  name: "key",
  parts: { keys: keyNames },
  right: "press",
  first: "update",
  run: async ({ keys }, { threadId, userId }, { threads, vm }) => {
    for (const name of keys) {
      const thread = threads.find(threadId);
      await (thread ? thread.pressKey(name, userId) : vm.thread(threadId).send({ key: name }));
    }
  },
});
