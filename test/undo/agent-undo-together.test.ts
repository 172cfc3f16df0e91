/**
 * Two agents in one work tree whose turns interleave: undoing the turn of one leaves what the other wrote, and names
 * it. Real sidecar, runners, locks and git, the stand-in engine.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import { seededRandom } from "../../shared/random.ts";
import { BYPASS_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const ROUNDS = inFull(60, 4);
const PATHS = ["a", "b", "c", "d/x", "d/y", "new"];
const AGENTS = ["one", "two"] as const;
type Agent = (typeof AGENTS)[number];

let sidecar: TestSidecar;
let dir: string;
beforeAll(async () => {
  sidecar = await startSidecar(BYPASS_CONFIG);
  dir = join(sidecar.reposDir, "shared");
  mkdirSync(join(dir, "d"), { recursive: true });
  for (const path of PATHS.slice(0, 5)) writeFileSync(join(dir, path), "0\n");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: dir });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  for (const agent of AGENTS) {
    const permissionMode = "bypassPermissions";
    const thread = { threadId: agent, type: "agent" as const, dir: "shared" };
    await sidecar.client.createThread({
      ...thread,
      command: script("Hello", { text: "Hello." }),
      agent: { permissionMode },
    });
    await untilStatus(sidecar, agent, "idle");
  }
});
afterAll(() => sidecar?.close());

type Files = Record<string, string | undefined>;
const filesNow = (): Files =>
  Object.fromEntries(
    PATHS.map((path) => {
      const file = join(dir, path);
      return [path, existsSync(file) ? readFileSync(file, "utf8") : undefined];
    }),
  );

const of = async <T extends ThreadEvent["type"]>(agent: Agent, type: T) =>
  (await transcriptOf(sidecar, agent)).filter((event): event is EventOf<T> => event.type === type);

interface Touch {
  agent: Agent;
  kind: "Write" | "Bash";
  path: string;
}

/** What each call of a turn touches, and the file that lets it go on. */
type Plan = { touch: Touch; gate: string; round: Round }[];

let count = 0;
function planTurn(agent: Agent, random: (below: number) => number): Plan {
  return Array.from({ length: 1 + random(3) }, () => {
    const path = PATHS[random(PATHS.length)] ?? "a";
    const kind = random(3) === 0 ? "Bash" : "Write";
    const gate = join(sidecar.folders.path, `gate-${count++}`);
    const text = `${agent} ${count}`;
    const tool =
      kind === "Write"
        ? { name: "Write", input: { file_path: join(dir, path), content: `${text}\n` } }
        : { name: "Bash", input: { command: `echo '${text}' >> '${path}'` } };
    return { touch: { agent, kind, path }, gate, round: { tools: [tool], waitFor: gate } };
  });
}

/** The state before the turn, or after its newest call, is kept. */
function isAtRest(agent: Agent, ended: number): boolean {
  const file = join(sidecar.stateDir, "threads", agent, "turn.json");
  const notes = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  return notes.ended === ended && notes.until === null && notes.running.length === 0;
}

/** Both agents' turns, a call of the one or of the other at a time. @returns what was touched, and both turns */
async function interleave(random: (below: number) => number) {
  const plans = { one: planTurn("one", random), two: planTurn("two", random) };
  const last = join(sidecar.folders.path, `gate-${count++}`);
  const [ended, done] = [
    { one: 0, two: 0 },
    { one: 0, two: 0 },
  ];
  for (const agent of AGENTS) {
    ended[agent] = (await of(agent, "turn_end")).length;
    done[agent] = (await of(agent, "tool_call_update")).length;
    const rounds = plans[agent].map(({ round }) => round);
    await sidecar.client.sendInput(agent, {
      text: script("Go", ...rounds, { text: "Done.", waitFor: last }),
    });
    await until(`the state before a turn of ${agent}`, () => isAtRest(agent, ended[agent]));
  }
  const before = filesNow();
  const touches: Touch[] = [];
  const left = { ...plans };
  while (left.one.length + left.two.length > 0) {
    const agent = left.two.length === 0 || (left.one.length > 0 && random(2) === 0) ? "one" : "two";
    const [call, ...rest] = left[agent];
    left[agent] = rest;
    if (!call) continue;
    writeFileSync(call.gate, "");
    touches.push(call.touch);
    done[agent]++;
    await until("the call", async () => (await of(agent, "tool_call_update")).length === done[agent]);
    await until("the state after the call", () => isAtRest(agent, ended[agent]));
  }
  writeFileSync(last, "");
  const turns = { one: "", two: "" };
  for (const agent of AGENTS) {
    const end = await until("the turn's end", async () => (await of(agent, "turn_end"))[ended[agent]]);
    turns[agent] = end.turnId;
  }
  return { before, touches, turns };
}

test(`${ROUNDS} pairs of turns that interleave: each undo puts back its own files, and names the other's`, {
  timeout: ROUNDS * 30_000,
}, async () => {
  const random = seededRandom(7);
  const below = (limit: number) => Math.floor(random() * limit);
  const seen = { back: 0, left: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const { before, touches, turns } = await interleave(below);
    for (const agent of below(2) === 0 ? AGENTS : [...AGENTS].reverse()) {
      const atUndo = filesNow();
      const turnId = turns[agent];
      const changes = (await of(agent, "turn_changes")).find((event) => event.turnId === turnId);
      const undos = (await of(agent, "undo")).length;
      await sidecar.client.controlAgent(agent, { control: "undo", turnId });
      const done = await until("the undo", async () => (await of(agent, "undo"))[undos]);
      const now = filesNow();
      const named = [...(changes?.others ?? []), ...done.left.map(({ path }) => path)];
      const where = `round ${round}, ${agent}: ${JSON.stringify({ touches, changes, done })}`;
      for (const path of PATHS) {
        const ofPath = touches.filter((touch) => touch.path === path);
        const isAlone = ofPath.length > 0 && ofPath.every((touch) => touch.agent === agent);
        // What a command changed may be anybody's while the other has a turn: it stays, or it is right.
        if (isAlone && ofPath.every(({ kind }) => kind === "Write")) {
          expect(now[path], `${path}, ${where}`).toBe(before[path]);
          seen.back++;
        } else if (!isAlone || now[path] !== before[path]) {
          expect(now[path], `${path} stays, ${where}`).toBe(atUndo[path]);
          const isOwn = ofPath.some((touch) => touch.agent === agent);
          if (!isOwn || atUndo[path] === before[path]) continue;
          expect(named, `${path} is named, ${where}`).toContain(path);
          seen.left++;
        }
      }
    }
    if (round % 10 === 9) console.log(`${round + 1} of ${ROUNDS} rounds: ${JSON.stringify(seen)}`);
  }
  expect(seen.back).toBeGreaterThan(0);
  expect(seen.left).toBeGreaterThan(0);
});
