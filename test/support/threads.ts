/** What most tests do with threads. */
import type { CreateRequest, OutputReply } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { untilValue } from "./wait.ts";

/** Opens a terminal in `REPOS_DIR` itself. */
export async function openTerminal(
  client: SidecarClient,
  threadId: string,
  command: string,
  more: Partial<CreateRequest> = {},
): Promise<string> {
  const { tmuxSession } = await client.createThread({
    threadId,
    type: "terminal",
    dir: ".",
    command,
    ...more,
  });
  return tmuxSession;
}

/** Everything in the log, read page by page as the relay does. */
export async function readAll(client: SidecarClient, threadId: string): Promise<OutputReply> {
  let output = "";
  let reply = await client.readOutput(threadId);
  for (;;) {
    output += reply.output;
    if (!reply.more) return { ...reply, output };
    reply = await client.readOutput(threadId, { since: reply.offset });
  }
}

/** Waits until the log holds `text`; returns all of the log. */
export async function untilOutput(
  client: SidecarClient,
  threadId: string,
  text: string,
  timeoutMs = 25_000,
): Promise<string> {
  const read = async () => (await readAll(client, threadId)).output;
  return untilValue(`${JSON.stringify(text)} in thread ${threadId}`, read, (all) => all.includes(text), {
    timeoutMs,
  });
}

/** Waits until the process has ended; returns its log and how it ended. */
export async function untilEnded(
  client: SidecarClient,
  threadId: string,
  timeoutMs = 25_000,
): Promise<OutputReply> {
  const deadline = Date.now() + timeoutMs;
  let reply = await client.readOutput(threadId);
  while (reply.processRunning) {
    const waitMs = deadline - Date.now();
    if (waitMs <= 0) throw new Error(`waited ${timeoutMs} ms for thread ${threadId} to end`);
    const since = reply.offset;
    reply = await client.readOutput(threadId, { since, waitMs: Math.min(waitMs, 5_000), status: "running" });
  }
  return readAll(client, threadId);
}

/** The error that a rejected call brought; fails where it was not rejected. */
export async function refusal(call: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await call;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
  throw new Error("the call was expected to be refused");
}
