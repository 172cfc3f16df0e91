import { expect, test } from "vitest";
import { apiDocs } from "../support/api-docs.ts";

test("docs/api.md is what the routes' definitions say; `npm run docs` writes it", async () => {
  await expect(apiDocs()).toMatchFileSnapshot("../../docs/api.md");
});
