/** A thread's kind is asked (`kinds[thread.type]`, `kindOf(thread)`), its type is not looked at. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const BRANCH =
  /(===|!==)\s*"(terminal|agent|browser|room)"|case "(terminal|agent|browser|room)":|\bis(Agent|Terminal|Browser|Room)\b(?=\s*(\?|&&|\|\|))|\bThreadType\[\]/g;

test("nobody looks at a thread's type but its kind", () => {
  const counts: Record<string, number> = {};
  for (const side of ["agent", "cli", "relay", "shared", "vm"])
    for (const path of readdirSync(`${root}/${side}`, { recursive: true, encoding: "utf8" })) {
      const name = `${side}/${path}`;
      if (!name.endsWith(".ts") || /\.test\.ts$|\/testing\/|\/kinds\//.test(name)) continue;
      const count = readFileSync(`${root}/${name}`, "utf8").match(BRANCH)?.length ?? 0;
      if (count > 0) counts[name] = count;
    }
  expect(counts, "Give the kinds a method, or KindFacts a field, that says it").toEqual({});
});

test("branches as there were before would be found", () => {
  for (const old of [
    'const asks = thread.type === "terminal" && (await pasting.asks(thread));',
    'if (type === "agent" && busy >= MAX_BUSY_AGENTS) {',
    'open.filter(({ type }) => type !== "agent")',
    'mode: isAgent ? "view" : mine.mode,',
    "const TYPES: Record<Kinds, readonly ThreadType[]> = {",
  ])
    expect(old.match(BRANCH)).toHaveLength(1);
});
