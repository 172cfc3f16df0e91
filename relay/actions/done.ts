/** Ends what runs in the thread, as `/done` does. */
import { AppError } from "../../shared/errors.ts";
import { action } from "./frame/action.ts";

export const done = action({
  name: "done",
  parts: {},
  right: "press",
  first: "reply",
  run: async (_, press, { threads, endings }) => {
    if (!threads.has(press.threadId)) throw new AppError("thread_ended", "This thread is over already.");
    await endings.kill(press.threadId, press.userId, (content) => press.show({ content }));
  },
});
