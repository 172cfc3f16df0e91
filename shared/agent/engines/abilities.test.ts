import { expect, test } from "vitest";
import { abilitiesOf } from "./abilities.ts";
import { claude } from "./claude.ts";
import { command } from "./command.ts";

test("an engine that asks no kind of question is told as one that asks none", () => {
  expect(command.capabilities.questions).toEqual([]);
  expect(abilitiesOf(command).cannot).toContain("asks questions");
  expect(abilitiesOf(command).can).not.toContain("asks questions");
  expect(abilitiesOf(claude).can).toContain("asks questions");
});
