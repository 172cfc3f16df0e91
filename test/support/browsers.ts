/** Browser threads of tests: opened, used, waited for, killed. */
import { join } from "node:path";
import Database from "better-sqlite3";
import type { SentBrowserOp } from "../../shared/browser/ops.ts";
import type { BrowserState } from "../../shared/browser/state.ts";
import { browsers } from "../../shared/protocol/browsers.ts";
import { USUAL_BROWSERS } from "../../vm/browser/settings.ts";
import { findProcessesOf } from "./processes.ts";
import { startSidecar, type TestSidecar } from "./sidecar.ts";
import { type Site, startSite } from "./site.ts";
import { untilValue } from "./wait.ts";

/** Deadline for Chromium to start on a busy machine, in milliseconds. */
export const START_MS = 120_000;
const ANSWER_MS = 60_000;

export interface Browsing {
  sidecar: TestSidecar;
  site: Site;
  close: () => Promise<void>;
}

/** Starts a site, and a sidecar whose browser thread `page` shows it. */
export async function startBrowsing(): Promise<Browsing> {
  const site = await startSite();
  const sidecar = await startSidecar({ browser: { ...USUAL_BROWSERS, hosts: [site.host] } });
  await openBrowser(sidecar, "page", site.at("/"));
  const close = async () => {
    await sidecar.close();
    await site.close();
  };
  return { sidecar, site, close };
}

type Served = Pick<TestSidecar, "client">;

export async function openBrowser(sidecar: Served, threadId: string, url: string): Promise<BrowserState> {
  await sidecar.client.createThread({ threadId, type: "browser", dir: ".", command: url });
  return untilState(
    sidecar,
    threadId,
    "its first page",
    ({ picture, status }) => picture > 0 || status === "failed",
  );
}

export function act(sidecar: Served, threadId: string, body: SentBrowserOp): Promise<BrowserState> {
  return sidecar.client.call(browsers.act, { id: threadId }, { body, timeoutMs: ANSWER_MS });
}

export function untilState(
  sidecar: Served,
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

const PARTS = {
  chromium: (command: string) => /chrom/.test(command) && !/--type=|browser\/main/.test(command),
  page: (command: string) => command.includes("--type=renderer"),
  program: (command: string) => command.includes("browser/main.cjs") && !command.startsWith("/bin/sh"),
  any: (command: string) => /--type=|chromium|browser\/main/.test(command),
} as const;

/** The processes of all browsers of a sidecar: the main one of each Chromium, the pages', our programs, or all. */
export function browserPids({ folders }: Pick<TestSidecar, "folders">, part: keyof typeof PARTS): number[] {
  return findProcessesOf(folders.path).flatMap(({ pid, command }) => (PARTS[part](command) ? [pid] : []));
}

/** Ids of inputs that were begun and have no answer. */
export function inputsOnTheirWay({ stateDir }: Pick<TestSidecar, "stateDir">): string[] {
  const database = new Database(join(stateDir, "threadmux.db"), { readonly: true });
  try {
    return database.prepare("SELECT input_id FROM inputs WHERE is_sent = 0").pluck().all() as string[];
  } finally {
    database.close();
  }
}
