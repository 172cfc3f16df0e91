/** The console's page with a kind of thread that comes from outside: in the list, in its form, opened and ended. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPages, startBrowser } from "../support/console.ts";
import { makeSidecarFolders, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { guest } from "./kind.ts";

let sidecar: TestSidecar;
let browser: Browser;
beforeAll(async () => {
  const folders = makeSidecarFolders();
  const page = join(folders.path, "page");
  buildPages();
  cpSync(fileURLToPath(new URL("../../vm/console/bundle", import.meta.url)), page, { recursive: true });
  const main = fileURLToPath(new URL("console-main.ts", import.meta.url));
  await build({ entryPoints: [main], outfile: join(page, "console.js"), bundle: true, format: "esm" });
  [sidecar, browser] = await Promise.all([
    startSidecar({}, { folders, guestKinds: { echo: guest }, page }),
    startBrowser(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

test("an echo is made by the form, listed, shown and ended", async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(`${sidecar.url}/console#new`);
  await page.fill("#token", sidecar.token);
  await page.click("#sign-in button");
  await page.click("text=An echo");
  await page.fill("#make-command", "hello");
  await page.click("#make button[type=submit]");
  const item = page.locator("#open-threads button");
  await expect.poll(() => item.innerText()).toMatch(/hello.*echo/s);
  const { threadId, type } = (await sidecar.client.listThreads())[0] ?? {};
  expect(type).toBe("echo");
  await expect.poll(() => page.locator("#room-view").innerText()).toBe(`🦜 ${threadId}`);
  expect(await page.locator("#thread-title").innerText()).toBe("hello");
  await page.click("#end");
  expect(await page.locator("#end-what").innerText()).toContain("The echo is heard no more.");
  await page.click("#end-now");
  await expect.poll(() => item.count()).toBe(0);
  expect(problems).toEqual([]);
});
