/** What must be true of an agent thread whatever was killed: its transcript, its rows, its effects. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type EventOf, parseEvent, type ThreadEvent } from "../../shared/agent/events.ts";
import { awaitingOf, emptyFold, foldEvents, statusOf } from "../../shared/agent/fold.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { Projection } from "../../vm/agents/projection.ts";
import { openStore, type Store } from "../../vm/store/store.ts";
import type { StoredThread } from "../../vm/store/threads.ts";
import { contextOf, countIn, folderOf, type SiegeReport } from "./agent-siege.ts";
import { aThreadId } from "./ids.ts";
import type { SpawnedSidecar } from "./sidecar.ts";

/** The transcript as it lies on the disk. */
export function eventsIn(folder: string): ThreadEvent[] {
  const text = readFileSync(threadPath(folder, "transcript"), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => parseEvent(line) ?? []);
}

/** What is wrong with a thread's conversation, a line each; nothing if all is well. */
export function findFaults(sidecar: SpawnedSidecar, threadId: string, report: SiegeReport): string[] {
  const events = eventsIn(folderOf(sidecar, threadId));
  const messages = report.messages.get(threadId) ?? [];
  const faults = [
    ...orderFaults(events),
    ...messageFaults(events, messages),
    ...contextFaults(contextOf(sidecar.folders.home, join(sidecar.reposDir, threadId)), messages),
    ...askFaults(events, report),
    ...effectFaults(join(sidecar.reposDir, threadId, "effects"), messages),
  ];

  return faults.map((fault) => `${threadId}: ${fault}`);
}

function of<T extends ThreadEvent["type"]>(events: readonly ThreadEvent[], type: T): EventOf<T>[] {
  return events.filter((event) => event.type === type) as EventOf<T>[];
}

function orderFaults(events: readonly ThreadEvent[]): string[] {
  const holes = events.filter(({ seq }, i) => seq !== i + 1).map(({ seq }) => `hole before seq ${seq}`);
  const ids = new Set(events.map(({ id }) => id));
  const turns = of(events, "turn_start").flatMap(({ turnId }) => {
    const ends = of(events, "turn_end").filter((end) => end.turnId === turnId).length;
    return ends === 1 ? [] : [`turn ${turnId} has ${ends} ends`];
  });
  return [...holes, ...(ids.size === events.length ? [] : ["an id twice"]), ...turns];
}

function messageFaults(events: readonly ThreadEvent[], messages: readonly string[]): string[] {
  return messages.flatMap((name) => {
    const ins = of(events, "user_message").filter(({ messageId }) => messageId === name).length;
    const outs = of(events, "delivery").filter(({ messageIds }) => messageIds.includes(name)).length;
    return ins === 1 && outs === 1 ? [] : [`${name} is ${ins} × in the transcript, in ${outs} deliveries`];
  });
}

function contextFaults(context: string, messages: readonly string[]): string[] {
  return messages.flatMap((name) => {
    const count = countIn(context, `please ${name}.`);
    const lines = context.split("\n").filter((line) => line.includes(`please ${name}.`));
    const told = lines.map((line) => line.slice(0, 400)).join("; ");
    return count === 1 ? [] : [`${name} is ${count} × in the model's context: ${told}`];
  });
}

/** Each ask has one end: an answer, a withdrawal, or an ask that stands for it. No two answers were confirmed. */
function askFaults(events: readonly ThreadEvent[], { confirmed }: SiegeReport): string[] {
  const requests = of(events, "permission_request");
  const responses = of(events, "permission_response");
  return requests.flatMap(({ requestId }) => {
    const ends = responses.filter((response) => response.requestId === requestId);
    const successors = requests.filter(({ replaces }) => replaces === requestId);
    const faults: string[] = [];
    if (ends.length > 1 || successors.length > 1 || ends.length + successors.length === 0)
      faults.push(`ask ${requestId} has ${ends.length} ends and ${successors.length} successors`);
    // Answered, and cut off before the engine had it: the call is asked for again, and the answer holds.
    const later = responses.find((response) => response.requestId === successors[0]?.requestId);
    if (ends[0] && later?.outcome === "selected" && later.optionId !== ends[0].optionId)
      faults.push(`ask ${requestId} was decided as ${ends[0].optionId}, then as ${later.optionId}`);
    const options = confirmed.get(requestId) ?? [];
    if (options.length > 1) faults.push(`ask ${requestId} was confirmed as ${options.join(" and ")}`);
    const [end] = ends;
    if (end?.outcome === "selected" && options.length === 1 && end.optionId !== options[0])
      faults.push(`ask ${requestId} was confirmed as ${options[0]} and decided as ${end.optionId}`);
    return faults;
  });
}

function effectFaults(file: string, messages: readonly string[]): string[] {
  const effects = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  return messages.flatMap((name) => {
    const count = effects.filter((effect) => effect === name).length;
    return count > 1 ? [`the effect of ${name} happened ${count} times`] : [];
  });
}

/** Where the rows of a thread differ from those that its transcript makes, as far as the sidecar has read it. */
export function findRowFaults({ stateDir }: { stateDir: string }, threadId: string): string[] {
  const store = openStore(join(stateDir, "threadmux.db"));
  const fresh = openStore(":memory:");
  try {
    const thread = store.threads.find(aThreadId(threadId));
    const agent = store.agents.find(aThreadId(threadId));
    if (!thread || !agent) return [`${threadId} has no row`];
    // An engine may end after the sidecar has: what it read last is what its rows must tell.
    const seen = agent.fold.seq;
    const events = eventsIn(folderOf({ stateDir }, threadId)).filter(({ seq }) => seq <= seen);
    const rebuilt = rebuild(fresh, thread, events);
    const fold = foldEvents(events);
    const pairs: [string, unknown, unknown][] = [
      ["fold", agent.fold, JSON.parse(JSON.stringify(fold))],
      ["status", agent.status, statusOf(fold)],
      ["awaiting", agent.awaiting, awaitingOf(fold)],
      ["turns", agent.turnCount, fold.turnCount],
      ["steps", stepsOf(store, threadId), stepsOf(fresh, threadId)],
      ["asks", asksOf(store, threadId, events), asksOf(rebuilt, threadId, events)],
    ];
    return pairs
      .filter(([, found, expected]) => !isDeepStrictEqual(found, expected))
      .map(
        ([what, found, expected]) => `${what}: ${JSON.stringify(found)} is not ${JSON.stringify(expected)}`,
      );
  } finally {
    store.close();
    fresh.close();
  }
}

/** In one go, one event after the other as they lie there. */
function rebuild(store: Store, thread: StoredThread, events: readonly ThreadEvent[]): Store {
  store.threads.insert(thread);
  store.agents.insert({ threadId: thread.threadId, number: 1, status: "idle", fold: emptyFold() });
  const placed = events.map((event, byte) => ({ event, byte, bytes: 1 }));
  new Projection(store).apply(thread.threadId, { fold: emptyFold(), events: placed, transcriptBytes: 0 });
  return store;
}

function stepsOf(store: Store, threadId: string) {
  return store.steps.list(aThreadId(threadId), { afterSeq: 0, limit: 1_000_000 });
}

function asksOf(store: Store, threadId: string, events: readonly ThreadEvent[]) {
  const requests = events.filter(
    (event) => event.type === "permission_request" || event.type === "elicitation_request",
  );
  return requests.map(({ requestId }) => store.asks.find(aThreadId(threadId), requestId));
}
