/** What agents do, under OpenTelemetry's names for it; what has none there is `threadmux_*`. */
import { Histogram, type Registry } from "prom-client";
import { cleanLine } from "../../shared/clean-text.ts";
import type { Measure } from "../agents/meter.ts";

const CALL_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const LONG_SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 14_400, 43_200];
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];
const CALLS = [0, 1, 2, 5, 10, 20, 50, 100, 200];

const MAX_VALUE_CHARACTERS = 64;
/** Each value of a label is kept for good: engines and their tools may make up as many as they like. */
const MAX_VALUES = 30;

const CHAT = ["gen_ai_operation_name", "gen_ai_request_model", "gen_ai_provider_name", "error_type"];

/** Registers the metrics. @returns what takes a measure */
export function agentMetrics(registry: Registry): (measure: Measure) => void {
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[]) =>
    new Histogram({ name, help, buckets, labelNames, registers: [registry] });
  const histograms: Record<Measure["metric"], Histogram> = {
    chatSeconds: histogram(
      "gen_ai_client_operation_duration_seconds",
      "Time of a call of the model.",
      CALL_SECONDS,
      CHAT,
    ),
    firstChunkSeconds: histogram(
      "gen_ai_client_operation_time_to_first_chunk_seconds",
      "Time until a call of the model answers.",
      CALL_SECONDS,
      CHAT,
    ),
    tokens: histogram("gen_ai_client_token_usage", "Tokens of a call of the model.", TOKENS, [
      ...CHAT,
      "gen_ai_token_type",
    ]),
    toolSeconds: histogram(
      "gen_ai_execute_tool_duration_seconds",
      "Time of a call of a tool.",
      LONG_SECONDS,
      ["gen_ai_tool_name", "error_type"],
    ),
    turnSeconds: histogram("gen_ai_invoke_agent_duration_seconds", "Time of an agent's turn.", LONG_SECONDS, [
      "gen_ai_provider_name",
      "error_type",
    ]),
    inferenceCalls: histogram("gen_ai_invoke_agent_inference_calls", "Calls of the model in a turn.", CALLS, [
      "gen_ai_provider_name",
    ]),
    toolCalls: histogram("gen_ai_invoke_agent_tool_calls", "Calls of tools in a turn.", CALLS, [
      "gen_ai_provider_name",
    ]),
    waitSeconds: histogram(
      "threadmux_wait_seconds",
      "Time that agents waited for a person (permission, question, plan, trust) or a lock.",
      LONG_SECONDS,
      ["kind"],
    ),
  };
  const values = new LabelValues();
  return ({ metric, value, labels }) => {
    const operation = CHAT_METRICS.has(metric) ? { gen_ai_operation_name: "chat" } : {};
    histograms[metric].observe({ ...operation, ...values.bound(labels) }, value);
  };
}

const CHAT_METRICS: ReadonlySet<Measure["metric"]> = new Set(["chatSeconds", "firstChunkSeconds", "tokens"]);

/** The first values of each label as they are, all others as one. */
class LabelValues {
  readonly #known = new Map<string, Set<string>>();

  bound(labels: Record<string, string>): Record<string, string> {
    return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, this.#one(name, value)]));
  }

  #one(name: string, raw: string): string {
    const value = cleanLine(raw).slice(0, MAX_VALUE_CHARACTERS);
    const known = this.#known.get(name) ?? new Set<string>();
    this.#known.set(name, known);
    if (!known.has(value) && known.size >= MAX_VALUES) return "other";
    known.add(value);
    return value;
  }
}
