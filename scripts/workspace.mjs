// The folder that threads run in if REPOS_DIR names none.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Makes `folder`, unless it is there, with something to complete and to run for the first /terminal. */
export function makeWorkspace(folder) {
  if (existsSync(folder)) return;
  const example = join(folder, "example");
  mkdirSync(example, { recursive: true });
  const readme = `# A workspace

threadmux runs its threads in the directories here; put or clone your projects beside this one. To try it:

    /terminal dir:example command:./count.sh
    /terminal dir:example command:bash
    /agent dir:example prompt:hello
`;
  writeFileSync(join(example, "README.md"), readme);
  const script = `#!/bin/sh
# Counts to ten on one line, then asks for a name: a program to watch and to type into.
for i in 1 2 3 4 5 6 7 8 9 10; do
  printf '\\rcounting: %s of 10' "$i"
  sleep 1
done
printf '\\nYour name? '
read -r name
echo "Hello, $name."
`;
  writeFileSync(join(example, "count.sh"), script, { mode: 0o755 });
  // A repository of its own, or git would take it for a part of this checkout; with a commit, for worktrees.
  const git = (...args) => spawnSync("git", ["-C", example, ...args], { stdio: "ignore" });
  git("init", "--quiet", "--initial-branch", "main");
  git("add", ".");
  const person = [
    "-c",
    "user.name=threadmux",
    "-c",
    "user.email=threadmux@localhost",
    "-c",
    "commit.gpgSign=false",
  ];
  git(...person, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "The example");
}
