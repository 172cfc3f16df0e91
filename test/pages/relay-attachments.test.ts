/** Files of people's messages in Discord, on their way to an agent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PersonFile } from "../../local-discord/driver.ts";
import { Cdn } from "../../relay/discord/cdn.ts";
import { STAND_IN_CONFIG, transcriptOf } from "../support/agents.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let all: Everything;
let talk: AgentTalk;
let threadId: string;
beforeAll(async () => {
  all = await startEverything({ vm: STAND_IN_CONFIG });
  talk = new AgentTalk(all);
  threadId = await talk.open('Hello @@[{"text":"Hello."}]');
  await talk.untilMessage(threadId, "Hello.");
});
afterAll(() => all?.close());

const post = (content: string, files: PersonFile[]) =>
  all.discord.driver.post(all.you, threadId, content, { files });
const contentOf = async (messageId: string) =>
  until("the message in the transcript", async () => {
    const events = await transcriptOf(all.sidecar, threadId);
    const found = events.find((event) => event.type === "user_message" && event.messageId === messageId);
    return found?.type === "user_message" ? found.content : undefined;
  });

test("a picture alone is a message; short texts are words of it, other files lie in the folder", async () => {
  const { id } = post("", [{ name: "shot.png", data: PNG, type: "image/png" }]);
  expect(await contentOf(id)).toEqual([
    { type: "image", mimeType: "image/png", uri: "attachments/shot.png" },
  ]);
  const long = "x".repeat(70 * 1024);
  const second = post("Read these.", [
    { name: "note.txt", data: "a note", type: "text/plain" },
    { name: "long.log", data: long, type: "text/plain" },
    { name: "latin.txt", data: Buffer.from([0x67, 0xf6]), type: "text/plain" },
  ]);
  expect(await contentOf(second.id)).toMatchObject([
    { type: "text", text: "Read these.\n\na note" },
    { type: "resource_link", name: "long.log" },
    { type: "resource_link", name: "latin.txt" },
  ]);
  const folder = join(all.sidecar.stateDir, "threads", threadId, "attachments");
  expect(readFileSync(join(folder, "long.log"), "utf8")).toBe(long);
});

test("files come from Discord's own servers alone, and no more bytes than they said", async () => {
  const { signal } = new AbortController();
  const real = new Cdn("https://discord.com/api", signal);
  const local = new Cdn(all.discord.apiUrl, signal);
  const file = (url: string) => ({ url, filename: "a.png" });
  for (const url of [
    `${all.sidecar.url}/healthz`,
    "https://cdn.discordapp.com.evil.test/a",
    "file:///etc/passwd",
    "no url",
  ]) {
    expect(await refusal(real.download(file(url), 100))).toMatchObject({ code: "invalid_request" });
  }
  const elsewhere = local.download(file(`${all.sidecar.url}/healthz`), 100);
  expect(await refusal(elsewhere)).toMatchObject({ code: "invalid_request" });
  const { attachments } = post("", [{ name: "b.png", data: PNG, type: "image/png" }]);
  const url = await until("its link", () => findUrl(attachments[0]?.id));
  expect(await refusal(local.download(file(url), PNG.length - 1))).toMatchObject({ code: "too_large" });
  expect(Buffer.from(await local.download(file(url), PNG.length))).toEqual(PNG);
});

async function findUrl(attachmentId: string | undefined): Promise<string | undefined> {
  const { apiUrl, botToken } = all.discord;
  const response = await fetch(`${apiUrl}/v10/channels/${threadId}/messages?limit=10`, {
    headers: { authorization: `Bot ${botToken}` },
  });
  const messages = (await response.json()) as { attachments: { id: string; url: string }[] }[];
  return messages.flatMap(({ attachments }) => attachments).find(({ id }) => id === attachmentId)?.url;
}
