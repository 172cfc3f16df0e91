import { afterAll, beforeAll, expect, test } from "vitest";
import type { SidecarClient } from "../../shared/client.ts";
import { channels as channelRoutes } from "../../shared/protocol/channels.ts";
import { people as routes } from "../../shared/protocol/people.ts";
import { startForTest } from "../support/relay.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal } from "../support/threads.ts";
import { untilValue } from "../support/wait.ts";

/** Who in Discord may is a row on the sidecar, which judges at its door. */

const ADA = "123456789012345678";
const GRACE = "223456789012345678";
const id = (n: number) => String(300_000_000_000_000_000n + BigInt(n));

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar();
});
afterAll(() => sidecar?.close());

const USUAL = { kind: "user", channelId: null, role: "maker", isFixed: true };

const may = async (client: SidecarClient) => {
  try {
    await client.listThreads();
    return true;
  } catch {
    return false;
  }
};

test("nobody may before the relay has said who; then those, and nobody else", async () => {
  const { client } = sidecar;
  expect(await refusal(sidecar.as(ADA).listThreads())).toEqual({
    code: "forbidden",
    message: expect.stringMatching(
      /^You are not on the list .* Nobody has a role that allows it: ALLOWED_USER_IDS/,
    ),
  });
  await client.putPeople([{ id: ADA, role: "maker", handle: "ada" }]);
  await openTerminal(sidecar.as(ADA), "hers", "cat");
  expect(await client.getThread("hers")).toMatchObject({ createdBy: `discord:${ADA}` });
  for (const act of [
    (grace: SidecarClient) => grace.sendInput("hers", { text: "rm -r ." }),
    (grace: SidecarClient) => grace.killThread("hers"),
    (grace: SidecarClient) => grace.getScreen("hers"),
    (grace: SidecarClient) => openTerminal(grace, "graces", "cat"),
  ])
    expect(await refusal(act(sidecar.as(GRACE)))).toEqual({
      code: "forbidden",
      message: expect.stringMatching(new RegExp(`^You are not on the list .* could: <@${ADA}>\\.$`)),
    });
  // Removed people go at once.
  await client.putPeople([{ id: GRACE, role: "maker", handle: "Grace" }]);
  await client.putPeople([{ id: GRACE, role: "maker" }]); // whoever does not know it leaves it
  expect([await may(sidecar.as(ADA)), await may(sidecar.as(GRACE))]).toEqual([false, true]);
  expect(await client.call(routes.list, {})).toEqual({
    people: [{ ...USUAL, id: GRACE, handle: "Grace" }],
  });
  // Whoever gave somebody their role, the relay says what they are called; of others nothing is kept.
  await client.call(routes.setRole, {}, { body: { id: ADA, role: "viewer" } });
  await client.putPeople(
    [{ id: GRACE, role: "maker" }],
    [
      { id: ADA, handle: "Ada L." },
      { id: id(7), handle: "stranger" },
    ],
  );
  const called = async () => (await client.call(routes.list, {})).people.map(({ handle }) => handle);
  expect(await called()).toEqual(["Grace", "Ada L."]);
  await client.call(routes.setRole, {}, { body: { id: id(7), role: "viewer" } });
  expect(await called()).toEqual(["Grace", "Ada L.", null]);
  for (const one of [ADA, id(7)]) await client.call(routes.setRole, {}, { body: { id: one, role: null } });
  // The owner is no person, and asks nobody.
  expect(await may(client)).toBe(true);
});

test("a refusal names a few of many", async () => {
  await sidecar.client.putPeople(
    Array.from({ length: 1_000 }, (_, n) => ({ id: id(n), role: "maker" as const })),
  );
  const { message } = await refusal(sidecar.as(ADA).listThreads());
  expect(message.match(/<@\d+>/g)).toHaveLength(5);
  expect(message).toContain(" and 995 more.");
});

test("what is wrong is named, and changes nothing", async () => {
  const { client } = sidecar;
  await client.putPeople([{ id: ADA, role: "maker" }]);
  for (const [people, words] of [
    [[{ id: "42", role: "maker" }], /people\.0\.id: must be an id of Discord's/],
    [[{ id: GRACE, role: "king" }], /people\.0\.role: must be owner, maker/],
    [[{ id: GRACE }], /people\.0\.role: must be owner, maker/],
    [[{ id: GRACE, role: "maker", handle: "x".repeat(65) }], /people\.0\.handle: must be at most 64/],
    [[{ id: GRACE, role: "maker", admin: true }], /people\.0\.admin: not a known field/],
    [
      [
        { id: GRACE, role: "maker" },
        { id: GRACE, role: "maker" },
      ],
      /people: must name each id once in a channel/,
    ],
    [Array.from({ length: 1_001 }, (_, n) => ({ id: id(n), role: "maker" })), /people: /],
  ] as [never, RegExp][])
    expect(await refusal(client.putPeople(people))).toMatchObject({
      code: "invalid_request",
      message: expect.stringMatching(words),
    });
  expect([await may(sidecar.as(ADA)), await may(sidecar.as(GRACE))]).toEqual([true, false]);
});

test("no person writes who may, through the relay either", async () => {
  await sidecar.client.putPeople([{ id: ADA, role: "maker" }]);
  const ada = sidecar.as(ADA);
  expect(await refusal(ada.putPeople([{ id: GRACE, role: "maker" }]))).toMatchObject({ code: "forbidden" });
  expect(await refusal(ada.putFixedChannels([]))).toMatchObject({ code: "forbidden" });
  expect(await may(sidecar.as(GRACE))).toBe(false);
});

test("who may lasts over a restart", async () => {
  await sidecar.client.putPeople([{ id: ADA, role: "maker" }]);
  await sidecar.restart();
  expect(await may(sidecar.as(ADA))).toBe(true);
});

test("the relay says it at its start and takes back who was removed", async (context) => {
  const all = await startForTest(context, {
    isQuick: true,
    relay: { channelMode: "mention", channelDir: "." },
  });
  const { client } = all.sidecar;
  const { you, stranger } = all;
  expect(await client.call(routes.list, {})).toEqual({
    people: [{ ...USUAL, id: you, role: "owner", handle: null }],
  });
  expect(await client.call(channelRoutes.list, {})).toMatchObject({
    channels: [{ id: all.discord.channelId, dir: ".", mode: "mention" }],
  });
  // What a person is called comes with what they do, and stays over a restart.
  all.discord.driver.command(you, all.discord.channelId, "status");
  const called = { people: [{ ...USUAL, id: you, role: "owner", handle: "You" }] };
  await untilValue(
    "the name",
    () => client.call(routes.list, {}),
    ({ people }) => people[0]?.handle === "You",
  );
  await all.stopRelay();
  await all.startRelay();
  expect(await client.call(routes.list, {})).toEqual(called);
  await all.stopRelay();
  all.relayConfig.allowedUserIds = new Set([stranger]);
  await all.startRelay();
  expect(await client.call(routes.list, {})).toMatchObject({ people: [{ id: stranger }] });
  expect(await may(all.sidecar.as(you))).toBe(false);
});
