import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withRights } from "../support/rights-docs.ts";
import { configurationDocs, envExample } from "../support/settings-docs.ts";

test("docs/configuration.md is what the schemas of the settings say; `npm run docs` writes it", async () => {
  await expect(configurationDocs()).toMatchFileSnapshot("../../docs/configuration.md");
});

test(".env.example too", async () => {
  await expect(envExample()).toMatchFileSnapshot("../../.env.example");
});

test("the table in docs/security.md is that of shared/rights.ts", async () => {
  const file = new URL("../../docs/security.md", import.meta.url);
  await expect(withRights(readFileSync(file, "utf8"))).toMatchFileSnapshot("../../docs/security.md");
});
