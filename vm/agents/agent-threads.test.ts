import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { emptyFold } from "../../shared/agent/fold.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { OWNER } from "../../shared/principal.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { until } from "../../test/support/wait.ts";
import { openStore, type Store } from "../store/store.ts";
import { AgentThreads } from "./agent-threads.ts";
import { AgentFolders } from "./folders.ts";
import { transcriptSize } from "./transcript.ts";

const TURNS = 8_000;

let root: ReturnType<typeof makeFolder>;
let store: Store;
let folders: AgentFolders;
let threads: AgentThreads;

beforeEach(() => {
  root = makeFolder();
  store = openStore(":memory:");
  folders = new AgentFolders(root.path);
  const command = { dir: ".", path: "/r", command: "go", title: "t", cols: 80, rows: 24, marker: "M=1" };
  const made = { createdBy: OWNER, createdAt: 5 };
  store.threads.insert({ threadId: aThreadId("a"), type: "agent", ...made, ...command });
  store.agents.insert({ threadId: aThreadId("a"), number: 1, status: "idle", fold: emptyFold() });
  mkdirSync(folders.of(aThreadId("a")));
  writeFileSync(threadPath(folders.of(aThreadId("a")), "config"), "{}");
  threads = reopen();
});

afterEach(() => {
  threads.close();
  store.close();
  root.remove();
});

/** As a sidecar that has just started has them. */
function reopen(): AgentThreads {
  const log = pino({ level: "silent" });
  const [onChange, onCaughtUp, onEvent] = [() => {}, () => {}, () => {}];
  return new AgentThreads({ store, folders, onChange, onCaughtUp, onEvent, log });
}

const TS = new Date(0).toISOString();

/** @param after so many events */
function writeAll(events: readonly object[], after = 0): void {
  const lines = events.map((event, i) => {
    const seq = after + i + 1;
    return `${JSON.stringify({ seq, id: `r${seq}.0`, ts: TS, ...event })}\n`;
  });
  appendFileSync(threadPath(folders.of(aThreadId("a")), "transcript"), lines.join(""));
}

function write(turns: number, after = 0): void {
  const events = Array.from({ length: turns }, (_, i) => {
    const turnId = `t${i}`;
    const start = { type: "turn_start", turnId, cause: "task", deliveryIds: [] };
    return [start, { type: "turn_end", turnId, stopReason: "end_turn", durationMs: 1 }];
  });
  writeAll(events.flat(), after);
}

const stored = () => store.agents.find(aThreadId("a"))?.transcriptBytes ?? 0;
const turns = () => store.steps.list(aThreadId("a"), { afterSeq: 0, limit: 100_000 }).length;

test("others are answered while a long transcript is read", async () => {
  write(TURNS);
  const server = createServer((_, response) => response.end("here")).listen(0, "127.0.0.1");
  try {
    await until("the server", () => server.listening);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    threads.refresh(aThreadId("a"));
    let answers = 0;
    while (stored() < transcriptSize(folders.of(aThreadId("a")))) {
      expect(await (await fetch(url)).text()).toBe("here");
      answers++;
    }
    expect(answers).toBeGreaterThan(3);
    expect(turns()).toBe(TURNS);
  } finally {
    server.close();
  }
});

test("while lost rows are made anew what was known is shown; a sidecar that dies meanwhile does it again", async () => {
  write(TURNS);
  await threads.catchUp(aThreadId("a"));
  const before = store.agents.find(aThreadId("a"));
  while (store.steps.removeSome(aThreadId("a"))) {}
  threads.close();

  threads = reopen();
  threads.refresh(aThreadId("a")); // begins, and is cut off
  threads.close();
  const { status, turnCount, transcriptBytes } = store.agents.find(aThreadId("a")) ?? {};
  expect({ status, turnCount, transcriptBytes }).toEqual({
    status: before?.status,
    turnCount: TURNS,
    transcriptBytes: transcriptSize(folders.of(aThreadId("a"))),
  });
  expect(turns()).toBeLessThan(TURNS);

  threads = reopen();
  await threads.catchUp(aThreadId("a"));
  expect(turns()).toBe(TURNS);
  expect(store.agents.find(aThreadId("a"))).toEqual(before);
});

test("while rows are made anew open asks can be answered; then each ask is as the transcript says", async () => {
  const ask = (requestId: string) => ({
    type: "permission_request",
    requestId,
    toolCallId: "c",
    toolName: "Bash",
    callKey: "k",
    title: requestId,
    input: "{}",
    options: [],
  });
  const answer = { type: "permission_response", requestId: "past", outcome: "selected", by: "owner" };
  writeAll([ask("past"), answer, ask("open"), ask("taken")]);
  write(TURNS, 4);
  await threads.catchUp(aThreadId("a"));
  const open = () => store.asks.listOpen().map(({ requestId }) => requestId);
  expect(open()).toEqual(["open", "taken"]);
  threads
    .get(aThreadId("a"))
    .append([{ ts: TS, op: "permission", requestId: "taken", optionId: "x", by: "owner" }]);
  store.asks.setState(aThreadId("a"), "taken", "answered");
  const stale = store.asks.find(aThreadId("a"), "past")?.ask;
  if (stale) for (const requestId of ["past", "stale"]) store.asks.put({ ...stale, requestId }, "ended");
  while (store.steps.removeSome(aThreadId("a"))) {}
  threads.close();

  threads = reopen();
  threads.refresh(aThreadId("a"));
  expect(turns()).toBeLessThan(TURNS);
  expect(open()).toEqual(["open"]);
  await threads.catchUp(aThreadId("a"));
  expect(turns()).toBe(TURNS + 3); // an ask is a step too
  const states = ["past", "open", "taken", "stale"].map((id) => store.asks.find(aThreadId("a"), id)?.state);
  expect(states).toEqual(["answered", "open", "answered", undefined]);
});

test("a look at a thread that is over keeps nothing of it in memory", () => {
  const open = threads.get(aThreadId("a"));
  expect(threads.look(aThreadId("a"), (thread) => thread)).toBe(open);
  store.agents.setStatus(aThreadId("a"), "killed");
  expect(threads.look(aThreadId("a"), ({ fold }) => fold)).toEqual(emptyFold());
  expect(threads.get(aThreadId("a"))).not.toBe(open);
});

test("half a line at the end is waited for without haste", async () => {
  write(3);
  appendFileSync(threadPath(folders.of(aThreadId("a")), "transcript"), '{"seq":7,"id":"r7.0"');
  await threads.catchUp(aThreadId("a"));
  expect(turns()).toBe(3);
  expect(stored()).toBeLessThan(transcriptSize(folders.of(aThreadId("a"))));
});
