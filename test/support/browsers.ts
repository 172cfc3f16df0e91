/** Browser threads of tests: opened, used, waited for. */
import type { SentBrowserOp } from "../../shared/browser/ops.ts";
import type { BrowserState } from "../../shared/browser/state.ts";
import { browsers } from "../../shared/protocol/browsers.ts";
import type { TestSidecar } from "./sidecar.ts";
import { untilValue } from "./wait.ts";

/** Deadline for Chromium to start on a busy machine, in milliseconds. */
export const START_MS = 120_000;
const ANSWER_MS = 60_000;

export async function openBrowser(
  sidecar: TestSidecar,
  threadId: string,
  url: string,
): Promise<BrowserState> {
  await sidecar.client.createThread({ threadId, type: "browser", dir: ".", command: url });
  return untilState(
    sidecar,
    threadId,
    "its first page",
    ({ picture, status }) => picture > 0 || status === "failed",
  );
}

export function act(sidecar: TestSidecar, threadId: string, body: SentBrowserOp): Promise<BrowserState> {
  return sidecar.client.call(browsers.act, { id: threadId }, { body, timeoutMs: ANSWER_MS });
}

export function untilState(
  sidecar: TestSidecar,
  threadId: string,
  what: string,
  isMet: (state: BrowserState) => boolean,
): Promise<BrowserState> {
  const read = async () => {
    try {
      return await sidecar.client.call(browsers.get, { id: threadId });
    } catch {
      return undefined; // it is starting
    }
  };
  return untilValue(what, read, (state) => state !== undefined && isMet(state), {
    timeoutMs: START_MS,
  }) as Promise<BrowserState>;
}
