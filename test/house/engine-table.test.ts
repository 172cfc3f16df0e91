import { expect, test } from "vitest";
import { agentsDocument } from "../support/engine-table.ts";

test("docs/agents.md has the table that the engines' tests recorded; `npm run docs` writes it", async () => {
  await expect(agentsDocument()).toMatchFileSnapshot("../../docs/agents.md");
});
