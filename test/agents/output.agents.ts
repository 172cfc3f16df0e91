/** The real program: a result by a schema, turn for turn. */
import { expect, test } from "vitest";
import { says } from "../support/agent-threads.ts";
import { realThreads } from "./real-threads.ts";

const real = realThreads();
const give = (input: Record<string, unknown>) => ({ tools: [{ name: "StructuredOutput", input }] });

test.each([
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
  undefined,
])("each turn's result is told, and held to the schema (%s)", async ($schema) => {
  const properties = { line: { type: "integer" } };
  const outputSchema = { ...($schema && { $schema }), type: "object", required: ["line"], properties };
  const thread = real.open({ agent: { outputSchema } });
  thread.write(says("go", give({ line: 7 }), { text: "Here." }));
  thread.start();
  expect(await thread.event("turn_end")).toMatchObject({ output: "valid", result: { line: 7 } });
  thread.write(says("more", give({ line: "8" }), give({ line: 8 }), { text: "Here." }));
  expect(await thread.event("turn_end", 2)).toMatchObject({ output: "valid", result: { line: 8 } });
});

test("a word that it does not know: the thread fails, and says which", async () => {
  const thread = real.open({ agent: { outputSchema: { type: "array", prefixItems: [{ type: "string" }] } } });
  thread.write(says("go", { text: "Here." }));
  thread.start();
  expect((await thread.event("failure")).message).toContain("prefixItems");
});
