import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { OutputsReply, OutputsRequest } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { createLog } from "../../shared/log.ts";
import type { LiveThread } from "../kinds/kind.ts";
import { RELAY_KINDS } from "../kinds/kinds.ts";
import { Poller, readInterval } from "./poller.ts";

const agent = { kind: RELAY_KINDS.agent, status: "running", paused: undefined } as const;
const terminal = { ...agent, kind: RELAY_KINDS.terminal } as const;

test("threads are read more often while an agent is at work, and never less often than asked for", () => {
  expect(readInterval(1_000, [terminal])).toBe(1_000);
  expect(readInterval(1_000, [terminal, agent])).toBe(600);
  expect(readInterval(250, [agent])).toBe(250);
  expect(readInterval(1_000, [{ ...agent, status: "idle" }])).toBe(1_000);
  expect(readInterval(1_000, [{ ...agent, paused: "the thread is locked" }])).toBe(1_000);
});

/** Threads that always have more to say, each of which takes a reply in its own time; a sidecar that takes 20 ms. */
function busyThreads(takeMs: readonly number[]) {
  const taken = new Map<string, number>();
  const threads = takeMs.map((ms, i) => {
    const threadId = String(i + 1);
    const delivery = { isAccepting: false, offset: 0 };
    const accept = async () => {
      delivery.isAccepting = true;
      await sleep(ms);
      delivery.isAccepting = false;
      delivery.offset += 1;
      taken.set(threadId, (taken.get(threadId) ?? 0) + 1);
      return true;
    };
    const find = ({ threads }: OutputsReply) => threads[threadId];
    const fields = {
      threadId,
      kind: RELAY_KINDS.terminal,
      source: "since",
      status: "running",
      paused: undefined,
    };
    return { ...fields, hasMore: false, delivery, find, accept } as unknown as LiveThread;
  });
  const requests: { waitMs: number; isGivenUp: boolean }[] = [];
  const readThreads = async (
    { since = {}, waitMs = 0 }: OutputsRequest,
    signal?: AbortSignal,
  ): Promise<OutputsReply> => {
    const request = { waitMs, isGivenUp: false };
    requests.push(request);
    await sleep(20);
    request.isGivenUp = signal?.aborted ?? false;
    signal?.throwIfAborted();
    const news = { output: "x", status: "running", more: true } as OutputsReply["threads"][string];
    return { threads: Object.fromEntries(Object.keys(since).map((id) => [id, news])), transcripts: {} };
  };
  const poller = new Poller({
    onBack: () => Promise.resolve(),
    speaker: { state: "", poke: () => undefined },
    vm: { readThreads },
    threads: {
      list: () => threads,
      find: (id) => threads.find(({ threadId }) => threadId === id),
      isBusy: () => false,
      onChanged: () => undefined,
      noteTitle: () => undefined,
    },
    endings: { closeVanished: async () => undefined, showAndArchive: async () => undefined },
    pollIntervalMs: 1_000,
    channels: { poke: () => undefined, state: "" },
    refreshChannels: () => Promise.resolve(),
    homes: { known: [], note: () => undefined },
    log: createLog("test", "silent"),
  });
  return { poller, taken, requests };
}

test("of many threads that all have more to say, one that is ready gives up no answer for the others", async () => {
  const { poller, taken, requests } = busyThreads([5, 15, 25, 35, 45, 400]);
  poller.start();
  await expect.poll(() => taken.get("6"), { interval: 5 }).toBeGreaterThan(1);
  await poller.close();
  const given = requests.slice(0, -1); // the last one ends with the poller
  expect(given.filter(({ waitMs, isGivenUp }) => waitMs === 0 && isGivenUp)).toEqual([]);
  expect(taken.get("1")).toBeGreaterThan(2);
});

test("a sidecar that was away is told again what it may have lost, until that works", async () => {
  const said: string[] = [];
  let reads = 0;
  const poller = new Poller({
    speaker: { state: "", poke: () => undefined },
    vm: {
      readThreads: async () => {
        reads += 1;
        await sleep(1);
        if (reads === 2) throw new AppError("unavailable", "It is away.");
        return { threads: {}, transcripts: {} };
      },
    },
    onBack: async () => {
      said.push(`after ${reads} reads`);
      if (said.length === 1) throw new AppError("unavailable", "It is away again.");
    },
    threads: {
      ...{ list: () => [], find: () => undefined, isBusy: () => false },
      ...{ onChanged: () => undefined, noteTitle: () => undefined },
    },
    endings: { closeVanished: async () => undefined, showAndArchive: async () => undefined },
    pollIntervalMs: 1,
    channels: { poke: () => undefined, state: "" },
    refreshChannels: () => Promise.resolve(),
    homes: { known: [], note: () => undefined },
    log: createLog("test", "silent"),
  });
  poller.start();
  await expect.poll(() => reads, { interval: 5 }).toBeGreaterThan(8);
  await poller.close();
  expect(said).toEqual(["after 3 reads", "after 4 reads"]);
});
