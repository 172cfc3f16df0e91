/** Inputs that follow at once: none overtakes a shell that is about to begin what the one before asked for. */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
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

test.each(SHELLS.filter(isThere))(
  "%s: so do the lines of one input that is no paste",
  async (name, command) => {
    const { client } = sidecar;
    const threadId = `lines-${name.replaceAll(" ", "-")}`;
    await openTerminal(client, threadId, command);
    await untilOutput(client, threadId, "ready> ");
    for (let round = 0; round < ROUNDS; round++) {
      const text = `read x; echo "round-${round}:$x."\nword\nread y; echo "then-${round}:$y."\nother`;
      await client.sendInput(threadId, { text, paste: false });
      await untilOutput(client, threadId, `round-${round}:word.`);
      await untilOutput(client, threadId, `then-${round}:other.`);
    }
  },
);

test("lines that a killed sidecar had typed are not typed again", async () => {
  const { client } = sidecar;
  await openTerminal(client, "half", "PS1='ready> ' bash --norc --noprofile -i; :");
  await untilOutput(client, "half", "ready> ");
  // A sidecar that is killed after the first of three lines leaves this in the pane.
  await sidecar.folders.tmux("set-option", "-p", "-t", "=thread-half:", "@threadmux_input", "p1 1");
  await client.sendInput("half", {
    text: "echo 1:$((1))\necho 2:$((2))\necho 3:$((3))",
    paste: false,
    inputId: "p1",
  });
  const seen = await untilOutput(client, "half", "3:3");
  expect(seen).toContain("2:2");
  expect(seen).not.toContain("1:1");
  expect(await client.sendInput("half", { text: "echo 1", paste: false, inputId: "p1" })).toMatchObject({
    duplicate: true,
  });
});

test("a line that ends the program takes the rest of its input along", async () => {
  const { client } = sidecar;
  await openTerminal(client, "ends", "PS1='ready> ' exec bash --norc --noprofile -i");
  await untilOutput(client, "ends", "ready> ");
  expect(await client.sendInput("ends", { text: "exit\nsleep 1\nsleep 1", paste: false })).toEqual({
    sent: true,
  });
});
