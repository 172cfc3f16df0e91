import { expect, test } from "vitest";
import { channelSchema } from "../../../shared/channel-api.ts";
import type { PersonRow } from "../../../shared/people-api.ts";
import { aDiscordId } from "../../../test/support/ids.ts";
import { byChannel, rolesOf } from "./channels.ts";

const [FIRST, SHOP, GONE] = ["100000000000000001", "100000000000000002", "100000000000000003"] as const;
const channel = (id: string, name: string) =>
  channelSchema.parse({ id, dir: ".", mode: "off", name, isFixed: false });
const CHANNELS = [channel(FIRST, "general"), channel(SHOP, "shop")];

test("a tree stands below its first thread's channel; what is in none that is served comes last", () => {
  const at = (name: string, parentId: string | null, depth = 0) => ({
    thread: {
      name,
      home: parentId === null ? null : { channelId: null, after: null, parentId: aDiscordId(parentId) },
    },
    depth,
  });
  const tree = [
    at("a", SHOP),
    at("a's child", FIRST, 1),
    at("b", null),
    at("c", FIRST),
    at("d", GONE),
    at("e", SHOP),
  ];
  const groups = byChannel(tree, CHANNELS);
  const names = groups.map((group) => [group.channel?.name, group.placed.map(({ thread }) => thread.name)]);
  expect(names).toEqual([
    ["general", ["c"]],
    ["shop", ["a", "a's child", "e"]],
    [undefined, ["b", "d"]],
  ]);
  expect(byChannel([], CHANNELS).map((group) => group.channel?.name)).toEqual(["general", "shop"]);
});

test("of the roles of a person the nearest counts, as at the sidecar's door", () => {
  const row = (
    kind: PersonRow["kind"],
    id: string,
    role: PersonRow["role"],
    channelId: string | null = null,
  ) => ({
    ...{ kind, id: aDiscordId(id), role, handle: kind === "user" && channelId === null ? `n${id}` : null },
    ...{ channelId: channelId === null ? null : aDiscordId(channelId), isFixed: false },
  });
  const people = [
    row("user", "11", "owner"),
    row("user", "11", "viewer", SHOP),
    row("user", "12", "maker"),
    row("user", "12", "viewer", SHOP),
    row("role", "13", "member", SHOP),
    row("user", "14", "guest", FIRST),
  ];
  const told = (id: string) =>
    rolesOf(id, people).map(({ role, holders }) => [role, holders.map((one) => one.handle ?? one.id)]);
  expect(told(SHOP)).toEqual([
    ["owner", ["n11"]],
    ["member", ["13"]],
    ["viewer", ["n12"]],
  ]);
  expect(told(FIRST)).toEqual([
    ["owner", ["n11"]],
    ["maker", ["n12"]],
    ["guest", ["14"]],
  ]);
  expect(rolesOf(SHOP, people)[0]?.may).toContain("begin threads");
});
