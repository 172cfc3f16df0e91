/** `/memory` in Discord. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryClient } from "../../shared/memory-client.ts";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
let memory: MemoryClient;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
  memory = new MemoryClient(all.sidecar.client);
});
afterAll(() => all?.close());

const use = (command: string, options: Record<string, string>) =>
  all.discord.driver.command(all.you, all.discord.channelId, command, options);

test("a file is found, shown and forgotten, and Undo brings it back", async () => {
  const path = "user/taste.md";
  await memory.write({ path, text: "Answer in *German*.\n```\n@everyone" });
  const found = (await use("memory search", { query: "german" }).reply()).content;
  expect(found).toMatch(
    /^1 has all words of german \(1 file looked through\)\n- user\/taste\.md:1 · <t:\d+:d> Answer in/,
  );
  expect(found).toContain("\\*German\\*");
  const none = (await use("memory search", { query: "french", where: "memory" }).reply()).content;
  expect(none).toMatch(/^Nothing has all words of french/);

  const shown = await use("memory show", { file: path }).reply();
  expect(shown.content).toContain("written by owner <t:");
  expect(shown.content.endsWith("```")).toBe(true);

  const { channelId, driver } = all.discord;
  const choices = await driver.autocomplete(all.you, channelId, "memory forget", { file: "TAS" }, "file");
  expect(choices).toEqual([{ name: path, value: path }]);

  const forgotten = await use("memory forget", { file: path }).reply();
  expect(forgotten.content).toBe("🧠 user/taste.md is forgotten.");
  expect((await memory.list()).flatMap(({ files }) => files)).toEqual([]);
  const undo = forgotten.buttons.find(({ label }) => label === "Undo")?.customId ?? "";
  driver.press(all.you, forgotten.id, undo);
  await until("it to be back", async () => (await memory.list()).some(({ files }) => files.length > 0));
  expect((await use("memory show", { file: "user/nothing.md" }).reply()).content).toContain("there is no");
});
