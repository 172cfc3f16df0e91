/** What agents do, in the sidecar's metrics. */
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentMetrics } from "../../vm/http/agent-metrics.ts";
import { openAgent, STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

async function metricsText(): Promise<string> {
  const headers = { authorization: `Bearer ${sidecar.token}` };
  return (await fetch(`${sidecar.url}/metrics`, { headers })).text();
}

/** The sum of all samples of this name whose labels hold these. */
async function sample(name: string, ...labels: string[]): Promise<number> {
  const lines = (await metricsText()).split("\n").filter((line) => line.startsWith(`${name}{`));
  const fitting = lines.filter((line) => labels.every((label) => line.includes(label)));
  return fitting.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

test("turns, calls of the model and of tools, tokens, and waits are counted once", async () => {
  const bash = { name: "Bash", input: { command: "touch made", description: "d" } };
  await openAgent(sidecar, "measured", script("go", { tools: [bash] }, { text: "Done." }));
  await untilStatus(sidecar, "measured", "waiting");
  const [ask] = await sidecar.client.listAsks("measured");
  await sidecar.client.answerAsk("measured", ask?.requestId ?? "", { optionId: "once" });
  await untilStatus(sidecar, "measured", "idle");
  await until(
    "the turn to be measured",
    async () => (await sample("gen_ai_invoke_agent_duration_seconds_count")) === 1,
  );
  expect(await sample("gen_ai_client_operation_duration_seconds_count", 'gen_ai_operation_name="chat"')).toBe(
    2,
  );
  expect(await sample("gen_ai_client_operation_time_to_first_chunk_seconds_count")).toBe(2);
  expect(await sample("gen_ai_client_token_usage_count", 'gen_ai_token_type="output"')).toBe(2);
  expect(await sample("gen_ai_client_token_usage_sum", 'gen_ai_token_type="input"')).toBeGreaterThan(0);
  expect(
    await sample("gen_ai_execute_tool_duration_seconds_count", 'gen_ai_tool_name="Bash"', 'error_type=""'),
  ).toBe(1);
  expect(await sample("gen_ai_invoke_agent_inference_calls_sum", 'gen_ai_provider_name="anthropic"')).toBe(2);
  expect(await sample("gen_ai_invoke_agent_tool_calls_sum")).toBe(1);
  expect(await sample("threadmux_wait_seconds_count", 'kind="permission"')).toBe(1);
  expect(await sample("threadmux_wait_seconds_sum", 'kind="permission"')).toBeGreaterThan(0);
});

test("values that engines make up are bounded in number and length, and act on nothing", async () => {
  const registry = new Registry();
  const measure = agentMetrics(registry);
  for (let i = 0; i < 200; i++) {
    const gen_ai_tool_name = `${i}"\n${"mcp__evil".repeat(i % 20)}`;
    measure({ metric: "toolSeconds", value: 1, labels: { gen_ai_tool_name, error_type: "" } });
  }
  const text = await registry.metrics();
  const counts = text
    .split("\n")
    .filter((line) => line.startsWith("gen_ai_execute_tool_duration_seconds_count{"));
  expect(counts).toHaveLength(31);
  expect(
    counts
      .find((line) => line.includes('gen_ai_tool_name="other"'))
      ?.split(" ")
      .at(-1),
  ).toBe("170");
  for (const line of counts) expect(line.length).toBeLessThan(200);
});
