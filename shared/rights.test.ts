import { expect, test } from "vitest";
import { type Grant, refusalText } from "./rights.ts";

const user = (id: string, role: Grant["role"], channelId: string | null = null): Grant => ({
  ...{ kind: "user", id, role, channelId },
});

test("a refusal names nobody who may not do it in this channel, though they may in others", () => {
  const grants = [
    user("1", "owner"),
    user("2", "member"),
    user("2", "viewer", "shop"),
    user("3", "viewer"),
    user("3", "member", "shop"),
  ];
  const whoCould = (channelId: string) => refusalText("type", { role: "guest", grants, channelId });
  expect(whoCould("shop")).toMatch(/could: <@1>, <@3>\.$/);
  expect(whoCould("infra")).toMatch(/could: <@1>, <@2>\.$/);
});
