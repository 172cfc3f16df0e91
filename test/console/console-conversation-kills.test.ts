/** An agent's page while the sidecar beside it is killed: nothing twice, nothing missing, nothing written lost. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SIEGE_ENV } from "../support/agent-siege.ts";
import { openAgent, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { buildPages, startBrowser } from "../support/console.ts";
import { allRows, expectedRows, openConversation, untilSaid, untilText } from "../support/conversation.ts";
import { inFull } from "../support/faults.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: SpawnedSidecar;
let browser: Browser;
beforeAll(async () => {
  buildPages();
  sidecar = await spawnSidecar({ ...SIEGE_ENV, AGENT_IDLE_SECONDS: "120" });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await sidecar?.close();
});

/** The sidecar has answered that it has the words. */
async function untilEmpty(page: Page): Promise<void> {
  await untilValue(
    "the line to be empty",
    () => page.inputValue("#message"),
    (left) => left === "",
  );
}

const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command, description: "d" } }] });

test("kill -9 of the sidecar in mid-turn: the page goes on where it was, event for event", {
  timeout: 120_000,
}, async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const rounds = inFull(20, 2);
  await openAgent(sidecar, "killed", script("Hello", { text: "Hello." }));
  const { page, problems } = await openConversation(context, sidecar, "killed");
  await untilSaid(page, /Hello\./);
  for (let round = 1; round <= rounds; round++) {
    const go = join(sidecar.reposDir, "killed", `go-${round}`);
    const text = `Round ${round} has a text that is long enough to come in pieces.`;
    await page.fill(
      "#message",
      script(
        `Go ${round}`,
        { text, pauseFor: go, ...bash(`touch made-${round}`) },
        { text: `Over ${round}.` },
      ),
    );
    await page.keyboard.press("Enter");
    await untilText(page, "#live", new RegExp(`Round ${round}`));
    // Killed before its answer is there, it would leave words of which the page must first learn whether they went in.
    await untilEmpty(page);
    await sidecar.kill9();
    await untilText(page, "#agent-notice", /Trying again in \d+ s/);
    writeFileSync(go, ""); // the turn goes on while nobody looks
    if (round % 2 === 0) {
      await page.fill("#message", "written meanwhile");
      await page.keyboard.press("Enter");
      await untilText(page, "#compose-notice", /The sidecar does not answer\. Your words are kept here/);
      expect(await page.inputValue("#message")).toBe("written meanwhile");
    }
    await sidecar.start();
    await page.click(".ask:not(.decided) >> text=Allow once");
    await untilSaid(page, new RegExp(`Over ${round}\\.`));
    await until("the effect", () => existsSync(join(sidecar.reposDir, "killed", `made-${round}`)));
    if (round % 2 === 0) {
      await page.click("#send");
      await untilEmpty(page);
    }
  }
  await untilStatus(sidecar, "killed", "idle");
  const events = await transcriptOf(sidecar, "killed");
  await untilText(page, "#rows", /written meanwhile[\s\S]*Done/);
  const last = expectedRows(events).at(-1)?.seq;
  await untilValue(
    "the last event",
    async () => (await allRows(page)).at(-1)?.seq,
    (seq) => seq === last,
  );
  const shown = await allRows(page);
  expect(
    shown
      .filter(({ text }) => !/^(↻|The agent's program)/.test(text))
      .map(({ seq, ending }) => ({ seq, ending })),
  ).toEqual(expectedRows(events));
  const count = (text: string) => shown.filter((row) => row.text.includes(text)).length;
  expect(count("written meanwhile")).toBe(Math.floor(rounds / 2));
  for (let round = 1; round <= rounds; round++) expect(count(`Over ${round}.`)).toBe(1 + 1); // said, and in the script
  expect(problems).toEqual([]);
  await context.close();
});

test("words that a reload finds unsent are still in the line, and go in once", async () => {
  const context = await browser.newContext();
  await openAgent(sidecar, "kept", script("Hello", { text: "Hello." }));
  const { page } = await openConversation(context, sidecar, "kept");
  await untilSaid(page, /Hello\./);
  // The sidecar takes it, and its answer is lost on the way.
  await page.route("**/input", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.fill("#message", "only once");
  await page.keyboard.press("Enter");
  await untilText(page, "#compose-notice", /kept here/);
  await page.unroute("**/input");
  await page.reload();
  await untilText(page, "#compose-notice", /kept here/);
  expect(await page.inputValue("#message")).toBe("only once");
  await page.fill("#message", "only once, and more");
  await page.click("#send");
  await untilText(page, "#compose-notice", /What you sent before had arrived\. These words did not go in/);
  await page.fill("#message", "and more");
  await page.click("#send");
  await untilEmpty(page);
  const messages = (await transcriptOf(sidecar, "kept")).filter(({ type }) => type === "user_message");
  await until("both to be there", async () => {
    const texts = (await transcriptOf(sidecar, "kept")).flatMap((event) =>
      event.type === "user_message"
        ? event.content.map((block) => (block.type === "text" ? block.text : ""))
        : [],
    );
    return texts.slice(1).join("|") === "only once|and more";
  });
  expect(messages.length).toBeLessThanOrEqual(3);
  await context.close();
});
