/**
 * What a newcomer without an agent sees after the README's first command, in a real browser: the demo's tour, answered
 * by its buttons. PICTURE=1 takes the README's picture on the way.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { standIn } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { type OpenPage, openPage } from "../support/page.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

const PICTURE = fileURLToPath(new URL("../../docs/page.png", import.meta.url));

let browser: Browser;
let all: Everything;
let open: OpenPage;
beforeAll(async () => {
  buildPages();
  browser = await startBrowser();
  all = await startEverything({ isQuick: true, vm: { agent: { ...standIn(), program: "demo" } } });
  mkdirSync(join(all.sidecar.reposDir, "example"));
  open = await openPage(browser, all.discord, { width: 1280, height: 800 });
});
afterAll(async () => {
  await open?.close();
  await all?.close();
  await browser?.close();
});

test("text, steps, an ask, a question, a diff and a plan, each answered by a press", async () => {
  const { page } = open;
  const { driver } = all.discord;
  await page.getByRole("combobox", { name: /^Message/ }).click();
  await page.keyboard.type("/age");
  await page.getByRole("option", { name: "/agent" }).click();
  await page.getByRole("button", { name: "+ dir" }).click();
  await page.getByRole("option", { name: "example" }).click();
  await page.getByRole("textbox", { name: "prompt" }).fill("Show me what you can do");
  await page.getByRole("button", { name: "Send" }).click();
  const thread = await driver.until(() => driver.threads()[0], { what: "a thread" });
  await page.locator("#messages .content a.mention", { hasText: "example" }).last().click();
  const shown = () =>
    driver
      .messages(thread.id)
      .map(({ content }) => content)
      .join("\n");

  /** As the page shows them, without the signs of code. */
  const words = () => shown().replaceAll("`", "");

  const press = async (name: string, what: string | RegExp) => {
    await until(`${what} to be shown`, () =>
      typeof what === "string" ? words().includes(what) : what.test(words()),
    );
    // The page may be behind what Discord holds: the button is the one below that message.
    const message = page.locator("#messages > li", { hasText: what }).last();
    await message.getByRole("button", { name, exact: true }).click();
  };
  await until("its first words", () => shown().includes("No model is behind this agent"));
  await until("the ask", () => shown().includes("Nothing yet."));
  if (process.env["PICTURE"]) {
    await page.getByRole("button", { name: "Allow once", exact: true }).last().waitFor();
    await page.screenshot({ path: PICTURE });
  }
  await press("Allow once", "Write threadmux-demo.md");
  await press("Kettles", "What shall the demo's note be about?");
  await press("Allow once", /May the agent do this\?.*Edit threadmux-demo\.md/);
  await press("Approve", "Remove it, so that nothing of the demo stays behind.");
  await press("Allow once", /May the agent do this\?.*rm threadmux-demo\.md/);
  await until("the end", () => shown().includes("That was the demo."));
  expect(shown()).toContain("✓ Bash `ls`");
  expect(shown()).toContain("✓ Edit `threadmux-demo.md` · +2 −1");
  expect(shown()).toMatch(/```diff\n- Nothing yet\.\n\+ Put the kettle on\./);
  await page.getByText("That was the demo.").last().waitFor();
  expect(open.problems).toEqual([]);
}, 120_000);
