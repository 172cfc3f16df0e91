/** `WS /thread/:id/attach` as a door: guesses on it are counted and slowed down like those on every route. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { attach, refusedWith } from "../support/console.ts";
import { awakeMs } from "../support/measure.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeEach(async () => {
  sidecar = await startSidecar();
});
afterEach(() => sidecar.close());

const WRONG = { authorization: "Bearer wrong" };
const knock = () => refusedWith(attach(sidecar, "door", { headers: WRONG }));
const ask = async () => (await fetch(`${sidecar.url}/threads`, { headers: WRONG })).status;

// Promise: S2
test("guesses count together, on sockets and on routes; the right token never waits", async () => {
  await openTerminal(sidecar.client, "door", "echo up; sleep 60");
  const quick = await Promise.all(Array.from({ length: 10 }, () => [knock(), ask()]).flat());
  expect(quick).toEqual(Array.from({ length: 20 }, () => 401));
  const startedAt = performance.now();
  let isAnswered = false;
  const slow = Promise.all([knock(), ask()]);
  void slow.then(() => {
    isAnswered = true;
  });
  const viewer = await attach(sidecar, "door");
  await viewer.untilFrame("status");
  expect(isAnswered).toBe(false);
  expect(await slow).toEqual([401, 401]);
  expect(performance.now() - startedAt).toBeGreaterThan(3_900); // one answer in 2 s
  await viewer.close();
  const headers = { authorization: `Bearer ${sidecar.token}` };
  const metrics = await (await fetch(`${sidecar.url}/metrics`, { headers })).text();
  expect(metrics).toMatch(/^threadmux_\w*wrong_tokens\w* 22$/m);
});

// Promise: S2
test("in parallel they do not come faster: the rest is cut off, and the sidecar stops in time all the same", async () => {
  await Promise.all(Array.from({ length: 20 }, knock));
  let cut = 0;
  let answered = 0;
  const all = Array.from({ length: 100 }, () =>
    knock().then(
      () => (answered += 1),
      () => (cut += 1),
    ),
  );
  await until("most of them to be cut off", () => cut >= 85);
  expect(answered).toBeLessThan(8);
  // Rejects if anything took too long.
  expect(await awakeMs(() => sidecar.stop())).toBeLessThan(10_000);
  await Promise.all(all);
  expect(answered).toBeLessThan(10);
});
