/** The page of an agent that hears a channel: one stream of people, jobs, hooks and threads, and each of them by itself. */
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { VmJobs } from "../../relay/sidecar/jobs.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import { signRequest } from "../../vm/hooks/proof.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { openConversation, untilText } from "../support/conversation.ts";
import { aDiscordId } from "../support/ids.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const [OPS, ALICE] = [aDiscordId("300000000000000001"), aDiscordId("300000000000000011")];
const SECRET = "a-secret-that-nobody-knows";
const PROOF = { preset: "github" as const };
const tool = (name: string, input: Record<string, unknown>): Round => ({
  tools: [{ name: `mcp__threadmux__${name}`, input }],
});
const DONE = tool("done", {});
/** Where somebody who looks at the page by eye finds its pictures; none are taken without it. */
const PICTURES = process.env["PICTURES"];

let sidecar: TestSidecar;
let browser: Browser;
let main: string;
beforeAll(async () => {
  buildPages();
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, hooks: { host: "127.0.0.1", port: 0 } });
  browser = await startBrowser();
  await sidecar.client.putPeople([{ id: ALICE, role: "maker", handle: "Alice" }]);
  await sidecar.client.putFixedChannels([{ id: OPS, dir: ".", mode: "main" }]);
  await new Vm(sidecar.client).channels.putPlace(OPS, { name: "ops", problem: null });
  ({ threadId: main } = await new Vm(sidecar.as(ALICE)).voice.findMain(OPS));
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

const rest = () => untilStatus(sidecar, main, "idle");

/** An input of each source, one after the other. */
async function fill(): Promise<void> {
  const say = tool("message", { to: "discord:#ops/alice", content: "It is done." });
  const asked = script("did the deploy finish?", { text: "A private thought." }, say, { text: "ok" });
  await sidecar.as(ALICE).sendInput(main, { text: asked, channelId: OPS, inputId: "300000000000000101" });
  await rest();
  const jobs = new VmJobs(sidecar.client);
  const text = script("the daily check", DONE, { text: "Looked." });
  const clock = { type: "words" as const, words: "in 5h" };
  await jobs.create({ name: "daily", when: clock, what: { type: "input", main: "main", text } });
  await jobs.run("daily");
  const heard = async (words: string) =>
    (await transcriptOf(sidecar, main)).some(
      (event) => event.type === "user_message" && JSON.stringify(event.content).includes(words),
    );
  await until("the job's input", () => heard("the daily check"));
  await rest();
  const when = { type: "webhook", proof: PROOF, secret: SECRET, trust: "own" } as const;
  await jobs.create({ name: "deploy", when, what: { type: "input", main: "main", text: "A hook called." } });
  const body = Buffer.from('{"status":"success"}');
  const headers = signRequest(PROOF, SECRET, body, { id: "one", nowSeconds: Date.now() / 1000 });
  await fetch(`${sidecar.hookUrl}/hook/deploy`, { method: "POST", body, headers });
  await until("the hook's input", () => heard("A hook called."));
  await rest();
  const child = script("Count", { text: "There are 7 files." });
  const spawn = tool("spawn_thread", { prompt: child, mode: "async" });
  await sidecar.client.sendInput(main, { text: script("count them", spawn, DONE, { text: "ok" }) });
  await until("the child's end", () => heard("There are 7 files."));
  await rest();
}

test("each input says its source, private text is there, and one source can be read alone", async () => {
  await fill();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const { page, problems } = await openConversation(context, sidecar, main);
  await untilText(page, "#rows", /There are 7 files\./);
  const text = (selector: string) => page.locator(selector).allInnerTexts();
  const rows = () => text("#rows .row");
  const picture = async (name: string) => {
    if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  };
  expect(await text("#sources button")).toEqual(["All", "People", "Jobs", "Hooks", "Threads"]);
  await picture("all-1280");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.click("#tab-talk");
  await page.waitForSelector("#sources:visible");
  await picture("all-390");
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  expect(await width()).toBeLessThanOrEqual(390);
  await page.setViewportSize({ width: 1280, height: 4_000 });
  await page.locator("#transcript").evaluate((scroller) => scroller.scrollTo(0, 0));
  await untilText(page, "#rows .agent_message", /A private thought\./);
  const all = (await rows()).join("\n");
  for (const part of ["A private thought.", "discord:#ops/alice", "job:daily", "It is done."])
    expect(all).toContain(part);

  const only = async (label: string, wanted: RegExp[]) => {
    await page.click(`#sources >> text=${label}`);
    await until(`${label} alone`, async () => {
      const found = await rows();
      return found.length === wanted.length && wanted.every((one, at) => one.test(found[at] ?? ""));
    });
    expect(await page.locator(`#sources [aria-pressed="true"]`).allInnerTexts()).toEqual([label]);
  };
  await only("Jobs", [/job:daily[\s\S]*the daily check/]);
  await picture("jobs-1280");
  await only("Hooks", [/job:deploy[\s\S]*A hook called\./]);
  await only("Threads", [/thread:#\d+[\s\S]*There are 7 files\./]);
  await page.click("#sources >> text=People");
  await until("people alone", async () => (await rows()).join().includes("to discord:#ops/alice"));
  const people = (await rows()).join("\n");
  for (const part of ["did the deploy finish?", "It is done.", "count them"]) expect(people).toContain(part);
  for (const part of ["daily check", "A hook called.", "Its turn has ended"])
    expect(people).not.toContain(part);
  expect(await page.locator('#rows .row:not([data-source="people"])').count()).toBe(0);
  await page.setViewportSize({ width: 390, height: 844 });
  await picture("people-390");
  // What comes while one source is looked at is shown if it is of that source.
  await sidecar.client.sendInput(main, { text: script("and now?", DONE, { text: "Nothing." }) });
  await untilText(page, "#rows", /and now\?/);
  await rest();
  await page.click("#sources >> text=All");
  await untilText(page, "#rows", /Nothing\./);
  expect(problems).toEqual([]);
});

test("another agent's page has no such choice", async () => {
  const command = script("Hello", { text: "Hello to you." });
  await sidecar.client.createThread({ threadId: "plain", type: "agent", dir: ".", command });
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const { page } = await openConversation(context, sidecar, main);
  await page.waitForSelector("#sources:visible");
  await page.goto(`${sidecar.url}/console#/plain`);
  await untilText(page, "#rows", /Hello to you\./);
  expect(await page.isVisible("#sources")).toBe(false);
});
