import { spawn as spawnTerminal } from "node-pty";
import { afterEach, expect, test } from "vitest";
import { untilValue } from "../../test/support/wait.ts";
import { LineDisciplines } from "./line-discipline.ts";

const disciplines = new LineDisciplines();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A terminal whose program has set this, with its name. */
async function terminal(settings: string): Promise<string> {
  const program = spawnTerminal("sh", ["-c", `stty ${settings}; tty; exec sleep 1000`], {
    cols: 80,
    rows: 24,
  });
  ends.push(() => program.kill("SIGKILL"));
  let said = "";
  program.onData((text) => {
    said += text;
  });
  return untilValue(
    "the terminal's name",
    async () => /\/dev\/\S+/.exec(said)?.[0] ?? "",
    (tty) => tty !== "" && /\n$/.test(said),
  );
}

test("each way to read keys is told, of many terminals at once, in whatever order", async () => {
  const ttys = [await terminal("sane"), await terminal("-echo"), await terminal("raw -echo")];
  const told = await Promise.all([...ttys, ...ttys.toReversed()].map((tty) => disciplines.find(tty)));
  const plain = { isByLine: true, isEchoing: true };
  const hidden = { isByLine: true, isEchoing: false };
  const raw = { isByLine: false, isEchoing: false };
  expect(told).toEqual([plain, hidden, raw, raw, hidden, plain]);
});

test("of what is no terminal, or none any more, nobody can say; the next one is told all the same", async () => {
  const tty = await terminal("sane");
  const wrong = [
    "",
    "/dev/pts/99999",
    "/dev/null",
    "/etc/passwd",
    "/dev/pts/0\n/dev/pts/1",
    "-a",
    "/dev/$(x)",
  ];
  const told = await Promise.all([...wrong, tty].map((name) => disciplines.find(name)));
  expect(told).toEqual([...wrong.map(() => undefined), { isByLine: true, isEchoing: true }]);
});

test("a closed one ends its process and says nothing any more", async () => {
  const own = new LineDisciplines();
  const tty = await terminal("sane");
  expect(await own.find(tty)).toBeDefined();
  const asked = own.find(tty);
  await own.close();
  expect(await asked).toBeUndefined();
  expect(await own.find(tty)).toBeUndefined();
});
