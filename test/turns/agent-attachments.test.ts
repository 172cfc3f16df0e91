/** Files from people: uploaded to the sidecar, named in messages, seen by the agent. With the stand-in. */
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import request from "supertest";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS } from "../../shared/agent/attachments.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

/** One pixel. */
const PNG = new Uint8Array(
  Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
);
const bytesOf = (text: string) => new TextEncoder().encode(text);

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  await openAgent(sidecar, "files", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "files", "idle");
});
afterAll(() => sidecar?.close());

const folder = () => join(sidecar.stateDir, "threads", "files", "attachments");
async function download(name: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of sidecar.client.downloadAttachment("files", name)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
async function messages(threadId = "files") {
  const events = await transcriptOf(sidecar, threadId);
  return events.flatMap((event) => (event.type === "user_message" ? [event] : []));
}

test("a picture goes in as a picture, another file by its path; the same upload again is the same file", async () => {
  const { client } = sidecar;
  expect(await client.attach("files", "../../shot 1.png", PNG)).toEqual({
    name: "shot 1.png",
    bytes: PNG.length,
    imageType: "image/png",
  });
  expect((await client.attach("files", "shot 1.png", PNG)).name).toBe("shot 1.png");
  expect((await client.attach("files", "shot 1.png", bytesOf("another"))).name).toBe("shot 1-2.png");
  await client.attach("files", ".env", bytesOf("KEY=1"));
  expect((await client.listAttachments("files")).map(({ name }) => name)).toEqual([
    "env",
    "shot 1-2.png",
    "shot 1.png",
  ]);
  expect(lstatSync(join(folder(), "env")).mode & 0o777).toBe(0o600);

  const attachments = ["shot 1.png", "env", "shot 1-2.png"];
  await client.sendInput("files", { text: script("Look", { text: "Seen." }), inputId: "m1", attachments });
  await untilStatus(sidecar, "files", "idle");
  const sent = (await messages()).find(({ messageId }) => messageId === "m1");
  expect(sent?.content).toMatchObject([
    { type: "text" },
    { type: "image", mimeType: "image/png", uri: "attachments/shot 1.png" },
    { type: "resource_link", name: "env", uri: "attachments/env" },
    { type: "resource_link", name: "shot 1-2.png" },
  ]);
  const projects = join(sidecar.reposDir, "..", "h", ".claude", "projects");
  const saved = () =>
    readdirSync(projects, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => readFileSync(join(projects, name), "utf8"))
      .join("");
  await until("the model to have the path and the picture", () => {
    const text = saved();
    return text.includes(`[file env: ${join(folder(), "env")}]`) && text.includes('"media_type":"image/png"');
  });
});

test("a message may be a picture alone; other words for it keep the picture", async () => {
  const { client } = sidecar;
  const wait = {
    tools: [{ name: "Bash", input: { command: "true" } }],
    waitFor: join(sidecar.reposDir, "go"),
  };
  await openAgent(sidecar, "pictures", script("Wait", wait, { text: "Done." }));
  await untilStatus(sidecar, "pictures", "running"); // else both messages go into the first turn
  await client.attach("pictures", "a.png", PNG);
  const input = { text: "", inputId: "p1", when: "next_turn" as const, attachments: ["a.png"] };
  await client.sendInput("pictures", input);
  await until("the message", async () => (await messages("pictures")).some((m) => m.messageId === "p1"));
  await client.amendInput("pictures", "p1", "What is it?", true);
  const edits = await until("the edit", async () => {
    const events = await transcriptOf(sidecar, "pictures");
    const found = events.filter(({ type }) => type === "message_edit");
    return found.length > 0 && found;
  });
  expect(edits).toMatchObject([
    { applied: true, plain: true, content: [{ type: "text", text: "What is it?" }, { type: "image" }] },
  ]);
  const [, picture] = await messages("pictures");
  expect(picture?.content).toMatchObject([{ type: "image", uri: "attachments/a.png" }]);
});

// Promise: S24
test("an upload is whole or not at all, bounded, and only for open agents", async () => {
  const { client, url, token } = sidecar;
  const big = new Uint8Array(randomBytes(MAX_ATTACHMENT_BYTES + 1));
  expect(await refusal(client.attach("files", "big.bin", big))).toMatchObject({ code: "too_large" });
  const before = readdirSync(folder());
  expect(before.filter((name) => name.startsWith(".") || name === "big.bin")).toEqual([]);
  // Its length is not told, so it is counted.
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(big.subarray(0, 1024 * 1024));
    },
  });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" };
  const target = `${url}/thread/files/attachments?name=endless`;
  const endless = await fetch(target, { method: "POST", headers, body, duplex: "half" } as RequestInit).then(
    ({ status }) => status,
    () => 413, // the connection was cut while we wrote
  );
  expect(endless).toBe(413);
  await until("no part of it", () => readdirSync(folder()).join() === before.join());
  expect(await refusal(client.attach("nobody", "a", PNG))).toMatchObject({ code: "not_found" });
  const json = request(url).post("/thread/files/attachments?name=a").set("authorization", `Bearer ${token}`);
  expect((await json.send({})).body.error).toContain("application/octet-stream");
});

// Promise: S24
test("files are read and removed by their names alone; links of a program's making are not followed", async () => {
  const { client } = sidecar;
  await client.attach("files", "kept.txt", bytesOf("kept"));
  expect((await download("kept.txt")).toString()).toBe("kept");
  symlinkSync("/etc/passwd", join(folder(), "link.txt"));
  expect(await refusal(download("link.txt"))).toMatchObject({ code: "not_found" });
  expect(await refusal(download("../thread.json"))).toMatchObject({ code: "invalid_request" });
  const withLink = client.sendInput("files", { text: "x", attachments: ["link.txt"] });
  expect(await refusal(withLink)).toMatchObject({ code: "not_found" });
  const missing = client.sendInput("files", { text: "x", inputId: "m9", attachments: ["gone.txt"] });
  expect(await refusal(missing)).toMatchObject({ code: "not_found" });
  expect((await messages()).some(({ messageId }) => messageId === "m9")).toBe(false);
});

test("uploads at once are no more files than a thread may have; the same one twice is one", async () => {
  const { client, stateDir } = sidecar;
  await openAgent(sidecar, "full", script("Hello", { text: "Hello." }));
  const place = join(stateDir, "threads", "full", "attachments");
  mkdirSync(place, { recursive: true });
  for (let i = 3; i <= MAX_ATTACHMENTS; i++) writeFileSync(join(place, `${i}.txt`), String(i));
  const upload = (name: string) =>
    client.attach("full", name, bytesOf(name)).then(
      () => "kept",
      (error: { code?: string }) => error.code,
    );
  const said = await Promise.all(["a", "a", "b", "c", "d", "e"].map(upload));
  expect(said.slice(0, 2)).toEqual([said[0], said[0]]);
  expect(readdirSync(place).filter((name) => !name.startsWith("."))).toHaveLength(MAX_ATTACHMENTS);
  expect(said.filter((one) => one !== "kept").every((one) => one === "too_large")).toBe(true);
  // An upload whose answer was lost comes again.
  expect((await client.attach("full", "3.txt", bytesOf("3"))).name).toBe("3.txt");
});
