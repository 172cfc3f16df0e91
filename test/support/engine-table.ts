/** The table engine × what works in `docs/agents.md`, made of what the engines' tests recorded (`test/engines/results/`). */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const RESULTS = fileURLToPath(new URL("../engines/results", import.meta.url));
const DOCUMENT = fileURLToPath(new URL("../../docs/agents.md", import.meta.url));
const BEGIN = "<!-- Made of the results of test/engines by `npm run docs`. -->";
const END = "<!-- End of the table. -->";

type Results = Record<string, string>;

/** The document with the table as the results have it. @throws Error if it has no place for the table */
export function agentsDocument(): string {
  const text = readFileSync(DOCUMENT, "utf8");
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`docs/agents.md has no lines ${BEGIN} and ${END}`);
  return `${text.slice(0, from + BEGIN.length)}\n\n${table()}\n\n${text.slice(to)}`;
}

function table(): string {
  const columns = readdirSync(RESULTS)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => ({
      engine: basename(name, ".json"),
      results: JSON.parse(readFileSync(join(RESULTS, name), "utf8")) as Results,
    }));
  const labels = new Set(columns.flatMap(({ results }) => Object.keys(results)));
  return [
    `| An agent of the engine … | ${columns.map(({ engine }) => `\`${engine}\``).join(" | ")} |`,
    `|---|${columns.map(() => "---|").join("")}`,
    ...[...labels].map(
      (label) => `| ${label} | ${columns.map(({ results }) => results[label] ?? "not tested").join(" | ")} |`,
    ),
  ].join("\n");
}
