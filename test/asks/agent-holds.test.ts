/** Which files an agent holds, as lists show them: the API, Discord's list, the console. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listLine } from "../../relay/content/lists/threads.ts";
import { holdsOf } from "../../shared/agent/holds.ts";
import { BYPASS_CONFIG, script, untilStatus } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { asNamed } from "../support/ids.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
let browser: Browser;
beforeAll(async () => {
  buildPages();
  const folders = makeSidecarFolders();
  // Each edit holds its file until its agent is killed.
  const threadEnv = {
    THREADMUX_DEMO_WRITE_MS: "600000",
    THREADMUX_TEST: folders.env["THREADMUX_TEST"] ?? "",
  };
  sidecar = await startSidecar({ ...BYPASS_CONFIG, threadEnv }, { folders });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

async function open(threadId: string, file: string): Promise<void> {
  const dir = join(sidecar.reposDir, "shop", "src");
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(sidecar.reposDir, "shop", file), "old");
  const tools = [{ name: "Write", input: { file_path: file, content: "new" } }];
  const agent = { permissionMode: "bypassPermissions" };
  const command = script(`Edit of ${threadId}`, { tools }, { text: "Done." });
  await sidecar.client.createThread({
    threadId,
    type: "agent",
    dir: "shop",
    command,
    agent,
  });
}

const held = (threadId: string) =>
  untilValue(
    `${threadId} to hold a file`,
    async () => (await sidecar.client.getThread(threadId)).holds,
    (holds) => holds?.count === 1,
  );

test("what an agent holds stands in the API, in Discord's list and in the console, until it is free", async () => {
  await Promise.all([open("one", "src/auth.ts"), open("odd", "b*\u202e<@42>.ts")]);
  expect(await held("one")).toEqual({ files: ["src/auth.ts"], count: 1 });
  const { files = [] } = (await held("odd")) ?? {};
  expect(files.join()).not.toContain("\u202e");
  const threads = await sidecar.client.listThreads();
  const line = (id: string) =>
    threads
      .flatMap((thread) => (thread.threadId === id ? [listLine(asNamed(thread), Date.now())] : []))
      .join();
  expect(line("one")).toContain("🔒 holds src/auth.ts");
  expect(line("odd")).toContain("🔒 holds b\\*");
  expect(line("odd")).not.toContain("<@42>");
  const one = threads.find(({ threadId }) => threadId === "one");
  if (one)
    expect(listLine({ ...asNamed(one), holds: holdsOf(["a", "b", "c", "d", "e"]) }, 0)).toContain(
      "holds a, b, c and 2 more",
    );

  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    const context = await browser.newContext({ viewport: { width, height }, isMobile: width < 700 });
    const page = await context.newPage();
    await page.goto(`${sidecar.url}/console`);
    await page.fill("#token", sidecar.token);
    await page.keyboard.press("Enter");
    const row = page.locator("nav li button", { hasText: "Edit of one" }).first();
    await row.waitFor();
    expect(await row.innerText()).toContain("holds src/auth.ts");
    expect(await page.locator("nav").innerText()).not.toContain("\u202e");
    if (process.env["SHOTS"])
      await page.screenshot({ path: join(process.env["SHOTS"], `holds-${width}.png`) });
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(isWide, `sideways scrolling at ${width}`).toBe(false);
    await context.close();
  }

  await sidecar.client.killThread("odd");
  expect((await sidecar.client.getThread("odd")).holds).toBeNull();
  await sidecar.client.controlAgent("one", { control: "interrupt" });
  await untilStatus(sidecar, "one", "idle");
  expect((await sidecar.client.getThread("one")).holds).toBeNull();
});
