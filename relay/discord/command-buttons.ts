/** What people press below the answers to commands: pages of a history, the question before many threads end. */
import type { MessageComponentInteraction } from "discord.js";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { fitLines } from "../content/lists/lines.ts";
import { errorSentence } from "../texts.ts";
import type { CommandContext } from "./commands/command.ts";
import { makeFile, makePage } from "./commands/thread/history.ts";
import { KINDS, type Kinds, killable } from "./commands/thread/kill-all.ts";
import { asked, fingerprintOf, removedText } from "./commands/thread/worktree.ts";

export type CommandPressed =
  /** Another page of a history: the steps before or after an event. */
  | { kind: "steps"; threadId: string; from: { beforeSeq: number } | { afterSeq: number } }
  | { kind: "steps-file"; threadId: string }
  /** End the threads of a kind that had begun by then; in milliseconds since 1970. */
  | { kind: "kill-all"; which: Kinds; before: number }
  | { kind: "keep-all" }
  /** Remove an ended agent's worktree as it was shown: see {@link fingerprintOf}. */
  | { kind: "worktree-remove"; threadId: string; shown: string }
  | { kind: "worktree-keep" };

/** Undefined for a button of something else. */
export function parseCommandButton(customId: string): CommandPressed | undefined {
  const [kind, value = "", detail = ""] = customId.split(":");
  if (kind === "keep-all" || kind === "worktree-keep") return { kind };
  if (kind === "kill-all" && /^\d{1,15}$/.test(detail)) {
    const which = KINDS.find((name) => name === value);
    return which && { kind, which, before: Number(detail) };
  }
  if (!/^[\w-]{1,32}$/.test(value)) return undefined;
  if (kind === "worktree-remove")
    return /^[0-9a-f]{16}$/.test(detail) ? { kind, threadId: value, shown: detail } : undefined;
  if (kind === "steps-file") return { kind, threadId: value };
  if (kind !== "steps" || !/^[ab]\d{1,15}$/.test(detail)) return undefined;
  const seq = Number(detail.slice(1));
  return { kind, threadId: value, from: detail.startsWith("b") ? { beforeSeq: seq } : { afterSeq: seq } };
}

/** What the button means, done; it has been acknowledged. @throws AppError */
export async function pressCommandButton(
  interaction: MessageComponentInteraction,
  pressed: CommandPressed,
  context: CommandContext,
  log: Log,
): Promise<void> {
  const { vm, now } = context;
  switch (pressed.kind) {
    case "steps": {
      await interaction.editReply(await makePage(vm.thread(pressed.threadId), pressed.from, now()));
      return;
    }
    case "steps-file": {
      const thread = await vm.thread(pressed.threadId).get();
      await interaction.editReply(await makeFile(vm, thread, now()));
      return;
    }
    case "keep-all":
      await interaction.editReply({ content: "Nothing was ended.", components: [] });
      return;
    case "kill-all":
      return endAll(interaction, pressed, context, log);
    case "worktree-keep":
      await interaction.editReply({ content: "The worktree stays.", components: [] });
      return;
    case "worktree-remove":
      return removeWorktree(interaction, pressed, context);
    default:
      pressed satisfies never;
  }
}

/** If it holds other files by now than the person was shown, it is shown anew. */
async function removeWorktree(
  interaction: MessageComponentInteraction,
  { threadId, shown }: Extract<CommandPressed, { kind: "worktree-remove" }>,
  { vm }: CommandContext,
): Promise<void> {
  const thread = vm.thread(threadId);
  const found = await thread.getWorktree();
  if (fingerprintOf(found) !== shown) {
    await interaction.editReply(asked(await thread.get(), found));
    return;
  }
  const content = removedText(await thread.removeWorktree(found.fileCount > 0));
  await interaction.editReply({ content, components: [] });
}

async function endAll(
  interaction: MessageComponentInteraction,
  { which, before }: Extract<CommandPressed, { kind: "kill-all" }>,
  { vm, threads, endings }: CommandContext,
  log: Log,
): Promise<void> {
  const found = killable(await vm.listThreads(), which, before);
  const waiting = `⏳ Ending ${found.length === 1 ? "one thread" : `${found.length} threads`}…`;
  await interaction.editReply({ content: waiting, components: [] });
  const results = await Promise.allSettled(
    found.map(({ threadId }) =>
      threads.has(threadId) ? endings.killAndTell(threadId) : vm.thread(threadId).kill(),
    ),
  );
  const failed = results.flatMap((result, i) => {
    if (result.status === "fulfilled" || isEndedAlready(result.reason)) return [];
    const threadId = found[i]?.threadId;
    log.error({ threadId, err: result.reason }, "could not end a thread");
    return [`<#${threadId}> could not be ended: ${errorSentence(result.reason)}`];
  });
  const count = found.length - failed.length;
  const ended = `⏹ Ended ${count === 1 ? "one thread" : `${count} threads`}.`;
  await interaction.editReply(fitLines(ended, failed));
}

function isEndedAlready(error: unknown): boolean {
  return error instanceof AppError && error.code === "thread_ended";
}
