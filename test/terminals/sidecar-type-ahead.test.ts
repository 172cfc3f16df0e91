/** Inputs that follow at once: none overtakes a shell that is about to begin what the one before asked for. */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, test } from "vitest";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";

const ROUNDS = 20;

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
});
afterAll(() => sidecar.close());

const SHELLS: [string, string][] = [
  ["bash", "PS1='ready> ' bash --norc --noprofile -i; :"],
  ["bash that asks for no pastes", "PS1='ready> ' TERM=dumb bash --norc --noprofile -i; :"],
  ["zsh", "PS1='ready> ' zsh -f -i; :"],
];
const isThere = ([name = ""]: [string, string]) =>
  spawnSync(name.split(" ")[0] ?? "", ["--version"]).status === 0;

test.each(SHELLS.filter(isThere))(
  "%s: Enter that follows a line at once ends the line that the line's command reads",
  async (name, command) => {
    const { client } = sidecar;
    const threadId = `ahead-${name.replaceAll(" ", "-")}`;
    await openTerminal(client, threadId, command);
    await untilOutput(client, threadId, "ready> ");
    for (let round = 0; round < ROUNDS; round++) {
      // Both at once: they are typed in this order, nothing between them.
      const line = client.sendInput(threadId, { text: `read x; echo "round-${round}:$x."` });
      const answer = client.sendInput(threadId, { text: "word" });
      await Promise.all([line, answer]);
      await untilOutput(client, threadId, `round-${round}:word.`);
    }
  },
);
