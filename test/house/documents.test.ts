/** The documents lead to each other, and the README stays one page. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url).pathname;
const DOCUMENTS = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const read = (document: string) => readFileSync(join(ROOT, document), "utf8");

/** The ids by which a page's headings are linked, as GitHub and GitLab make them. */
const anchorsOf = (document: string) =>
  [...read(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

test.each(DOCUMENTS)("what %s links to is there", (document) => {
  for (const [link, path = "", anchor] of read(document).matchAll(
    /\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g,
  )) {
    const target = path === "" ? document : join(dirname(document), path);
    expect(existsSync(join(ROOT, target)), link).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(target), link).toContain(anchor);
  }
});

test("the README leads to every document, and has at most 8 KB", () => {
  const readme = read("README.md");
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(8_192);
  const elsewhere = ["docs/testing.md"]; // CONTRIBUTING leads there
  for (const document of DOCUMENTS.filter((name) => name !== "README.md" && !elsewhere.includes(name)))
    expect(readme).toContain(`(${document})`);
});
