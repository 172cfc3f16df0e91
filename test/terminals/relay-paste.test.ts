/** What a person pastes in Discord: several lines, a code block, a file; for programs that asked for pastes or did not. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Everything, startEverything } from "../support/relay.ts";
import { untilValue } from "../support/wait.ts";

const RECORDER = fileURLToPath(new URL("../fixtures/record-bytes.mjs", import.meta.url));
const framed = (text: string) => `\x1b[200~${text}\x1b[201~\r`;

let all: Everything;
beforeAll(async () => {
  all = await startEverything();
});
afterAll(() => all?.close());

/** A program in raw mode; `got` waits for all that it gets. */
async function openRecorder(name: string, asks: "paste" | "nothing") {
  const threadId = await all.openTerminal(`exec ${process.execPath} ${RECORDER} ${name} ${asks}`);
  await all.untilShown(threadId, "READY");
  const read = () => readFileSync(join(all.sidecar.reposDir, name), "utf8");
  const got = (text: string) => untilValue("the bytes", read, (bytes) => bytes.length >= text.length);
  return { threadId, got };
}

test("several lines, a code block and a file go in as one paste each, and one line as keys", async () => {
  const { driver } = all.discord;
  const { threadId, got } = await openRecorder("asked", "paste");
  driver.post(all.you, threadId, "if x:\n    y");
  driver.post(all.you, threadId, "```py\n    indented\n```");
  driver.post(all.you, threadId, "one\ttab");
  driver.post(all.you, threadId, "`:wq`");
  driver.post(all.you, threadId, "a line", {
    files: [{ name: "a.txt", data: "one\r\n\ttwo\n", type: "text/plain" }],
  });
  const pastes = [framed("if x:\r    y"), framed("    indented"), framed("one\ttab")];
  const wanted = [...pastes, ":wq\r", "a line\r", framed("one\r\ttwo")].join("");
  expect(await got(wanted)).toBe(wanted);
});

test("a program that did not ask gets lines; tabs that it may take for a key only if the person says so", async () => {
  const { driver } = all.discord;
  const { threadId, got } = await openRecorder("unasked", "nothing");
  driver.post(all.you, threadId, "one\ntwo");
  expect(await got("one\rtwo\r")).toBe("one\rtwo\r");
  const message = driver.post(all.you, threadId, "if x:\n\ty");
  const told = await driver.until(
    () => driver.messages(threadId).find(({ replyTo }) => replyTo?.id === message.id),
    { what: "the reply" },
  );
  expect(told.content).toMatch(/did not go in.*holds tabs/);
  driver.press(all.you, told.id, `type-anyway:${message.id}`);
  const wanted = "one\rtwo\rif x:\r\ty\r";
  expect(await got(wanted)).toBe(wanted);
});
