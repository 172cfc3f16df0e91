/**
 * Calls at gates of all deciders while runners and engines are killed between request and decision, and two decide at
 * once: each call is decided once, what ran is what was hashed and let go on, and time that is over never means yes.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callKeyOf } from "../../shared/agent/call-key.ts";
import type { EventOf, ThreadEvent } from "../../shared/agent/events.ts";
import type { Gate } from "../../shared/agent/gates.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { engineOf, folderOf, runnersOf } from "../support/agent-siege.ts";
import { STAND_IN_CONFIG, script, transcriptOf } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { signal } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const CALLS = inFull(200, 12);
const THREADS = inFull(4, 2);
const KILL_PERCENT = 35;

/** The kinds of calls, which their commands name, and whether such a call may ever run. A person decides by chance. */
const KINDS = {
  person: undefined,
  late: false,
  cyes: true,
  cno: false,
  dyes: true,
  dno: false,
  dlate: false,
};
type Kind = keyof typeof KINDS;
const names = Object.keys(KINDS) as Kind[];

let seed = 2_828;
const random = (max: number) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * max);
};

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar({ ...STAND_IN_CONFIG, askFiles: true });
  const folder = join(sidecar.folders.home, ".claude", "agents");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "reviewer.md"), "---\nname: reviewer\ndescription: d\n---\nReview.");
});
afterAll(() => sidecar?.close());

const says = (output: object, more: object = {}) => script("Look.", { ...more, output });
const at = (kind: Kind) => ({ at: "before_step" as const, if: { command: `*${kind}-*` } });
const GATES: Gate[] = [
  { ...at("person"), by: "person" },
  { ...at("late"), by: "person", timeoutSeconds: 1 },
  { ...at("cyes"), by: "command: sleep 0.3; exit 0" },
  { ...at("cno"), by: "command: sleep 0.3; exit 1" },
  { ...at("dyes"), by: "directive: reviewer", prompt: says({ decision: "continue" }) },
  { ...at("dno"), by: "directive: reviewer", prompt: says({ decision: "fail", text: "no" }) },
  {
    ...at("dlate"),
    by: "directive: reviewer",
    timeoutSeconds: 1,
    prompt: says({ decision: "continue" }, { waitFor: "never" }),
  },
];

const commandOf = (kind: Kind, number: number) => `echo ${number} >> effects; : ${kind}-`;
const isOf =
  <T extends ThreadEvent["type"]>(type: T) =>
  (event: ThreadEvent): event is EventOf<T> =>
    event.type === type;

/** The answers that were accepted, by the request's id; each request may have one. */
const taken = new Map<string, string[]>();

/** Answers with a button that lets the call go on, one that does not, and a file, all at once. */
async function decideAtOnce(id: string, requestId: string): Promise<void> {
  const approved = random(2) === 0;
  const folder = threadPath(folderOf(sidecar, id), "approvals");
  const answers = ["continue", "fail"].map(async (optionId) => {
    await sidecar.client.answerAsk(id, requestId, { optionId });
    taken.set(requestId, [...(taken.get(requestId) ?? []), optionId]);
  });
  if (existsSync(join(folder, `${requestId}.request.json`)))
    writeFileSync(join(folder, `${requestId}.response.json`), JSON.stringify({ approved }));
  // A second answer, or one to a thread that is being started anew, is refused.
  await Promise.allSettled(random(2) === 0 ? answers : [...answers].reverse());
}

function killSome(id: string): void {
  const folder = folderOf(sidecar, id);
  const victims = [runnersOf(folder), [engineOf(folder)]];
  for (const pid of victims[random(2)] ?? []) if (pid !== undefined) signal(pid, "SIGKILL");
}

