/** What the sidecar counts, in Prometheus' text form. */
import type { ServerResponse } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { type Thread, threadStatusSchema } from "../../shared/api.ts";
import { afterwards } from "./afterwards.ts";
import { agentMetrics } from "./agent-metrics.ts";

const LATENCY_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

const HOUR_MS = 3_600_000;

export interface MetricsSources {
  listThreads: () => readonly Pick<Thread, "status">[];
  logDiskBytes: () => number;
  /** What threads keep in files beside their logs: agents' folders. */
  folderDiskBytes: () => number;
  isTmuxUp: () => boolean;
  freeDiskBytes: () => number;
}

export class Metrics {
  readonly registry = new Registry();
  /** Takes what an agent's event says. */
  readonly measureAgent = agentMetrics(this.registry);
  readonly inputSeconds = this.#histogram("threadmux_input_seconds", "Time to type an input into its pane.");
  readonly outputSeconds = this.#histogram(
    "threadmux_output_seconds",
    "Time to read output, without the time that a caller chose to wait.",
  );
  readonly tmuxSeconds = this.#histogram(
    "threadmux_tmux_command_seconds",
    "Time that tmux took for a command.",
  );
  readonly httpSeconds = new Histogram({
    name: "threadmux_http_request_seconds",
    help: "Time to answer a request, waiting included.",
    labelNames: ["method", "route", "status"],
    buckets: [...LATENCY_SECONDS, 5, 10, 30],
    registers: [this.registry],
  });
  readonly inputBytes = this.#counter("threadmux_input_bytes_total", "Bytes typed into panes.");
  readonly outputBytes = this.#counter("threadmux_output_bytes_total", "Bytes of logs given to callers.");
  readonly tmuxRestarts = this.#counter(
    "threadmux_tmux_restarts_total",
    "How often the tmux server was lost.",
  );
  readonly gaps = this.#counter("threadmux_log_gaps_total", "How often a log lost its writer.");
  readonly wrongTokens = this.#counter(
    "threadmux_wrong_tokens_total",
    "Requests with a wrong or missing token.",
  );

  readonly jobRuns = new Counter({
    name: "threadmux_job_runs_total",
    help: "Runs of jobs that are over, and due instants without one, by what came of them.",
    labelNames: ["outcome"],
    registers: [this.registry],
  });
  readonly jobLateSeconds = this.#histogram(
    "threadmux_job_late_seconds",
    "Time from a job's due instant to its row.",
  );
  readonly jobUsd = this.#counter("threadmux_job_usd_total", "Dollars that runs of jobs have cost.");

  constructor(sources: MetricsSources) {
    const { registry } = this;
    collectProcessMetrics(registry);
    new Gauge({
      name: "threadmux_threads",
      help: "Threads by status.",
      labelNames: ["status"],
      registers: [registry],
      collect() {
        const threads = sources.listThreads();
        for (const status of threadStatusSchema.options) {
          this.set({ status }, threads.filter((thread) => thread.status === status).length);
        }
      },
    });
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(read());
        },
      });
    gauge("threadmux_log_disk_bytes", "What all logs take on disk.", sources.logDiskBytes);
    gauge("threadmux_folder_disk_bytes", "What all agents' folders take on disk.", sources.folderDiskBytes);
    gauge("threadmux_disk_free_bytes", "What is free on the state folder's disk.", sources.freeDiskBytes);
    gauge("threadmux_tmux_up", "Whether tmux answers.", () => Number(sources.isTmuxUp()));
  }

  /** Watches the readers of all threads' events. */
  watchEvents(events: { readonly readers: number; readonly dropped: number }): void {
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers: [this.registry],
        collect() {
          this.set(read());
        },
      });
    gauge("threadmux_event_readers", "Readers of GET /events that are connected.", () => events.readers);
    gauge(
      "threadmux_event_readers_dropped",
      "Readers that took too long since the start.",
      () => events.dropped,
    );
  }

  /** Measures one request from now on. @param getRoute its pattern, never a path with ids; asked once it is over */
  measureAnswer(method: string, response: ServerResponse, getRoute: () => string): void {
    const startedAt = performance.now();
    response.on("close", () => {
      const seconds = (performance.now() - startedAt) / 1_000;
      afterwards(() =>
        this.httpSeconds.observe({ method, route: getRoute(), status: String(response.statusCode) }, seconds),
      );
    });
  }

  #histogram(name: string, help: string): Histogram {
    return new Histogram({ name, help, buckets: LATENCY_SECONDS, registers: [this.registry] });
  }

  #counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.registry] });
  }
}

/**
 * What prom-client knows of this process, but for the distribution of the event loop's lag: the timer behind it wakes
 * the process a hundred times a second, which is two thirds of what a sidecar with 50 idle threads costs. The lag at
 * one moment stays: each scrape says what was measured at the one before.
 */
function collectProcessMetrics(registry: Registry): void {
  const prefix = "threadmux_";
  collectDefaultMetrics({ register: registry, prefix, eventLoopMonitoringPrecision: HOUR_MS });
  for (const figure of ["min", "max", "mean", "stddev", "p50", "p90", "p99"]) {
    registry.removeSingleMetric(`${prefix}nodejs_eventloop_lag_${figure}_seconds`);
  }
}
