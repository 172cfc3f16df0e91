/** A browser's session over a Chromium that fails it: the contexts here are doubles of Playwright's. */
import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, CDPSession, Page } from "playwright-core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { until } from "../test/support/wait.ts";
import { Session } from "./session.ts";
import { Shown } from "./shown.ts";
import { Tab } from "./tab.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const ANSWERS: Readonly<Record<string, unknown>> = {
  "Page.getFrameTree": { frameTree: { frame: { id: "f" } } },
  "Page.createIsolatedWorld": { executionContextId: 1 },
  "Runtime.evaluate": { result: { value: { marks: [], top: 0, height: 0 } } },
  "Page.captureScreenshot": { data: PNG },
};

class FakePage extends EventEmitter {
  #url = "about:blank";
  url = () => this.#url;
  title = async () => "a page";
  mainFrame = () => undefined;
  waitForLoadState = async () => {};
  close = async () => {};
  async goto(url: string): Promise<void> {
    if (url.endsWith("refused")) throw new Error("page.goto: net::ERR_CONNECTION_REFUSED");
    if (url.endsWith("slow")) await new Promise((resolve) => setTimeout(resolve, 100));
    this.#url = url;
  }
}

type Send = (method: string) => Promise<unknown>;
const answers: Send = async (method) => ANSWERS[method] ?? {};

class FakeContext extends EventEmitter {
  readonly pages_: FakePage[] = [];
  isClosed = false;
  /** How many pages it gives before it fails. */
  readonly #pages: number;
  readonly #send: Send;

  constructor(pages: number, send: Send = answers) {
    super();
    this.#pages = pages;
    this.#send = send;
  }

