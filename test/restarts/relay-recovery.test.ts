/** A start, and a new connection to the gateway: Discord's trouble with one thread, or with the commands, holds up no other thread. */
import { expect, test } from "vitest";
import type { Fault, FaultRequest } from "../../local-discord/faults.ts";
import { inFull } from "../support/faults.ts";
import { shutBucket } from "../support/limits.ts";
import { startProxy } from "../support/proxy.ts";
import { type Everything, startForTest } from "../support/relay.ts";
import { openTerminal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const HOUR_MS = 3_600_000;
const CLOSED_MS = 25_000;
/** A thread that is not held up shows a new line within this; held up by another's trouble it needs CLOSED_MS. */
const SOON_MS = 12_000;

async function showsLine(all: Everything, threadId: string, line: string): Promise<void> {
  await all.sidecar.client.sendInput(threadId, { text: line });
  await all.untilShown(threadId, `${line}\n${line}`, SOON_MS);
}

/** Two terminals that Discord has archived, after a day in which nothing happened, and no relay. */
async function startArchived(context: Parameters<typeof startForTest>[0]) {
  let skewMs = 0;
  const all = await startForTest(context, { now: () => Date.now() + skewMs });
  const { driver } = all.discord;
  const [troubled, other] = [await all.openTerminal("cat"), await all.openTerminal("cat")];
  await showsLine(all, other, "before");
  await all.stopRelay();
  skewMs = 25 * HOUR_MS;
  driver.tick();
  expect(driver.threads({ archived: true })).toHaveLength(2);
  return { all, driver, troubled, other };
}

const refused = (status: number, code: number, message: string): Fault => ({
  kind: "status",
  status,
  body: { code, message },
});

const isLookUp = ({ method, path }: FaultRequest, threadId: string) =>
  method === "GET" && (path.endsWith(`/channels/${threadId}`) || path.endsWith("/archived/public"));

// Promise: R23
test.concurrent.for([
  ["can't be looked up", "GET", { kind: "status", status: 503 }],
  ["is out of sight", "GET", refused(403, 50001, "Missing Access")],
  ["may not come back", "PATCH", refused(400, 160006, "Maximum number of active threads reached")],
  ["may come back later", "PATCH", { kind: "rate-limit", scope: "user", retryAfterMs: CLOSED_MS }],
] as const)("one thread %s: the relay starts, and the others go on", async ([what, verb, fault], context) => {
  const { all, driver, troubled, other } = await startArchived(context);
  driver.faults.rest = (request) => {
    const isReturn = request.method === "PATCH" && request.path.endsWith(`/channels/${troubled}`);
    return (verb === "GET" ? isLookUp(request, troubled) : isReturn) ? fault : undefined;
  };
  await all.sidecar.client.sendInput(troubled, { text: "meanwhile" });
  const starting = all.startRelay();
  await Promise.all([starting, showsLine(all, other, "after")]);
  driver.post(all.you, other, "typed");
  await all.untilShown(other, "typed\ntyped", SOON_MS);
  driver.faults.rest = undefined;
  // A thread that the bot may not see comes back when Discord tells of it.
  if (what === "is out of sight") driver.post(all.you, troubled, "seen again");
  await all.untilShown(troubled, "meanwhile\nmeanwhile", CLOSED_MS + SOON_MS);
});

test.concurrent("a limit of the commands' registration holds up no thread", async (context) => {
  const { all, driver, other } = await startArchived(context);
  const bucket = shutBucket(driver, ({ path }) => path.endsWith("/commands"), 1_000);
  let isRegistered = false;
  const starting = all.startRelay().then(() => {
    isRegistered = true;
  });
  await Promise.all([
    showsLine(all, other, "after"),
    until("the commands to be refused", () => bucket.hits() > 0),
  ]);
  expect(isRegistered).toBe(false);
  bucket.open();
  await starting;
});

test.concurrent("after a new connection, a thread that the bot may not see is looked up once", async (context) => {
  const all = await startForTest(context);
  const { driver } = all.discord;
  const [troubled, other] = [await all.openTerminal("cat"), await all.openTerminal("cat")];
  driver.archiveThread(all.you, troubled);
  let looks = 0;
  driver.faults.rest = (request) => {
    if (!isLookUp(request, troubled)) return undefined;
    looks += 1;
    return refused(403, 50001, "Missing Access");
  };
  driver.gateway.closeAll(1000); // no resume: a new session
  await until("the look for its threads", () => looks > 0);
  for (const text of ["typed", "and more"]) {
    driver.post(all.you, other, text);
    await all.untilShown(other, `${text}\n${text}`, SOON_MS);
  }
  // Refused requests count against the bot.
  expect(looks).toBe(1);
});

test.concurrent("what is written in a thread while it is being looked up goes in", async (context) => {
  const { all, driver, troubled } = await startArchived(context);
  const line = await startProxy(Number(new URL(all.sidecar.url).port));
  context.onTestFinished(line.close);
  all.relayConfig.vmUrl = line.url;
  let looks = 0;
  driver.faults.rest = (request) => {
    if (!isLookUp(request, troubled)) return undefined;
    // The sidecar has still to say how the thread stands.
    if (++looks === 1) line.stall();
    return undefined;
  };
  const starting = all.startRelay();
  await until("the look for its threads", () => looks > 0);
  driver.post(all.you, troubled, "early");
  line.flow();
  await starting;
  await all.untilShown(troubled, "early\nearly", SOON_MS);
});

test("a restart beside threads that Discord has archived lists them, and leaves them archived", async (context) => {
  const count = inFull(100, 30);
  let skewMs = 0;
  const all = await startForTest(context, {
    vm: { maxThreads: count },
    now: () => Date.now() + skewMs,
    isWithoutRelay: true,
  });
  const { driver } = all.discord;
  await all.sidecar.client.putPeople([{ id: all.you, role: "maker" }]);
  for (let i = 0; i < count; i++) {
    const { id } = driver.createThread(all.you, `quiet ${i}`);
    driver.patchThread(all.you, id, { auto_archive_duration: 1440 });
    await openTerminal(all.sidecar.as(all.you), id, "exec cat", { home: { channelId: id } });
  }
  skewMs = 25 * HOUR_MS;
  driver.tick();
  expect(driver.threads({ archived: true })).toHaveLength(count);
  driver.stats.reset();
  await all.startRelay();
  const [first] = await all.sidecar.client.listThreads();
  await showsLine(all, first?.threadId ?? "", "back");
  expect(driver.stats.requests.length, JSON.stringify(driver.stats.byRoute())).toBeLessThanOrEqual(20);
  expect(driver.threads({ archived: true })).toHaveLength(count - 1);
});

test.concurrent("a page that is too old to be edited is read, and sent anew only if it shows something else", async (context) => {
  const { all, driver, troubled, other } = await startArchived(context);
  const ids = () => driver.messages(other).map(({ id }) => id);
  const before = ids();
  let isRead = false;
  driver.faults.rest = ({ method, path }) => {
    isRead ||= method === "GET" && path.includes(`/channels/${other}/messages`);
    return undefined;
  };
  await all.startRelay();
  await until("the page to be looked at", () => isRead || ids().join() !== before.join());
  await showsLine(all, troubled, "after");
  expect(ids()).toEqual(before);
  expect(driver.threads({ archived: true }).map(({ id }) => id)).toEqual([other]);
  await showsLine(all, other, "more");
});
