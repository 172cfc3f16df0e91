/** The Discord threads of what is made below a channel: their rows are there with the thread, or nothing is. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { channels } from "../../shared/protocol/channels.ts";
import { VoiceClient } from "../../shared/voice-client.ts";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { openMember, roomsOf } from "../support/rooms.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";

const CHANNEL = aDiscordId("430000000000000001");

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  const folder = join(sidecar.stateDir, "directives");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "critic.md"), "---\nname: critic\ndescription: d\n---\nYou doubt.");
  await sidecar.client.call(channels.set, { channelId: CHANNEL }, { body: { mode: "main" } });
  await openMember(sidecar, "ann");
});
afterAll(() => sidecar?.close());

const critic = { directive: "critic" };
const makeRoom = (threadId: string, members: Array<{ directive: string } | { threadId: string }>) =>
  roomsOf(sidecar).create({ threadId, protocol: "reactive", channelId: CHANNEL, members });
const findMain = () => new VoiceClient(sidecar.client).findMain(CHANNEL);
const open = async () =>
  (await sidecar.client.listThreads({ status: "open" })).map(({ threadId }) => threadId).sort();

function change(sql: string): void {
  const database = new Database(join(sidecar.stateDir, "threadmux.db"));
  database.exec(sql);
  database.close();
}

test("a failure between a thread and its Discord thread's row leaves neither", async () => {
  await makeRoom("first", [critic, critic]);
  const before = await open();
  change(`CREATE TRIGGER no_home BEFORE UPDATE OF parent_id ON homes
          BEGIN SELECT RAISE(ABORT, 'between the two'); END`);
  try {
    for (const attempt of [
      () => makeRoom("second", [{ threadId: "ann" }, critic]),
      () => roomsOf(sidecar).add("first", critic),
      findMain,
    ])
      expect(await refusal(attempt())).toMatchObject({ code: "internal" });
    expect(await open()).toEqual(before);
  } finally {
    change("DROP TRIGGER no_home");
  }
  await makeRoom("second", [{ threadId: "ann" }, critic]);
  await roomsOf(sidecar).add("first", critic);
  const { threadId: main } = await findMain();
  for (const id of ["first", "first-1", "first-2", "first-3", "second", "second-1", main]) {
    const { home } = await sidecar.client.getThread(id);
    expect(home).toEqual({ channelId: null, after: null, parentId: CHANNEL });
  }
});
