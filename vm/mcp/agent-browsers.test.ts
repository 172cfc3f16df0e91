/** An agent's browser that nobody uses is ended; those that are used, and people's own, go on. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import { OWNER, type Principal, threadPrincipal } from "../../shared/principal.ts";
import { AgentBrowsers, type AgentBrowsersOptions } from "./agent-browsers.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const HOUR_MS = 3_600_000;
const thread = (threadId: string, createdBy: Principal) => ({
  threadId: knownThreadId.parse(threadId),
  createdBy,
  isMade: true,
});

test("half an hour without use, and one whose agent is gone at once", async () => {
  const killed: ThreadId[] = [];
  const usedAt: Record<string, number> = { old: 0, used: HOUR_MS - 60_000, left: HOUR_MS, ours: 0 };
  const browsers = new AgentBrowsers({
    store: {
      threads: {
        list: () => [
          thread("old", threadPrincipal("a")),
          thread("used", threadPrincipal("b")),
          thread("ours", OWNER),
          thread("left", threadPrincipal("gone")),
          thread("child", threadPrincipal("a")),
        ],
        find: (threadId: ThreadId) => (threadId === "gone" ? undefined : { status: "idle" }),
      },
    },
    browserFolders: {
      has: (threadId: ThreadId) => threadId in usedAt,
      changedAt: (threadId: ThreadId) => usedAt[threadId],
    },
    kill: async (threadId: ThreadId) => killed.push(threadId),
    log: { info() {}, warn() {} },
    now: () => HOUR_MS,
  } as unknown as AgentBrowsersOptions);
  expect(browsers.listOf([knownThreadId.parse("a"), knownThreadId.parse("b")])).toEqual(["old", "used"]);
  browsers.start();
  await vi.waitFor(() => expect(killed).toEqual(["old", "left"]));
  vi.advanceTimersByTime(60_000);
  await vi.waitFor(() => expect(killed).toEqual(["old", "left", "old", "left"]));
  browsers.close();
  vi.advanceTimersByTime(600_000);
  expect(killed).toHaveLength(4);
});
