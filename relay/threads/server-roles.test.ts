import { expect, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { type ServerRole, toldPersonSchema } from "../../shared/people-api.ts";
import { ServerRoles } from "./server-roles.ts";

const [TEAM, GONE] = ["500000000000000001", "500000000000000002"];

function start(list: () => { id: string; name: string }[] | undefined) {
  const told: (readonly ServerRole[])[] = [];
  const warned: unknown[] = [];
  const log = Object.assign(createLog("relay", "silent"), { warn: (of: unknown) => warned.push(of) });
  const people = [TEAM, GONE].map((id) => toldPersonSchema.parse({ kind: "role", id, role: "viewer" }));
  const vm = { people: { putServerRoles: async (roles: readonly ServerRole[]) => void told.push(roles) } };
  return { told, warned, serverRoles: new ServerRoles({ vm, people, list, log }) };
}

test("names are made to fit, and a role of the settings that is not there is said once", async () => {
  const { told, warned, serverRoles } = start(() => [
    { id: TEAM, name: `a\nb${"c".repeat(100)}` },
    { id: "500000000000000003", name: " \n" },
  ]);
  await serverRoles.tell();
  await serverRoles.tell();
  expect(told).toHaveLength(2);
  expect(told[0]).toEqual([
    { id: TEAM, handle: `a b${"c".repeat(60)}…` },
    { id: "500000000000000003", handle: null },
  ]);
  expect(warned).toEqual([{ roleId: GONE }]);
  expect([serverRoles.has(TEAM), serverRoles.has(GONE)]).toEqual([true, false]);
});

test("while the server is out of reach nothing is said, and no role is missing", async () => {
  for (const list of [() => undefined, () => []]) {
    const { told, warned, serverRoles } = start(list);
    await serverRoles.tell();
    expect([told, warned]).toEqual([[], []]);
  }
  expect(start(() => undefined).serverRoles.has(GONE)).toBeUndefined();
});
