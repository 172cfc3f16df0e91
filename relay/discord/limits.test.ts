import { REST, type ResponseLike } from "discord.js";
import { expect, it } from "vitest";
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

it("holds for each request of a client, whoever makes it", async () => {
  const sent: unknown[] = [];
  const rest = new REST({
    retries: 0,
    makeRequest: async (_url, { body }) => {
      sent.push(JSON.parse(String(body)));
      const answer = new Response("{}", { headers: { "content-type": "application/json" } });
      return answer as unknown as ResponseLike;
    },
  }).setToken("t");
  keepWithinLimits(rest);
  await rest.post("/channels/1/messages", { body: { content: LONG } });
  await rest.patch("/channels/1", { body: { name: LONG } });
  expect(sent).toEqual([{ content: `${"x".repeat(1_995)}…` }, { name: `${"x".repeat(99)}…` }]);
  rest.clearHashSweeper();
  rest.clearHandlerSweeper();
});
