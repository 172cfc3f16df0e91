/** `docs/promises.md`: each promise of the documents, and the tests that hold it, which name it in a comment. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const ROOT = new URL("../../", import.meta.url).pathname;
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

/** Where promises stand, as rows of a table whose first cell is their id. */
const PLACES = [
  { document: "docs/security.md", head: "| id | promise |", title: "What is promised" },
  { document: "docs/reliability.md", head: "| id | what | what happens |", title: "What can go wrong" },
];

/** The cells of a table's rows, without its head. @throws Error if the document has no such table. */
export function rowsOf(document: string, head: string): string[][] {
  const lines = read(document).split("\n");
  const start = lines.findIndex((line) => line.startsWith(head));
  if (start < 0) throw new Error(`${document} has no table that begins with ${head}`);
  const rest = lines.slice(start + 2);
  const end = rest.findIndex((line) => !line.startsWith("|"));
  const rows = end < 0 ? rest : rest.slice(0, end);
  return rows.map((row) => row.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "").trim()));
}

export function promiseIds(): string[] {
  return PLACES.flatMap(({ document, head }) => rowsOf(document, head).map(([id = ""]) => id));
}

export interface HeldPromise {
  id: string;
  file: string;
  /** What the test, or the group of tests, below the comment is called. */
  test: string;
}

/** Each `// Promise: S1, R2` above a test or a group of tests. @throws Error if none stands below it. */
export function heldPromises(): HeldPromise[] {
  const files = execFileSync("git", ["ls-files", "*.test.ts", "*.agents.ts"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return files
    .trim()
    .split("\n")
    .flatMap((file) => heldIn(file, read(file)));
}

/** The same of one file. */
export function heldIn(file: string, text: string): HeldPromise[] {
  const marks = [...text.matchAll(/^[ \t]*\/\/ Promise: (.+)\n/gm)];
  if (marks.length === 0) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const named = new Map<number, string>();
  const visit = (node: ts.Node) => {
    if (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)) {
      const [name] = node.expression.arguments;
      if (name) named.set(node.getStart(), ts.isStringLiteralLike(name) ? name.text : name.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return marks.flatMap(({ 0: line, 1: ids = "", index }) => {
    const below = index + line.length;
    const test = named.get(below + (text.slice(below).match(/^\s*/)?.[0].length ?? 0));
    if (test === undefined) throw new Error(`${file}: no test below "${line.trim()}"`);
    return ids.split(",").map((id) => ({ id: id.trim(), file, test }));
  });
}

export function promiseDocs(): string {
  const held = heldPromises();
  const parts = [
    "# Promises, and the tests that hold them",
    "",
    "<!-- Made by `npm run docs` of the comments `// Promise: S1` above tests. -->",
  ];
  for (const { document, head, title } of PLACES) {
    const name = document.replace("docs/", "");
    parts.push(
      "",
      `## ${title}`,
      "",
      `The ids are those of [${name}](${name}).`,
      "",
      "| id | held by |",
      "|---|---|",
    );
    for (const [id = ""] of rowsOf(document, head)) {
      const tests = held
        .filter((one) => one.id === id)
        .map(({ file, test }) => `\`${file}\` "${test.replaceAll("|", "\\|")}"`);
      parts.push(`| ${id} | ${tests.join(", ")} |`);
    }
  }
  return `${parts.join("\n")}\n`;
}
