/** What the relay keeps on the sidecar: marks, messages, ledgers. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal } from "../support/threads.ts";

let sidecar: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 20 });
  await openTerminal(sidecar.client, "open", "cat");
});
afterAll(() => sidecar.close());

test("the relay's mark is kept and comes back", async () => {
  const { client } = sidecar;
  const mark = { offset: 3, pages: [{ id: "1", nasty: "ü\0'\"" }] };
  await client.putDelivery("open", mark);
  expect((await client.getThread("open")).delivery).toEqual(mark);
  await client.putDelivery("open", { offset: 4 });
  await sidecar.restart();
  expect((await client.listThreads()).find((thread) => thread.threadId === "open")?.delivery).toEqual({
    offset: 4,
  });
  expect(await refusal(client.putDelivery("open", { offset: 1, x: "y".repeat(5_000) }))).toMatchObject({
    code: "invalid_request",
  });
  const tooDeep = await fetch(`${sidecar.url}/thread/open/delivery`, {
    method: "PUT",
    headers: { authorization: `Bearer ${sidecar.token}`, "content-type": "application/json" },
    body: `{"offset":0,"x":${"[".repeat(8_000)}${"]".repeat(8_000)}}`,
  });
  expect(tooDeep.status).toBe(400);
  expect(await refusal(client.putDelivery("nobody", { offset: 1 }))).toMatchObject({ code: "not_found" });
});

test("a message that is to be kept is known by its id once its row is forgotten, the oldest first", async () => {
  const { client } = sidecar;
  await openTerminal(client, "kept", "cat");
  expect(await client.listKeptMessages("kept")).toEqual([]);
  await client.putMessage("kept", "t2", { messageId: "1000", keep: true });
  await client.putMessage("kept", "t1", { messageId: "999", keep: true });
  await client.putMessage("kept", "post.1", { messageId: "1001" });
  await client.putMessage("kept", "w3.0", { messageId: "1002", keep: true, forget: ["t1", "t2"] });
  await sidecar.restart();
  expect(await client.listKeptMessages("kept")).toEqual([
    { messageId: "999", key: "t1" },
    { messageId: "1000", key: "t2" },
    { messageId: "1002", key: "w3.0" },
  ]);
  expect((await client.listLedgers())["kept"]?.map(({ key }) => key)).toEqual(["post.1", "w3.0"]);
  expect(await refusal(client.listKeptMessages("nobody"))).toMatchObject({ code: "not_found" });
});

test("the relay's ledger is kept: one intent at a time, ids, and what it forgets", async () => {
  const { client } = sidecar;
  await openTerminal(client, "ledger", "cat");
  const rows = async () => (await client.listLedgers())["ledger"];
  expect(await rows()).toBeUndefined();
  await client.putMessage("ledger", "page.0", { after: "100", nonce: "n0" });
  expect(await rows()).toEqual([{ key: "page.0", messageId: null, after: "100", nonce: "n0" }]);
  await client.putMessage("ledger", "page.0", { messageId: "101" });
  await client.putMessage("ledger", "page.1", { after: "101", nonce: "n1" });
  // Another intent: the message of the one before was looked for and not found.
  await client.putMessage("ledger", "bell.1", { after: "101", nonce: "n2" });
  await sidecar.restart();
  const sent = { key: "page.0", messageId: "101", after: null, nonce: null };
  expect(await rows()).toEqual([sent, { key: "bell.1", messageId: null, after: "101", nonce: "n2" }]);
  // A message that was deleted is sent anew: until it has an id, the row is an intent again.
  await client.putMessage("ledger", "page.0", { after: "102", nonce: "n3", forget: ["bell.1", "unknown"] });
  expect(await rows()).toEqual([{ key: "page.0", messageId: null, after: "102", nonce: "n3" }]);
  expect(await refusal(client.putMessage("nobody", "page.0", { messageId: "1" }))).toMatchObject({
    code: "not_found",
  });
  for (const [key, note, field] of [
    ["no/slash", { messageId: "1" }, "key"],
    ["page.0", { messageId: "x" }, "messageId"],
    ["page.0", { after: "1", nonce: "y".repeat(26) }, "nonce"],
    ["page.0", { messageId: "1", forget: ["a b"] }, "forget.0"],
  ] as const) {
    const { code, message } = await refusal(
      client.putMessage("ledger", key, { ...note, forget: [...("forget" in note ? note.forget : [])] }),
    );
    expect(code).toBe("invalid_request");
    expect(message).toContain(field);
  }
  await client.killThread("ledger");
  expect(await rows()).toBeUndefined();
  expect((await client.listLedgers({ status: "all" }))["ledger"]).toHaveLength(1);
});

test("a ledger is bounded", async () => {
  const { client } = sidecar;
  await openTerminal(client, "ledgers", "cat");
  await sidecar.stop();
  const db = new Database(join(sidecar.stateDir, "threadmux.db"));
  const insert = db.prepare("INSERT INTO messages (thread_id, key, message_id) VALUES ('ledgers', ?, '1')");
  for (let i = 0; i < 1_000; i++) insert.run(`page.${i}`);
  db.close();
  await sidecar.restart();
  const full = await refusal(client.putMessage("ledgers", "page.1000", { messageId: "2" }));
  expect(full).toMatchObject({ code: "too_large", message: expect.stringContaining("1,000 messages") });
  await client.putMessage("ledgers", "page.999", { messageId: "2" });
  await client.putMessage("ledgers", "page.1000", { messageId: "3", forget: ["page.0"] });
});
