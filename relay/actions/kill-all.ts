/** Ends the threads of a kind that the person saw on the list; `/thread kill-all` asks. */
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { KINDS } from "../../shared/kinds.ts";
import { fitLines } from "../content/lists/lines.ts";
import { errorSentence } from "../content/texts.ts";
import type { Thread } from "../sidecar/names.ts";
import { action } from "./frame/action.ts";
import { oneOf, whole } from "./frame/parts.ts";

/** The kind that is meant, or all. */
export const WHICH = [...Object.keys(KINDS), "all"];

/** `before`: nobody has seen what began later on the list, so it is left alone. In milliseconds since 1970. */
export const killAll = action({
  name: "kill-all",
  parts: { which: oneOf(WHICH), before: whole },
  right: "press",
  first: "update",
  run: async ({ which, before }, press, { vm, threads, endings, log }) => {
    const found = killable(await vm.listThreads(), which, before);
    await press.show({ content: `⏳ Ending ${counted(found.length)}…`, buttons: [] });
    const results = await Promise.allSettled(
      found.map(({ threadId }) => {
        const live = threads.find(threadId);
        return live ? endings.killAndTell(live.threadId, press.userId) : vm.thread(threadId).kill();
      }),
    );
    const failed = results.flatMap((result, i) => {
      if (result.status === "fulfilled" || isEndedAlready(result.reason)) return [];
      const threadId = found[i]?.threadId;
      log.error({ threadId, err: result.reason }, "could not end a thread");
      return [`<#${threadId}> could not be ended: ${errorSentence(result.reason)}`];
    });
    await press.show({ content: fitLines(`⏹ Ended ${counted(found.length - failed.length)}.`, failed) });
  },
});

export function killable(threads: readonly Thread[], which: string, before: number): Thread[] {
  return threads.filter(
    ({ type, status, createdAt }) =>
      (which === "all" || which === type) && isOpen(status) && Date.parse(createdAt) <= before,
  );
}

function counted(count: number): string {
  return count === 1 ? "one thread" : `${count} threads`;
}

function isEndedAlready(error: unknown): boolean {
  return error instanceof AppError && error.code === "thread_ended";
}
