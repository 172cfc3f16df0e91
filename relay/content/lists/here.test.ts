import { expect, test } from "vitest";
import { aDiscordId } from "../../../test/support/ids.ts";
import { hereReply } from "./here.ts";

const SHOP = aDiscordId("100000000000000001");
const row = {
  ...{
    id: SHOP,
    name: "shop",
    dir: "shop",
    mode: "off" as const,
    isFixed: false,
    worktree: false,
    limits: {},
  },
  ...{ engine: null, model: null, permissionMode: null, directive: null },
};
const whoMay = (people: readonly object[]) => {
  const options = {
    channelId: SHOP,
    row,
    problem: null,
    dirs: [],
    missingRoles: [],
    mayChange: false,
    mayGiveRoles: false,
    whoCould: "",
  };
  const reply = hereReply({ ...options, people } as unknown as Parameters<typeof hereReply>[0]);
  return reply.content?.split("\n").find((line) => line.startsWith("Who may: "));
};
const grant = (kind: string, id: string, channelId: string | null, role: string) => ({
  kind,
  id,
  channelId,
  role,
});

test("who has another role in the channel than in all is named once, at the one that counts", () => {
  const people = [
    grant("user", "1", null, "maker"),
    grant("user", "1", SHOP, "viewer"),
    grant("role", "7", null, "member"),
    grant("role", "7", SHOP, "guest"),
    grant("user", "2", null, "owner"),
    grant("user", "2", SHOP, "viewer"),
    grant("user", "3", null, "member"),
    grant("user", "3", SHOP, "member"),
  ];
  expect(whoMay(people)).toBe("Who may: owner <@2> · member <@3> · viewer <@1> · guest <@&7>");
  expect(whoMay([])).toBe("Who may: nobody");
});

test("who may not change it reads who could, whether it is served or not; an owner how to let somebody in", () => {
  const whoCould = "Owners could: <@2>.";
  const shown = (own: Partial<Parameters<typeof hereReply>[0]>) =>
    hereReply({
      ...{ channelId: SHOP, row, problem: null, dirs: [], people: [], missingRoles: [] },
      ...{ mayChange: false, mayGiveRoles: false, whoCould },
      ...own,
    } as unknown as Parameters<typeof hereReply>[0]).content ?? "";
  expect(shown({})).toContain(whoCould);
  expect(shown({ row: undefined })).toContain(whoCould);
  expect(shown({ mayChange: true })).not.toContain(whoCould);
  expect(shown({ mayChange: true })).not.toContain("/here who:");
  expect(shown({ mayChange: true, mayGiveRoles: true })).toContain("/here who:");
});
