import { expect, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { WhoMay } from "./who-may.ts";

const ADA = "123456789012345678";
const GRACE = "223456789012345678";

const OWNER = { kind: "user" as const, channelId: null, role: "owner" as const };

function start(fails: { next: boolean } = { next: false }) {
  const told: unknown[] = [];
  const client = {
    putPeople: async (_: unknown, handles: unknown) => {
      if (fails.next) throw new Error("down");
      told.push(handles);
    },
    putFixedChannels: async () => undefined,
  };
  const choices = {
    engine: null,
    model: null,
    permissionMode: null,
    limits: {},
    worktree: false,
    directive: null,
    agent: null,
  };
  const channel = { ...choices, id: aDiscordId("1"), dir: ".", mode: "off" as const };
  const serverRoles = { tell: async () => undefined };
  const people = [ADA, GRACE].map((id) => ({ ...OWNER, id: aDiscordId(id) }));
  return {
    told,
    whoMay: new WhoMay({ client, people, channel, serverRoles, log: createLog("relay", "silent") }),
  };
}

const handles = (...names: string[]) => names.map((handle) => [{ id: ADA, handle }]);

test("a name is told once, and again only if it is another one", () => {
  const { told, whoMay } = start();
  for (const name of ["Ada", "Ada", "Ada L."]) whoMay.note(ADA, name);
  expect(told).toEqual(handles("Ada", "Ada L."));
});

test("a name that is long or hides something is made to fit", () => {
  const { told, whoMay } = start();
  whoMay.note(ADA, " \n");
  expect(told).toEqual([]);
  whoMay.note(ADA, `a\nb${"c".repeat(100)}`);
  expect(told).toEqual(handles(`a b${"c".repeat(60)}…`));
});

test("of very many names each is told once, and the newest again to a sidecar that is back", async () => {
  const { told, whoMay } = start();
  for (let id = 0; id < 1_001; id++) whoMay.note(String(id), `n${id}`);
  expect(told).toHaveLength(1_001);
  expect(told.at(-1)).toEqual([{ id: "1000", handle: "n1000" }]);
  await whoMay.tell();
  const last = told.at(-1) as { handle: string }[];
  expect([last.length, last[0]?.handle, last.at(-1)?.handle]).toEqual([1_000, "n1", "n1000"]);
});

test("what could not be told is told when they act again", async () => {
  const fails = { next: true };
  const { told, whoMay } = start(fails);
  whoMay.note(ADA, "Ada");
  await new Promise(setImmediate);
  fails.next = false;
  whoMay.note(ADA, "Ada");
  await whoMay.tell();
  expect(told).toEqual(handles("Ada", "Ada"));
});
