/** Says below a person's message that its reader has it. */
import type { DiscordId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Content } from "../content/content.ts";
import type { DiscordApi } from "../discord/api.ts";
import type { Budget } from "../discord/budget.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { Step } from "./pump.ts";

const RECEIPT = "👀";

export interface ReceiptOptions {
  threadId: DiscordId;
  /** The thread's channel, where what it was told may have been written too. */
  parentId?: DiscordId | undefined;
  content: Pick<Content<never>, "receipt" | "receipted">;
  api: DiscordApi;
  budget: Budget;
  log: Log;
}

/** A reaction is no message: while messages wait for the request budget there is none. */
export function nextReceipt({
  content,
  budget,
  api,
  threadId,
  parentId,
  log,
}: ReceiptOptions): Step | undefined {
  const messageId = content.receipt?.();
  if (messageId === undefined) return undefined;
  if (budget.isBusy()) return void content.receipted?.(messageId);
  const onError = (err: unknown) => log.debug({ err }, "could not give a receipt; nothing is lost");
  const run = async () => {
    try {
      await api.react(threadId, messageId, RECEIPT);
    } catch (error) {
      if (parentId === undefined || findRefusal(error) !== "unknown message") return onError(error);
      await api.react(parentId, messageId, RECEIPT).catch(onError);
    }
  };
  return { at: 0, run: () => run().finally(() => content.receipted?.(messageId)) };
}
