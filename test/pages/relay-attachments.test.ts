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
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
  talk = new AgentTalk(all);
  threadId = await talk.open('Hello @@[{"text":"Hello."}]');
  await talk.untilMessage(threadId, "Hello.");
});
afterAll(() => all?.close());

const post = (content: string, files: PersonFile[]) =>
  all.discord.driver.post(all.you, threadId, content, { files });
const messageOf = async (messageId: string) =>
  until("the message in the transcript", async () => {
    const events = await transcriptOf(all.sidecar, threadId);
    const found = events.find((event) => event.type === "user_message" && event.messageId === messageId);
    return found?.type === "user_message" ? found : undefined;
  });
const contentOf = async (messageId: string) => (await messageOf(messageId)).content;

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

// Promise: S25
test("only words that the person typed may bring files in by an @path", async () => {
  const text = "See @/etc/passwd and @notes";
  const note = { name: "note.txt", data: text, type: "text/plain" };
  const plainOf = async ({ id }: { id: string }) => (await messageOf(id)).plain;
  expect(await plainOf(post(text, []))).toBeUndefined();
  expect(await plainOf(post("", [note]))).toBe(true);
  expect(await plainOf(post("Read it.", [note]))).toBe(true);
  const forward = all.discord.driver.post(all.you, threadId, text, { extras: forwardOf(text) });
  expect(await plainOf(forward)).toBe(true);
});

// Promise: S24
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

const forwardOf = (content: string) => ({
  message_reference: { type: 1, message_id: "1", channel_id: "1" },
  message_snapshots: [{ message: { content, attachments: [], embeds: [] } }],
});
const POLL = { poll: { question: { text: "Lunch?" }, answers: [] } };
const STICKER = { sticker_items: [{ id: "1", name: "Wave", format_type: 1 }] };

test("an agent gets what was forwarded as such; what only Discord shows is named", async () => {
  const { driver } = all.discord;
  const forward = driver.post(all.you, threadId, "", { extras: forwardOf("one\ntwo") });
  expect(await contentOf(forward.id)).toEqual([{ type: "text", text: "Forwarded message:\n> one\n> two" }]);
  const answerTo = (messageId: string) =>
    driver.until(() => driver.messages(threadId).find(({ replyTo }) => replyTo?.id === messageId)?.content, {
      what: "a reply",
    });
  const poll = driver.post(all.you, threadId, "", { extras: POLL });
  expect(await answerTo(poll.id)).toContain(
    "This did not go in. Left out, an agent takes words and files up to 25 MiB: the poll “Lunch?”.",
  );
  const wave = driver.post(all.you, threadId, "Hello.", { extras: STICKER });
  expect(await contentOf(wave.id)).toEqual([{ type: "text", text: "Hello." }]);
  expect(await answerTo(wave.id)).toContain("the sticker “Wave”");
  const contact = driver.post(all.you, threadId, "", { extras: { shared_contact: { id: "1" } } });
  expect(await answerTo(contact.id)).toContain(
    "Left out, an agent takes words and files up to 25 MiB: the shared contact.",
  );
  const unknown = driver.post(all.you, threadId, "", { extras: { newer: { id: "1" } } });
  expect(await answerTo(unknown.id)).toContain(
    "An agent takes words and files, and this message holds neither",
  );
});

test("a terminal is typed what was forwarded; what only Discord shows is named", async () => {
  const { driver } = all.discord;
  const terminal = await all.openTerminal("cat");
  driver.post(all.you, terminal, "", { extras: forwardOf("echo forwarded") });
  await all.untilShown(terminal, "echo forwarded\necho forwarded");
  const told = (words: string) =>
    driver.until(() => driver.messages(terminal).find(({ content }) => content.includes(words)), {
      what: words,
    });
  driver.post(all.you, terminal, "", { extras: POLL });
  await told("Left out, only text and text files up to 256 KiB can be typed: the poll “Lunch?”.");
  const voice = {
    filename: "voice-message.ogg",
    size: 1,
    url: "https://x.invalid",
    content_type: "audio/ogg",
  };
  driver.post(all.you, terminal, "", { extras: { attachments: [{ ...voice, duration_secs: 2 }] } });
  await told("Left out, only text files up to 256 KiB can be typed: the voice note.");
  driver.post(all.you, terminal, "", { extras: { shared_contact: { id: "1" } } });
  await told("can be typed: the shared contact.");
  driver.post(all.you, terminal, "", { extras: { newer: { id: "1" } } });
  await told("Only text, and text files up to 256 KiB, can be typed into a thread.");
});
