import { expect, test } from "vitest";
import { knownDiscordId } from "../../shared/ids.ts";
import { Database } from "./database.ts";
import { PeopleTable } from "./people.ts";

const SERVER = knownDiscordId.parse("100000000000000000");
const nth = (n: number) => knownDiscordId.parse(String(200_000_000_000_000_000n + BigInt(n)));
const grant = { channelId: null, role: "viewer" as const };

test("nothing is kept of strangers, and of somebody who has lost their role only that", () => {
  const table = new PeopleTable(new Database(":memory:"), () => undefined);
  for (let n = 0; n < 5; n++) table.noteRoles(nth(n), [SERVER]);
  expect(table.rolesOf(nth(0))).toEqual([]);
  table.set({ kind: "role", id: SERVER, ...grant });
  expect(table.rolesOf(nth(0))).toEqual([]);
  table.noteRoles(nth(0), [SERVER]);
  expect(table.rolesOf(nth(0))).toEqual([SERVER]);
  table.noteRoles(nth(0), []);
  expect(table.rolesOf(nth(0))).toEqual([]);
});

test("of more people than it keeps, the latest are known, in memory as on the disk", () => {
  const db = new Database(":memory:");
  const table = new PeopleTable(db, () => undefined, 3);
  table.set({ kind: "role", id: SERVER, ...grant });
  for (let n = 0; n < 10; n++) table.noteRoles(nth(n), [SERVER]);
  const known = (one: PeopleTable) =>
    Array.from({ length: 10 }, (_, n) => n).filter((n) => one.rolesOf(nth(n)).length > 0);
  expect(known(table)).toEqual([7, 8, 9]);
  expect(known(new PeopleTable(db, () => undefined, 3))).toEqual([7, 8, 9]);
});
