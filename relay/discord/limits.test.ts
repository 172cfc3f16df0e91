import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MessageFlags, REST, type ResponseLike, Routes } from "discord.js";
import { expect, it, onTestFinished } from "vitest";
import { fitBody, fitContent, keepWithinLimits } from "./limits.ts";

const LONG = "x".repeat(5_000);

it("cuts every text of a request's body to what Discord takes", () => {
  const body = fitBody({
    content: LONG,
    name: LONG,
    components: [{ type: 1, components: [{ type: 2, label: LONG, custom_id: "done" }] }],
    embeds: [{ title: LONG, description: LONG, fields: [{ name: LONG, value: LONG }] }],
    data: { content: LONG, choices: Array.from({ length: 40 }, (_, i) => ({ name: LONG, value: `${i}` })) },
    archived: true,
  }) as Record<string, never>;
  const lengths = JSON.stringify(body, (_, value) => (typeof value === "string" ? value.length : value));
  expect(JSON.parse(lengths)).toEqual({
    content: 1_996,
    name: 100,
    components: [{ type: 1, components: [{ type: 2, label: 80, custom_id: 4 }] }],
    embeds: [{ title: 256, description: 4_096, fields: [{ name: 256, value: 1_024 }] }],
    data: { content: 1_996, choices: expect.any(Array) },
    archived: true,
  });
  const choices = (body["data"] as unknown as { choices: { name: string; value: string }[] }).choices;
  expect([choices.length, choices[0]?.name.length, choices[24]?.value]).toEqual([25, 100, "24"]);
});

it("leaves out a choice whose value can't be whole, and what needs no cut as it is", () => {
  const fine = { content: "hello", tts: false, nested: { content: LONG } };
  expect(fitBody(fine)).toEqual(fine);
  expect(fitBody([{ name: LONG }])).toEqual([{ name: LONG }]);
  expect(fitBody(undefined)).toBe(undefined);
  const choices = [
    { name: "a", value: LONG },
    { name: "b", value: "b" },
  ];
  expect(fitBody({ data: { choices } })).toEqual({ data: { choices: [choices[1]] } });
});

it("closes a code block that it cuts", () => {
  const cut = fitContent(`Last lines:\n\`\`\`\n${LONG}\n\`\`\`\nend`);
  expect([cut.length <= 2_000, cut.endsWith("…\n```")]).toEqual([true, true]);
});

/** A client whose requests' bodies can be looked at. */
function recording(): { rest: REST; sent: unknown[] } {
  const sent: unknown[] = [];
  const rest = new REST({
    retries: 0,
    makeRequest: async (_url, { body }) => {
      const json = body instanceof FormData ? body.get("payload_json") : body;
      sent.push(JSON.parse(String(json)));
      const answer = new Response("{}", { headers: { "content-type": "application/json" } });
      return answer as unknown as ResponseLike;
    },
  }).setToken("t");
  keepWithinLimits(rest);
  onTestFinished(() => {
    rest.clearHashSweeper();
    rest.clearHandlerSweeper();
  });
  return { rest, sent };
}

// Promise: S23
it("holds for each request of a client, whoever makes it", async () => {
  const { rest, sent } = recording();
  await rest.post("/channels/1/messages", { body: { content: LONG } });
  await rest.patch("/channels/1", { body: { name: LONG } });
  expect(sent).toEqual([
    { content: `${"x".repeat(1_995)}…`, flags: SUPPRESS },
    { name: `${"x".repeat(99)}…` },
  ]);
});

const SUPPRESS = MessageFlags.SuppressEmbeds;

// Promise: S40
it("lets Discord fetch no link of a message, reply, follow-up or edit", async () => {
  const { rest, sent } = recording();
  const content = "https://x.example/?secret";
  const [id, token] = ["123456789012345678", "to.ken"];
  const files = [{ name: "a.txt", data: Buffer.from("a") }];
  await rest.post(Routes.channelMessages(id), { body: { content } });
  await rest.post(Routes.channelMessages(id), { body: { content, flags: 4096 }, files });
  await rest.patch(Routes.channelMessage(id, id), { body: { content } });
  await rest.patch(Routes.channelMessage(id, id), { body: { components: [] } });
  await rest.post(Routes.webhook(id, token), { body: { content, flags: MessageFlags.Ephemeral } });
  await rest.patch(Routes.webhookMessage(id, token), { body: { content } });
  await rest.patch(Routes.webhookMessage(id, token, id), { body: { content } });
  for (const type of [4, 7])
    await rest.post(Routes.interactionCallback(id, token), {
      body: { type, data: { content } },
      auth: false,
    });
  await rest.post(Routes.interactionCallback(id, token), { body: { type: 7 }, auth: false });
  const flagsOf = (body: unknown) => {
    const { flags, data } = body as { flags?: number; data?: { flags?: number } };
    return data?.flags ?? flags;
  };
  expect(sent.map(flagsOf)).toEqual([
    SUPPRESS,
    SUPPRESS | MessageFlags.SuppressNotifications,
    SUPPRESS,
    SUPPRESS,
    SUPPRESS | MessageFlags.Ephemeral,
    ...Array.from({ length: 5 }, () => SUPPRESS),
  ]);
});

it("adds no flag to what is no message, or takes none", async () => {
  const { rest, sent } = recording();
  const [id, token] = ["123456789012345678", "to.ken"];
  await rest.post(Routes.threads(id), { body: { name: "a" } });
  await rest.post(Routes.threads(id, id), { body: { name: "a" } });
  await rest.patch(Routes.channel(id), { body: { archived: true } });
  for (const type of [5, 6, 8, 9])
    await rest.post(Routes.interactionCallback(id, token), {
      body: { type, data: { flags: 64 } },
      auth: false,
    });
  expect(JSON.stringify(sent)).not.toMatch(/"flags":(?!64\b)/);
});

// Promise: S40
it("is the one way to Discord: nobody makes a client that goes around it", () => {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  const makers = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /(?<!\.test)\.ts$/.test(name))
    .filter((name) =>
      /\bnew (?:REST|Client|WebhookClient)\b|\bmakeRequest\b/.test(readFileSync(join(folder, name), "utf8")),
    );
  expect(makers.sort()).toEqual(["discord/bot.ts", "discord/rest.ts", "doctor/discord.ts"]);
  for (const name of makers) {
    const text = readFileSync(join(folder, name), "utf8");
    expect(text.match(/\bnew (?:REST|Client)\b/g)).toHaveLength(1);
    expect(text).toMatch(/\bnew (?:REST|Client)\([\s\S]*?\n {2}keepWithinLimits\(/);
  }
});
