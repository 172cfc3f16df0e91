/** The sidecar is killed at each step of a room's making, and of a member's: a room is there with its members, or nothing is. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SIEGE_ENV } from "../support/agent-siege.ts";
import { script } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { openMember, roomsOf, untilRests } from "../support/rooms.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

const CHANNEL = aDiscordId("430000000000000001");
const critic = { directive: "critic" };
const FOLDERS = ["threads", "logs", "rooms"];

let sidecar: SpawnedSidecar;
beforeAll(async () => {
  sidecar = await spawnSidecar(SIEGE_ENV);
  const folder = join(sidecar.stateDir, "directives");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "critic.md"), "---\nname: critic\ndescription: d\n---\nYou doubt.");
  await openMember(sidecar, "ann");
  await openMember(sidecar, "ben");
}, 60_000);
afterAll(() => sidecar?.close());

const rooms = () => roomsOf(sidecar);
const openIds = async () =>
  (await sidecar.client.listThreads({ status: "all" })).map(({ threadId }) => threadId).sort();
const ofRoom = (roomId: string) => (name: string) => name.startsWith(roomId);

function inDatabase<T>(work: (database: Database.Database) => T): T {
  const database = new Database(join(sidecar.stateDir, "threadmux.db"));
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/**
 * What is kept under ids that begin with the room's. A folder and an empty log that no row has yet are no thread, and the
 * next one of that id replaces them.
 */
function leftOf(roomId: string, rowless: string): string[] {
  const files = FOLDERS.flatMap((folder) => {
    const path = join(sidecar.stateDir, folder);
    return existsSync(path)
      ? readdirSync(path).filter((name) => ofRoom(roomId)(name) && !name.startsWith(rowless))
      : [];
  });
  const rows = inDatabase((database) =>
    ["threads", "homes", "agents", "rooms"].flatMap((table) =>
      database
        .prepare(`SELECT thread_id AS id FROM ${table}`)
        .all()
        .map((row) => `${table} ${(row as { id: string }).id}`)
        .filter((row) => ofRoom(roomId)(row.slice(table.length + 1))),
    ),
  );
  return [...files, ...rows];
}

/**
 * The sidecar stands at a step, and is killed there.
 * @param step as a trigger has it, and when
 * @param isNear whether all before the step was done
 */
async function killAt(step: string, isNear: () => boolean, act: () => Promise<unknown>): Promise<void> {
  inDatabase((database) =>
    database.exec(`CREATE TRIGGER hold BEFORE ${step} BEGIN
      SELECT count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c);
    END`),
  );
  const acted = act().then(
    () => "done",
    () => "cut off",
  );
  await until(`the sidecar to stand at ${step}`, isNear);
  await sidecar.kill9();
  expect(await acted).toBe("cut off");
  inDatabase((database) => database.exec("DROP TRIGGER hold"));
  await sidecar.start();
}

const hasRow = (threadId: string) => () =>
  inDatabase((database) => database.prepare("SELECT 1 FROM threads WHERE thread_id = ?").get(threadId)) !==
  undefined;
const hasLog = (threadId: string) => () =>
  readdirSync(join(sidecar.stateDir, "logs")).some((name) => name.startsWith(`${threadId}.`));

test.each([
  [
    "first",
    "the first member's row",
    "first-1",
    "INSERT ON threads WHEN NEW.thread_id = 'first-1'",
    hasLog("first-1"),
  ],
  [
    "second",
    "the second member's row",
    "second-2",
    "INSERT ON threads WHEN NEW.thread_id = 'second-2'",
    hasRow("second-1"),
  ],
  ["third", "the room's row", "third.", "INSERT ON threads WHEN NEW.thread_id = 'third'", hasRow("third-2")],
  [
    "fourth",
    "the room's counting as made",
    "none",
    "UPDATE OF is_made ON threads WHEN NEW.thread_id = 'fourth'",
    hasRow("fourth"),
  ],
])(
  "%s: killed before %s, it leaves nothing, and is made by the same request",
  async (roomId, _, rowless, step, isNear) => {
    const make = () =>
      rooms().create({
        ...{ threadId: roomId, protocol: "reactive", channelId: CHANNEL },
        members: [{ threadId: "ann" }, critic, critic],
      });
    const before = await openIds();
    await killAt(step, isNear, make);
    await untilValue(
      "all of it to be gone",
      () => leftOf(roomId, rowless),
      (left) => left.length === 0,
    );
    expect(await openIds()).toEqual(before);
    const { members } = await make();
    expect(members.map(({ threadId }) => threadId)).toEqual(["ann", `${roomId}-1`, `${roomId}-2`]);
    await rooms().remove(roomId, "@ann");
  },
);

test("killed once it is there, it is there with its members, which speak", async () => {
  await killAt(
    "UPDATE ON agents WHEN NEW.thread_id = 'whole-1'",
    () => hasRow("whole")() && inDatabase(isMade("whole-2")),
    () =>
      rooms().create({
        threadId: "whole",
        protocol: "round_robin",
        members: [critic, { threadId: "ben" }, critic],
      }),
  );
  const { members, isOpen } = await rooms().get("whole");
  expect({ isOpen, names: members.map(({ name }) => name) }).toEqual({
    isOpen: true,
    names: ["critic", "ben", "critic-2"],
  });
  await sidecar.client.sendInput("whole", { text: script("Well?", { text: "No." }) });
  expect((await untilRests(sidecar, "whole")).why).toBe("nobody has anything to say");
  expect(await openIds()).toEqual(expect.arrayContaining(["whole", "whole-1", "whole-2"]));
});

test("killed before a new member is one, it leaves the room as it was", async () => {
  await rooms().create({ threadId: "grows", protocol: "reactive", members: [critic, critic] });
  const before = await openIds();
  const add = () => rooms().add("grows", critic);
  await killAt("INSERT ON room_members WHEN NEW.member_id = 'grows-3'", hasRow("grows-3"), add);
  await until(
    "what was begun to be gone",
    () => !leftOf("grows", "none").some((one) => one.includes("grows-3")),
  );
  expect(await openIds()).toEqual(before);
  expect((await rooms().get("grows")).members).toHaveLength(2);
  expect((await add()).members.map(({ threadId }) => threadId)).toEqual(["grows-1", "grows-2", "grows-3"]);
});

function isMade(threadId: string): (database: Database.Database) => boolean {
  return (database) =>
    database.prepare("SELECT 1 FROM threads WHERE thread_id = ? AND is_made = 1").get(threadId) !== undefined;
}
