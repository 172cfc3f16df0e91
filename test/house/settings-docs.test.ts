import { expect, test } from "vitest";
import { configurationDocs, envExample } from "../support/settings-docs.ts";

test("docs/configuration.md is what the schemas of the settings say; `npm run docs` writes it", async () => {
  await expect(configurationDocs()).toMatchFileSnapshot("../../docs/configuration.md");
});

test(".env.example too", async () => {
  await expect(envExample()).toMatchFileSnapshot("../../.env.example");
});
