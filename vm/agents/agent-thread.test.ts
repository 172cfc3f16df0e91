import { appendFileSync } from "node:fs";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EventBody } from "../../shared/agent/events.ts";
import { emptyFold } from "../../shared/agent/fold.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { OWNER } from "../../shared/principal.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { openStore, type Store } from "../store/store.ts";
import { AgentThread } from "./agent-thread.ts";
import { Projection } from "./projection.ts";

let folder: ReturnType<typeof makeFolder>;
let store: Store;
let seq: number;

beforeEach(() => {
  folder = makeFolder();
  store = openStore(":memory:");
  seq = 0;
  const command = { dir: ".", path: "/r", command: "go", title: "t", cols: 80, rows: 24, marker: "M=1" };
  store.threads.insert({
    threadId: aThreadId("a"),
    type: "agent",
    createdBy: OWNER,
    createdAt: 5,
    ...command,
  });
  store.agents.insert({ threadId: aThreadId("a"), number: 1, status: "idle", fold: emptyFold() });
});

afterEach(() => {
  store.close();
  folder.remove();
});

function write(body: EventBody): void {
  const line = { ...body, seq: ++seq, id: `r${seq}.0`, ts: new Date(seq).toISOString() };
  appendFileSync(threadPath(folder.path, "transcript"), `${JSON.stringify(line)}\n`);
}

/** As a sidecar that has just started holds it. */
function open(): AgentThread {
  const { fold, transcriptBytes } = store.agents.find(aThreadId("a")) ?? {
    fold: emptyFold(),
    transcriptBytes: 0,
  };
  const log = pino({ level: "silent" });
  const projection = new Projection(store);
  return new AgentThread({
    threadId: aThreadId("a"),
    folder: folder.path,
    fold,
    transcriptBytes,
    projection,
    log,
  });
}

test("an ask keeps its call, though the sidecar was killed between the two", () => {
  write({ type: "turn_start", turnId: "t1", cause: "message", deliveryIds: [] });
  write({
    type: "tool_call",
    toolCallId: "c1",
    at: "u",
    name: "Bash",
    title: "Bash rm -r build",
    kind: "execute",
    rawInput: { command: "rm -r build" },
  });
  open().refresh();
  write({
    type: "permission_request",
    requestId: "q1",
    toolCallId: "c1",
    toolName: "Bash",
    callKey: "k",
    title: "Bash rm -r build",
    input: "{}",
    options: [],
  });
  open().refresh();
  expect(store.asks.find(aThreadId("a"), "q1")?.ask.call).toMatchObject({
    rawInput: { command: "rm -r build" },
  });
});
