/** The real program makes a long conversation shorter unasked: the first request after it has what is open. */
import { expect, test } from "vitest";
import { bash, says } from "../support/agent-threads.ts";
import { until } from "../support/wait.ts";
import { timesIn } from "./model.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();
/** More than its program lets a context of 100,000 tokens grow to. */
const FULL = 90_000;
const isSummary = (request: (typeof real.model.requests)[number]) =>
  timesIn(request, "create a detailed summary") > 0;

test("who has no answer yet is named in the first request after it, and once", async () => {
  const thread = real.open({
    agent: {
      ...{ voice: "message", permissionMode: "bypassPermissions" },
      params: { maxInputTokens: 100_000 },
    },
    timeouts: { idleSeconds: 60 },
  });
  const done = { text: "Well." };
  for (let turn = 1; turn <= 4; turn++) {
    thread.write(says(`earlier ${turn}`, { ...done, inputTokens: 100 }));
    if (turn === 1) thread.start();
    await thread.event("turn_end", turn);
  }
  const alice = { handle: "discord:#ops/alice", channelId: "300000000000000001" };
  const full = { tools: [bash("true")], inputTokens: FULL };
  thread.write(says("Any news?", full, { ...done, inputTokens: 100 }), alice);
  await until("the compaction", () =>
    thread.of("compaction_update").some(({ status }) => status === "completed"),
  );
  await thread.event("turn_end", 5);
  const { requests } = real.model;
  const at = requests.findLastIndex(isSummary);
  const first = requests.slice(at + 1).find(({ tools }) => tools?.length);
  expect(first && timesIn(first, "- discord:#ops/alice of ")).toBe(1);
  const last = requests.filter(({ tools }) => tools?.length).at(-1);
  expect(last && timesIn(last, "your conversation was shortened")).toBe(1);
  expect(thread.of("memory_told")).toHaveLength(1);
});
