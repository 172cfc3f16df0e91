/** The engine `acp` with the real agents and the loopback model. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import { findFaults, runChaos } from "../support/agent-chaos.ts";
import { type AgentThread, openThreads, says } from "../support/agent-threads.ts";
import { inFull } from "../support/faults.ts";
import { REAL_AGENTS, type RealAgent, realAgentProgram, settle } from "./acp-programs.ts";
import { type Model, startModel, timesIn } from "./model.ts";

/** opencode takes 3 s to start on a machine that does nothing else, and 600 MB. */
const PATIENCE = { timeoutMs: 100_000 };

let model: Model;
beforeEach(async () => {
  // It asks for a call by the name that the agent tells, which need not be the tool's: nobody calls that again.
  model = await startModel({ callsAgain: false });
});
afterEach(() => model.close());
const openThread = openThreads(); // its hook comes later, so it runs first

function open(agent: RealAgent, idleSeconds: number): AgentThread {
  const program = { program: realAgentProgram(agent), args: [...agent.args], env: agent.env(model.url) };
  const thread = openThread({ program, agent: { engine: "acp" }, timeouts: { idleSeconds } });
  settle(agent, thread.home, model.url);
  return thread;
}

/** In the newest request of the conversation: one without tools is beside it, such as for a title. */
function timesHeard(text: string): number {
  const newest = model.requests.findLast(({ tools }) => tools?.length);
  return newest ? timesIn(newest, text) : 0;
}

const effectsOf = ({ dir }: AgentThread) => {
  const file = join(dir, "effects");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
};

describe.each(REAL_AGENTS.map((agent) => [agent.name, agent] as const))("%s", (_, agent) => {
  test("it asks, runs what it may, tells its steps and its words, and stops when it is told to", {
    timeout: 300_000,
  }, async () => {
    const thread = open(agent, 60);
    const command = agent.run("echo one >> effects");
    const endless = agent.run("timeout 60 tail -f /dev/null");
    thread.write(says("please one.", { text: "So.", tools: [command] }, { text: "Done." }));
    thread.start();
    const ask = await thread.event("permission_request", 1, PATIENCE);
    expect(effectsOf(thread)).toEqual([]);
    expect(ask.options.map(({ optionId }) => optionId)).toContain("once");
    thread.answer(ask.requestId, "once");
    expect(await thread.event("turn_end", 1, PATIENCE)).toMatchObject({ stopReason: "end_turn" });
    expect(effectsOf(thread)).toEqual(["one"]);
    expect(thread.of("agent_message").map(({ text }) => text)).toEqual([
      expect.stringMatching(/So\.$/), // codex warns of a model that it does not know
      "Done.",
    ]);
    expect(thread.of("tool_call")).toHaveLength(1);
    expect(thread.of("tool_call_update").at(-1)).toMatchObject({ status: "completed" });
    expect(thread.of("failure")).toEqual([]);

    thread.write(says("please two.", { tools: [endless] }, { text: "Never." }));
    const second = await thread.event("permission_request", 2, PATIENCE);
    const updates = thread.of("tool_call_update").length; // before the answer, which the next one follows at once
    thread.answer(second.requestId, "once");
    await thread.event("tool_call_update", updates + 1, PATIENCE);
    thread.control("interrupt");
    expect(await thread.event("turn_end", 2, PATIENCE)).toMatchObject({ stopReason: "cancelled" });
    expect(timesHeard("please one.")).toBe(1);
  });
});

test.each(REAL_AGENTS.filter(({ resumes }) => resumes).map((agent) => [agent.name, agent] as const))(
  "kill -9 of runner and %s: each message once in the model's context, no effect twice, no ask lost or doubled",
  { timeout: 600_000 },
  async (_, agent) => {
    const thread = open(agent, 3);
    const report = await runChaos({
      ...{ thread, victims: ["both", "engine"], kills: inFull(20, 2), random: seededRandom(41) },
      ...{ run: agent.run, paceMs: 1_500 },
    });
    const faults = findFaults(thread, report);
    for (const name of report.messages) {
      const times = timesHeard(`please ${name}.`);
      if (times !== 1) faults.push(`the model has ${name} ${times} times`);
    }
    expect(faults).toEqual([]);
    expect(Object.values(report.kills).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
    await thread.ended();
    expect(thread.engineProcesses()).toEqual([]);
  },
);
