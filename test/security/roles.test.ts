/** Roles as rows: who gives them, which one counts where, and which ones last over a restart. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { SidecarClient } from "../../shared/client.ts";
import { PeopleClient } from "../../shared/people-client.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal } from "../support/threads.ts";

const id = (n: number) => String(400_000_000_000_000_000n + BigInt(n)) as never;
const [ADA, BEN, CAT, DEVS, SHOP, INFRA] = [id(1), id(2), id(3), id(4), id(5), id(6)];

let sidecar: TestSidecar;
let client: SidecarClient;
beforeAll(async () => {
  sidecar = await startSidecar();
  ({ client } = sidecar);
  await client.createThread({
    ...{ threadId: "inshop", type: "terminal", dir: ".", command: "cat" },
    home: { channelId: id(50), parentId: SHOP },
  });
  await openTerminal(client, "nowhere", "cat");
});
afterAll(() => sidecar?.close());
beforeEach(async () => {
  await client.putPeople([{ id: ADA, role: "owner" }]);
  for (const { kind, id, channelId, isFixed } of await new PeopleClient(client).list())
    if (!isFixed) await new PeopleClient(client).setRole({ kind, id, channelId, role: null });
});

const give = (of: SidecarClient, who: object) =>
  new PeopleClient(of).setRole({ kind: "user", channelId: null, ...who } as Parameters<
    PeopleClient["setRole"]
  >[0]);
const isLet = async (work: Promise<unknown>) => {
  try {
    await work;
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "forbidden") return false;
    throw error;
  }
};
const reads = (person: SidecarClient, threadId: string) => isLet(person.getThread(threadId));
const writes = (person: SidecarClient, threadId: string) => isLet(person.sendInput(threadId, { text: "x" }));

test("the nearest role counts: in the channel before all channels, a person's own before a role at Discord", async () => {
  const ben = sidecar.as(BEN);
  expect(await reads(ben, "inshop")).toBe(false);
  await give(client, { id: BEN, role: "viewer", channelId: SHOP });
  expect([await reads(ben, "inshop"), await writes(ben, "inshop"), await reads(ben, "nowhere")]).toEqual([
    true,
    false,
    false,
  ]);
  await give(client, { id: BEN, role: "member" });
  // In the shop the role of that channel, which is nearer, still holds.
  expect([await writes(ben, "inshop"), await writes(ben, "nowhere")]).toEqual([false, true]);
  await give(client, { id: BEN, role: null, channelId: SHOP });
  expect(await writes(ben, "inshop")).toBe(true);
  // A role at Discord counts for each person who has it; the relay tells a person's roles with each request.
  const cat = (roles: string[]) => sidecar.as(CAT, roles);
  await give(client, { kind: "role", id: DEVS, role: "member" });
  expect(await writes(cat([]), "nowhere")).toBe(false);
  expect(await writes(cat([DEVS]), "nowhere")).toBe(true);
  // Without roles in a request, those that the relay told last count.
  expect(await writes(sidecar.as(CAT), "nowhere")).toBe(true);
  await give(client, { id: CAT, role: "viewer" });
  expect(await writes(cat([DEVS]), "nowhere")).toBe(false);
  expect(await writes(cat([]), "nowhere")).toBe(false);
});

test("an owner gives and takes roles, one of a channel there alone; nobody else does", async () => {
  const [ada, ben, cat] = [sidecar.as(ADA), sidecar.as(BEN), sidecar.as(CAT)];
  await give(ada, { id: BEN, role: "maker" });
  expect(await isLet(give(ben, { id: CAT, role: "guest" }))).toBe(false);
  await give(ada, { id: BEN, role: "owner", channelId: SHOP });
  await give(ben, { id: CAT, role: "member", channelId: SHOP });
  expect(await isLet(give(ben, { id: CAT, role: "member", channelId: INFRA }))).toBe(false);
  expect(await isLet(give(ben, { id: CAT, role: "member" }))).toBe(false);
  expect(await writes(cat, "inshop")).toBe(true);
  await give(ben, { id: CAT, role: null, channelId: SHOP });
  expect(await writes(cat, "inshop")).toBe(false);
});

test("what the relay's settings give is changed there alone, and lasts over a restart as the others do", async () => {
  await give(client, { id: BEN, role: "viewer", channelId: SHOP });
  expect(await refusal(give(client, { id: ADA, role: "guest" }))).toEqual({
    code: "channel_fixed",
    message: expect.stringContaining("ALLOWED_USER_IDS"),
  });
  const before = await new PeopleClient(client).list();
  expect(before.map(({ id, role, channelId, isFixed }) => [id, role, channelId, isFixed])).toEqual([
    [ADA, "owner", null, true],
    [BEN, "viewer", SHOP, false],
  ]);
  await sidecar.restart();
  ({ client } = sidecar);
  expect(await new PeopleClient(client).list()).toEqual(before);
});

test("a role that the server does not have at Discord is given nothing, once the relay has said which it has", async () => {
  const [TEAM, GONE] = [id(7), id(8)];
  const people = new PeopleClient(client);
  const of = async (roleId: string) => (await people.list()).filter((one) => one.id === roleId);
  await give(client, { kind: "role", id: GONE, role: "member" });
  await people.putServerRoles([
    { id: TEAM, handle: "team" },
    { id: DEVS, handle: null },
  ]);
  for (const role of ["viewer", "owner"])
    expect(await refusal(give(client, { kind: "role", id: GONE, role, channelId: SHOP }))).toEqual({
      code: "invalid_request",
      message: expect.stringMatching(/^id: the server had no role 400000000000000008 at Discord/),
    });
  // A user's id is no role's, what the role has already is taken back as before, and one that is there is called by its name.
  expect(await of(GONE)).toHaveLength(1);
  await give(client, { kind: "role", id: GONE, role: null });
  await give(client, { id: GONE, role: "viewer" });
  await give(client, { kind: "role", id: TEAM, role: "member" });
  expect(await of(TEAM)).toMatchObject([{ kind: "role", handle: "team", role: "member" }]);
  // It lasts over a restart, and the relay alone says it.
  await sidecar.restart();
  ({ client } = sidecar);
  expect(await refusal(give(client, { kind: "role", id: GONE, role: "viewer" }))).toMatchObject({
    code: "invalid_request",
  });
  expect(await isLet(new PeopleClient(sidecar.as(ADA)).putServerRoles([{ id: GONE, handle: null }]))).toBe(
    false,
  );
  for (const [roles, words] of [
    [[], /roles: must have the role of everybody/],
    [[{ id: "42", handle: null }], /roles\.0\.id: must be an id of Discord's/],
    [Array(2).fill({ id: TEAM, handle: null }), /roles: must name each id once/],
    [Array.from({ length: 251 }, (_, n) => ({ id: id(n), handle: null })), /roles: /],
  ] as [never, RegExp][])
    expect(await refusal(new PeopleClient(client).putServerRoles(roles))).toMatchObject({
      code: "invalid_request",
      message: expect.stringMatching(words),
    });
  // Later tests use ids that are in no list.
  await new PeopleClient(client).putServerRoles(
    [DEVS, ...Array.from({ length: 9 }, (_, n) => id(n + 10))].map((one) => ({ id: one, handle: null })),
  );
});

test("bad input is refused by its name", async () => {
  for (const [who, words] of [
    [{ id: BEN, role: "king" }, /role: must be owner, maker, member, viewer, guest/],
    [{ id: "42", role: "guest" }, /id: must be an id of Discord's/],
    [{ id: BEN, role: "guest", channelId: "shop" }, /channelId: must be an id of Discord's/],
    [{ id: BEN, role: "guest", kind: "team" }, /kind: must be user or role/],
    [{ id: BEN, role: "guest", also: 1 }, /also: not a known field/],
  ] as const)
    expect(await refusal(give(client, who))).toEqual({
      code: "invalid_request",
      message: expect.stringMatching(words),
    });
  expect(await refusal(give(client, { id: CAT, role: null }))).toMatchObject({ code: "not_found" });
  expect(await refusal(sidecar.as(CAT, ["x"]).listThreads())).toMatchObject({ code: "invalid_request" });
});
