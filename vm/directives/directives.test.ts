import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { noteDirectives } from "../../agent/trust/memory.ts";
import { sha256Of } from "../../shared/directives/trusted.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { Directives } from "./directives.ts";

let root: ReturnType<typeof makeFolder>;
let [repo, home, stateDir] = ["", "", ""];
const make = (env: Record<string, string> = {}) =>
  new Directives({
    reposDir: dirname(repo),
    stateDir,
    userSpace: { root: join(stateDir, "home") },
    threadEnv: { HOME: home, ...env },
    engine: "claude",
  });

beforeEach(() => {
  root = makeFolder();
  [repo, home, stateDir] = [
    join(root.path, "repos", "shop"),
    join(root.path, "home"),
    join(root.path, "state"),
  ];
  for (const folder of [repo, home, stateDir]) mkdirSync(folder, { recursive: true });
});
afterEach(() => root.remove());

const textOf = (name: string, words = "text") => `---\nname: ${name}\ndescription: d\n---\n${words}\n`;

function put(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** As a runner notes it once a person has trusted what the question showed. */
function trust(path: string, text: string, isTrusted = true): void {
  noteDirectives(join(stateDir, "trust"), [{ path, sha256: sha256Of(Buffer.from(text)) }], isTrusted);
}

const project = (name: string, text = textOf(name)) =>
  put(join(repo, ".claude", "agents", `${name}.md`), text);
const names = async () => (await make().list({ dir: "shop" })).directives.map(({ as, space }) => [as, space]);

// Promise: S9
test("a directory's directive is not found before it was trusted, nor once it has changed", async () => {
  const file = project("reviewer");
  project("broken", "---\nname: x\n");
  const reply = await make().list({ dir: "shop" });
  expect(reply).toEqual({ directives: [], faults: [] });
  await expect(make().get(repo, "reviewer")).rejects.toThrow(
    /no directive "reviewer" here; none is; .* trusted/,
  );
  await expect(make().get(repo, "project:broken")).rejects.toMatchObject({ code: "not_found" });

  trust(file, textOf("reviewer"));
  expect(await names()).toEqual([["reviewer", "project"]]);
  expect(await make().get(repo, "reviewer")).toMatchObject({
    space: "project",
    file,
    directive: { text: "text" },
  });

  project("reviewer", textOf("reviewer", "other words"));
  expect(await names()).toEqual([]);
  project("reviewer");
  expect(await names()).toEqual([["reviewer", "project"]]);
  trust(file, textOf("reviewer"), false);
  expect(await names()).toEqual([]);
});

test("another file with a trusted text is another one", async () => {
  trust(project("reviewer"), textOf("reviewer"));
  put(join(repo, ".claude", "agents", "copy.md"), textOf("reviewer"));
  expect(await names()).toEqual([["reviewer", "project"]]);
});

test("the directory comes first, then the home, then the state folder; folders are looked into", async () => {
  trust(project("a"), textOf("a"));
  put(join(home, ".claude", "agents", "deep", "er", "b.md"), textOf("b"));
  put(join(home, ".claude", "agents", "notes.txt"), "no directive");
  put(join(stateDir, "directives", "c.md"), textOf("c"));
  put(join(stateDir, "directives", "b.md"), textOf("b", "the state folder's"));
  expect(await names()).toEqual([
    ["a", "project"],
    ["b", "user"],
    ["c", "user"],
  ]);
  expect((await make().get(repo, "user:b")).directive.text).toBe("text");
});

test("a name that both spaces have is asked for with its space", async () => {
  trust(project("a"), textOf("a"));
  put(join(home, ".claude", "agents", "a.md"), textOf("a", "mine"));
  expect(await names()).toEqual([
    ["project:a", "project"],
    ["user:a", "user"],
  ]);
  await expect(make().get(repo, "a")).rejects.toThrow(
    /both the directory's and yours: say project:a or user:a/,
  );
  expect((await make().get(repo, "user:a")).directive.text).toBe("mine");
  expect((await make().get(repo, "project:a")).directive.text).toBe("text");
  await expect(make().get(repo, "else:a")).rejects.toMatchObject({ code: "not_found" });
});

test("two files of a directory with one name are refused, each named", async () => {
  trust(project("a"), textOf("a"));
  trust(put(join(repo, ".claude", "agents", "x", "b.md"), textOf("a")), textOf("a"));
  await expect(make().get(repo, "a")).rejects.toThrow(/two files: .*a\.md and .*x\/b\.md/);
});

test("a file of the person's with a fault is named, and asked for says why", async () => {
  const file = put(join(home, ".claude", "agents", "a.md"), "---\nname: a\nmodel: []\n---\nx");
  const { faults } = await make().list({ dir: "shop" });
  expect(faults).toMatchObject([
    { file, field: "description" },
    { file, line: 3, field: "model" },
  ]);
  await expect(make().get(repo, "a")).rejects.toThrow(/agent\.directive: .*a\.md:3: model: /);
});

test("no link leads out, nothing is waited for, and nothing goes on for ever", async () => {
  const outside = put(join(root.path, "outside", "secret.md"), textOf("secret"));
  const agents = join(home, ".claude", "agents");
  put(join(agents, "a.md"), textOf("a"));
  symlinkSync(outside, join(agents, "link.md"));
  symlinkSync(dirname(outside), join(agents, "folder"));
  symlinkSync(agents, join(agents, "round"));
  symlinkSync("/proc/self/environ", join(agents, "each.md"));
  symlinkSync("nowhere", join(agents, "broken.md"));
  put(join(home, "dotfiles", "b.md"), textOf("b"));
  symlinkSync(join(home, "dotfiles"), join(agents, "mine"));
  execFileSync("mkfifo", [join(agents, "fifo.md")]);
  put(join(agents, "huge.md"), textOf("huge", "x".repeat(1_000_000)));
  const { directives, faults } = await make().list({ dir: "shop" });
  expect(directives.map(({ name }) => name)).toEqual(["a", "b"]);
  const said = faults.map(({ file, problem }) => `${file.slice(agents.length + 1)}: ${problem}`);
  expect(said.sort()).toEqual([
    "each.md: is a link that leads out",
    "fifo.md: it is no file",
    "folder: is a link that leads out",
    "huge.md: it is too long to be looked at",
    "link.md: is a link that leads out",
  ]);
});

test("a link of a trusted directory that leads out is not followed, though its text was trusted", async () => {
  const outside = put(join(root.path, "outside", "a.md"), textOf("a"));
  mkdirSync(join(repo, ".claude", "agents"), { recursive: true });
  const path = join(repo, ".claude", "agents", "a.md");
  symlinkSync(outside, path);
  trust(path, textOf("a"));
  expect(await names()).toEqual([]);
});

test("a folder of many files is bounded, and said", async () => {
  for (let at = 0; at < 600; at++) put(join(stateDir, "directives", `n${at}.md`), textOf(`n${at}`));
  const { directives, faults } = await make().list({ dir: "shop" });
  expect(directives).toHaveLength(500);
  expect(faults.length).toBeLessThanOrEqual(20);
  expect(faults[0]?.problem).toBe("is one too many");
});

test("in the home itself the person's own directives are theirs", async () => {
  put(join(home, ".claude", "agents", "a.md"), textOf("a"));
  const own = new Directives({
    reposDir: root.path,
    stateDir,
    userSpace: { root: join(stateDir, "home") },
    threadEnv: { HOME: home },
    engine: "claude",
  });
  expect((await own.list({ dir: "home" })).directives).toMatchObject([{ as: "a", space: "user" }]);
});