  async newPage(): Promise<Page> {
    if (this.pages_.length >= this.#pages) throw new Error("Target closed");
    this.pages_.push(new FakePage());
    return this.pages_.at(-1) as unknown as Page;
  }
  newCDPSession = async () => ({ send: this.#send }) as unknown as CDPSession;
  pages = () => [];
  async close(): Promise<void> {
    this.isClosed = true;
    this.emit("close");
  }
}

const URL_ = "http://example.org/";
let folder: string;
let stop: AbortController;
/** The session's clock is so far ahead of the machine's, in milliseconds. */
let aheadMs = 0;
beforeEach(() => {
  aheadMs = 0;
  stop = new AbortController();
  folder = mkdtempSync(join(tmpdir(), "tmx-session-"));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

function begin(contexts: readonly FakeContext[]) {
  let started = 0;
  const shown = new Shown(folder, URL_, () => {}, Date.now);
  const session = new Session({
    spec: { url: URL_, program: "x", hosts: [], isSandboxed: false, maxMemoryBytes: 1e12 },
    ...{ folder, shown, env: {}, now: () => Date.now() + aheadMs },
    start: async () => {
      const context = contexts[started++];
      if (!context) throw new Error("Chromium does not start");
      return context as unknown as BrowserContext;
    },
  });
  return { session, shown, running: session.run(stop.signal) };
}
const isReady = (shown: Shown) => () => shown.state.status === "ready";
/** A download of the context's page that ends at once, without a file. */
const failDownload = (context: FakeContext, name: string) =>
  context.pages_[0]?.emit("download", {
    suggestedFilename: () => name,
    path: async () => {
      throw new Error("cut off");
    },
    delete: async () => {},
  });

test("a Chromium that gives no page is ended, and the next one takes its place", async () => {
  const contexts = [new FakeContext(0), new FakeContext(1)];
  const { shown, running } = begin(contexts);
  await until("the second Chromium's page", isReady(shown));
  expect(contexts.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  expect(shown.state.note).toContain("started anew");
  stop.abort();
  await running;
});

test("a page that is gone, and no other one to be had: Chromium is started anew", async () => {
  const contexts = [new FakeContext(1), new FakeContext(1)];
  const { session, shown, running } = begin(contexts);
  await until("the page", isReady(shown));
  contexts[0]?.pages_[0]?.emit("crash");
  await until("the second Chromium's page", () => contexts[1]?.pages_[0]?.url() === URL_);
  expect(contexts[0]?.isClosed).toBe(true);
  expect(await session.act({ do: "look" }, 5_000)).toMatchObject({ state: { status: "ready" } });
  stop.abort();
  await running;
});

test("a Chromium that never starts is tried twice, and the reason is told", async () => {
  await expect(begin([]).running).rejects.toThrow("Chromium does not start");
});

test("what was asked for, and failed after its caller had an answer, is told", async () => {
  const { session, shown, running } = begin([new FakeContext(1)]);
  await until("the page", isReady(shown));
  const opening = session.act({ do: "open", url: `${URL_}slow` }, 5_000);
  expect(await session.act({ do: "click", number: 7 }, 0)).toHaveProperty("state");
  await opening;
  await until("the answer", () => shown.state.note?.includes("was not done: number: ") ?? false);
  stop.abort();
  await running;
});

test("what happened to a download while its page's picture was taken is still told after the picture", async () => {
  let isHeld = false;
  let hasBegun = false;
  const context = new FakeContext(1, async (method) => {
    if (method === "Page.captureScreenshot" && isHeld) {
      hasBegun = true;
      await until("the picture to be wanted", () => !isHeld);
    }
    return answers(method);
  });
  const { session, shown, running } = begin([context]);
  await until("the page", isReady(shown));
  isHeld = true;
  const opening = session.act({ do: "open", url: `${URL_}file` }, 5_000);
  await until("the picture to be taken", () => hasBegun);
  failDownload(context, "report.csv");
  const isTold = () => shown.state.note?.includes("report.csv was not downloaded: cut off.") ?? false;
  await until("the download's end", isTold);
  isHeld = false;
  expect(await opening).toMatchObject({ state: { picture: 2 } });
  expect(isTold()).toBe(true);
  stop.abort();
  await running;
});

test("a page that does not come is told beside what was said before", async () => {
  const context = new FakeContext(1);
  const { session, shown, running } = begin([context]);
  await until("the page", isReady(shown));
  context.pages_[0]?.emit("filechooser");
  await session.act({ do: "open", url: `${URL_}refused` }, 5_000);
  expect(shown.state).toMatchObject({
    status: "failed",
    note: "The page did not come: it refuses connections. The page asked for a file; none can be given here.",
  });
  await session.act({ do: "look" }, 5_000);
  expect(shown.state.note).toBeNull();
  stop.abort();
  await running;
});

test("of two downloads that were refused both are told, at once and with the next picture, and the same once", async () => {
  const context = new FakeContext(1);
  const { session, shown, running } = begin([context]);
  await until("the page", isReady(shown));
  const both = "a.csv was not downloaded: cut off. b.csv was not downloaded: cut off.";
  for (const name of ["a.csv", "b.csv"]) {
    failDownload(context, name);
    await until("its end", () => shown.state.note?.includes(name) ?? false);
  }
  expect(shown.state.note).toBe(both);
  await session.act({ do: "look" }, 5_000);
  expect(shown.state.note).toBe(both);
  await session.act({ do: "look" }, 5_000);
  expect(shown.state.note).toBeNull();
  stop.abort();
  await running;
});

test("what a page that stands still was told of is not told again when it goes on", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const context = new FakeContext(1);
  const { session, shown, running } = begin([context]);
  await until("the page", isReady(shown));
  failDownload(context, "a.csv");
  await until("the first one's end", () => shown.state.note?.includes("a.csv") ?? false);
  aheadMs = 61_000;
  vi.advanceTimersByTime(3_000); // the page is told to stand still
  failDownload(context, "b.csv");
  await until("the second one's end", () => shown.state.note?.includes("b.csv") ?? false);
  expect(shown.state.note).toContain("a.csv");
  await session.act({ do: "look" }, 5_000);
  expect(shown.state.note).toBeNull();
  stop.abort();
  await running;
});

test("a page stands still only when it has answered, and goes on even if it had not", async () => {
  const sent: unknown[] = [];
  let answer = (_: "yes" | "no") => {};
  const context = new FakeContext(1, async (_method: string, ...[params]: { value?: boolean }[]) => {
    sent.push(params?.value);
    if (params?.value !== true) return {};
    return new Promise((resolve, reject) => {
      answer = (how) => (how === "yes" ? resolve({}) : reject(new Error("no")));
    });
  });
  const nobody = { onChange() {}, onNote() {}, onGone() {}, onDownload() {} };
  const tab = await Tab.open(context as unknown as BrowserContext, nobody);
  tab.freeze();
  answer("no");
  await until("that it runs on", () => tab.isAwake);
  tab.freeze();
  tab.freeze();
  await tab.thaw();
  answer("yes"); // too late
  expect(tab.isAwake).toBe(true);
  expect(sent).toEqual([true, true, false]);
});
