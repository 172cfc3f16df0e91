/** What a thread shows of output that is too much, or gone. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { joinPages } from "../../relay/content/pages.ts";
import { inFull } from "../support/faults.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { bundleRelay, makeRelayProcess } from "../support/relay-process.ts";
import { openTerminal, readAll } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const MIB = 1024 * 1024;

const contents = ({ discord }: Everything, threadId: string) =>
  discord.driver.messages(threadId).map(({ content }) => content);
const isGone = (content: string) => content.includes("are gone from the VM's log");
const numbersIn = (text: string) => [...text.matchAll(/^row (\d+)$/gm)].map(([, n]) => Number(n));

test("bytes that were gone before they could be read are told at their place, also if the relay is killed then", async ({
  onTestFinished,
}) => {
  const all = await startEverything({ vm: { logMaxBytes: MIB }, isWithoutRelay: true });
  const program = await bundleRelay();
  const relay = makeRelayProcess(program, all.relayConfig, all.sidecar.folders.home);
  onTestFinished(async () => {
    await relay.stop();
    program.remove();
    await all.close();
  });
  const { driver } = all.discord;
  const { client } = all.sidecar;
  relay.start();
  await relay.untilReady();
  const flood = "while [ ! -e go ]; do sleep 0.1; done; seq -f 'row %.0f' 400000; echo the end of it";
  const threadId = await all.openTerminal(`echo before; ${flood}; exec cat`);
  await all.untilShown(threadId, "before");
  const markedUpTo = async () => (await client.getThread(threadId)).delivery?.offset ?? 0;
  await until("the mark to be kept", async () => (await markedUpTo()) > 0);
  await relay.kill9();
  const { offset: shownUpTo } = await client.getThread(threadId);
  writeFileSync(join(all.sidecar.reposDir, "go"), "");
  const firstOffset = await until(
    "the log to be printed and trimmed",
    async () => {
      const reply = await client.readOutput(threadId, { since: 0, limit: 1 });
      const log = await readAll(client, threadId);
      return log.output.includes("the end of it") && reply.firstOffset > 3 * MIB && reply.firstOffset;
    },
    { timeoutMs: 60_000, intervalMs: 500 },
  );

  relay.start();
  await driver.until(() => driver.text(threadId).includes("the end of it"), {
    what: "the last page",
    timeoutMs: 30_000,
  });
  await relay.kill9();
  relay.start();
  await relay.untilReady();

  const { output } = await readAll(client, threadId);
  const numbers = numbersIn(output.replaceAll("\r", ""));
  const look = () => {
    const shown = contents(all, threadId);
    const at = shown.findIndex(isGone);
    if (at < 0 || shown.filter(isGone).length > 1) return false;
    const above = shown.slice(0, at).join("\n");
    const below = joinPages(shown.slice(at + 1));
    const hidden = Number(/… ([\d,]+) lines/.exec(shown.slice(at).join("\n"))?.[1]?.replaceAll(",", ""));
    const seen = numbersIn(below);
    return (
      above.includes("before") &&
      below.includes("the end of it") &&
      // The rest of the row that was cut stands on its own, as in the log.
      Math.abs(hidden + seen.length - numbers.length) <= 1 &&
      JSON.stringify(seen) === JSON.stringify(numbers.slice(-seen.length))
    );
  };
  await until("an honest text", look, { timeoutMs: 20_000 }).catch(() => undefined);
  expect(look(), JSON.stringify(contents(all, threadId), null, 1).slice(0, 4_000)).toBe(true);
  const told = contents(all, threadId).find(isGone) ?? "";
  const megabytes = Number(/([\d.]+) MB of output/.exec(told)?.[1]);
  // The log may have been trimmed once more before the relay read it.
  const trimmedTo = (await client.readOutput(threadId, { since: 0, limit: 1 })).firstOffset;
  expect(megabytes).toBeGreaterThanOrEqual((firstOffset - shownUpTo) / 1e6 - 0.1);
  expect(megabytes).toBeLessThanOrEqual(trimmedTo / 1e6 + 0.1);
}, 120_000);

test("a flood takes at most seven messages until its end is shown", async ({ onTestFinished }) => {
  const all = await startEverything();
  onTestFinished(() => all.close());
  const { driver } = all.discord;
  const gate = (name: string) => `while [ ! -e ${name} ]; do sleep 0.05; done`;
  const threadId = await all.openTerminal(
    `${gate("go")}; for i in $(seq 40); do seq -f 'row %.0f' 5000; sleep 0.2; done; echo the end of it; touch printed; exec cat`,
  );
  await driver.until(() => driver.messages(threadId).length === 1, { what: "the opening" });
  writeFileSync(join(all.sidecar.reposDir, "go"), "");
  await until("the flood to be printed", () => existsSync(join(all.sidecar.reposDir, "printed")));
  const sealed = () => contents(all, threadId).filter((content) => !content.startsWith("… "));
  const isShown = () => sealed().some((content) => content.includes("the end of it"));
  await driver.until(isShown, { what: "the end as a page", timeoutMs: 30_000 });
  const shown = contents(all, threadId);
  const before = shown.slice(
    1,
    shown.findIndex((text) => !text.startsWith("… ") && text.includes("the end of it")),
  );
  expect(before.length, JSON.stringify(before.map((text) => text.slice(0, 80)))).toBeLessThanOrEqual(7);
  expect(driver.stats.rateLimited).toBe(0);
});

/** How many marks the sidecar was given. */
async function countMarks({ sidecar }: Everything): Promise<number> {
  const headers = { authorization: `Bearer ${sidecar.token}` };
  const text = await (await fetch(`${sidecar.url}/metrics`, { headers })).text();
  const counts = text.matchAll(
    /_http_request_seconds_count\{method="PUT",route="[^"]*\/delivery".*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

test("a restart looks nothing up and keeps nothing for threads where nothing has happened, also if none has printed anything", async ({
  onTestFinished,
}) => {
  const count = inFull(100, 30);
  const all = await startEverything({ vm: { maxThreads: count }, isWithoutRelay: true });
  onTestFinished(() => all.close());
  const { driver } = all.discord;
  await all.sidecar.client.putPeople([{ id: all.you, role: "maker" }]);
  for (let i = 0; i < count; i++) {
    const { id } = driver.createThread(all.you, `quiet ${i}`);
    await openTerminal(all.sidecar.as(all.you), id, "exec cat", { home: { channelId: id } });
  }
  for (let start = 0; start < 2; start++) {
    driver.stats.reset();
    const marksBefore = await countMarks(all);
    await all.startRelay();
    // It streams: so it has looked for whatever it wanted to know.
    const [first] = await all.sidecar.client.listThreads();
    await all.sidecar.client.sendInput(first?.threadId ?? "", { text: `start ${start}` });
    await all.untilShown(first?.threadId ?? "", `start ${start}\nstart ${start}`);
    const lookUps = driver.stats.requests.filter(({ method }) => method === "GET");
    expect(lookUps.length, JSON.stringify(driver.stats.byRoute())).toBeLessThanOrEqual(20);
    // An edit, whose mark waits as the others' would: once it is kept, theirs would have been.
    await all.sidecar.client.sendInput(first?.threadId ?? "", { text: "more" });
    await all.untilShown(first?.threadId ?? "", "more\nmore");
    await until("the mark", async () => {
      const { delivery, offset } = await all.sidecar.client.getThread(first?.threadId ?? "");
      return delivery?.offset === offset;
    });
    expect((await countMarks(all)) - marksBefore).toBeLessThanOrEqual(4);
    await all.stopRelay();
  }
}, 120_000);