/** Drives a thread until its calls have come to an end. @returns its transcript */
async function drive(id: string, kinds: readonly Kind[]): Promise<ThreadEvent[]> {
  const seen = new Set<string>();
  return until(
    `the end of ${id}`,
    async () => {
      const events = await transcriptOf(sidecar, id);
      for (const { requestId } of events.filter(isOf("gate_request"))) {
        if (seen.has(requestId)) continue;
        seen.add(requestId);
        if (random(100) < KILL_PERCENT) killSome(id);
      }
      const gates = new Map(events.filter(isOf("gate_request")).map((one) => [one.requestId, one]));
      for (const { requestId } of await sidecar.client.listAsks(id)) {
        const gate = gates.get(requestId);
        if (gate && GATES[gate.gate]?.timeoutSeconds === undefined) await decideAtOnce(id, requestId);
      }
      const { status } = await sidecar.client.getThread(id);
      if (status === "failed") await sidecar.client.controlAgent(id, { control: "resume" });
      const words = events.filter(isOf("agent_message")).map(({ text }) => text);
      return words.includes(`Done with ${kinds.length}.`) && status === "idle" && events;
    },
    { timeoutMs: inFull(1_500_000, 180_000), intervalMs: 200 },
  );
}

function wasCutOff(events: readonly ThreadEvent[], callKey: string): boolean {
  const calls = events
    .filter(isOf("tool_call"))
    .filter(({ name, rawInput }) => callKeyOf(name, rawInput) === callKey);
  const ids = calls.map(({ toolCallId }) => toolCallId);
  const ends = events.filter(isOf("tool_call_update"));
  return ends.some(({ toolCallId, reason }) => reason === "interrupted" && ids.includes(toolCallId));
}

test(
  `of ${CALLS} calls each is decided once, and none runs that was not let`,
  async () => {
    const perThread = CALLS / THREADS;
    const threads = Array.from({ length: THREADS }, (_, n) => ({
      id: `siege-${n}`,
      kinds: Array.from({ length: perThread }, (_, at) => names[(at + n * 3) % names.length] as Kind),
    }));
    for (const { id, kinds } of threads) {
      mkdirSync(join(sidecar.reposDir, id));
      const calls = kinds.map((kind, number) => ({
        tools: [{ name: "Bash", input: { command: commandOf(kind, number) } }],
      }));
      const command = script("Go", ...calls, { text: `Done with ${kinds.length}.` });
      const agent = { permissionMode: "auto", gates: GATES };
      await sidecar.client.createThread({ threadId: id, type: "agent", dir: id, command, agent });
    }
    const transcripts = await Promise.all(threads.map(({ id, kinds }) => drive(id, kinds)));
    for (const [n, { id, kinds }] of threads.entries()) {
      const events = transcripts[n] ?? [];
      const file = join(sidecar.reposDir, id, "effects");
      const ran = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : [];
      expect(new Set(ran).size, `${id}: ${ran} ran once each`).toBe(ran.length);
      const asked = events.filter(isOf("gate_request"));
      const decided = [
        ...events.filter(isOf("gate_response")).filter(({ outcome }) => outcome !== "withdrawn"),
        ...events
          .filter(isOf("permission_response"))
          .flatMap((event) =>
            "optionId" in event && event.optionId !== undefined
              ? [{ ...event, outcome: event.optionId }]
              : [],
          ),
      ];
      for (const { requestId } of asked)
        expect(decided.filter((one) => one.requestId === requestId).length, requestId).toBeLessThanOrEqual(1);
      for (const [requestId, options] of taken) expect(options, requestId).toHaveLength(1);
      for (const [number, kind] of kinds.entries()) {
        const callKey = callKeyOf("Bash", { command: commandOf(kind, number) });
        const requests = asked.filter((one) => one.callKey === callKey).map(({ requestId }) => requestId);
        expect(requests.length, `${kind} ${number} was asked about`).toBeGreaterThan(0);
        const outcomes = decided
          .filter(({ requestId }) => requests.includes(requestId))
          .map(({ outcome }) => outcome);
        const isLet = outcomes.includes("continue");
        if (ran.includes(number)) expect(isLet, `${kind} ${number} ran and was let`).toBe(true);
        if (KINDS[kind] === false) expect(outcomes, `${kind} ${number}`).not.toContain("continue");
        // A call that had begun when its engine was killed is not run again: nobody knows how far it came.
        if (KINDS[kind] && !wasCutOff(events, callKey)) expect(ran, `${kind} ${number}`).toContain(number);
        if (KINDS[kind] === false) expect(ran, `${kind} ${number}`).not.toContain(number);
      }
    }
  },
  inFull(1_600_000, 200_000),
);
