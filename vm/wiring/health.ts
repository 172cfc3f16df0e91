/** Whether the sidecar can do its work. */
import type { HealthReply, SandboxHealth } from "../../shared/machine-api.ts";
import { VERSION } from "../../shared/version.ts";
import { LOW_BYTES } from "../streams/disk.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { Machine } from "./machine.ts";

export interface HealthSources {
  now: () => number;
  tmux: Pick<TmuxServer, "downForMs" | "version">;
  freeDiskBytes: () => number;
  sandbox: SandboxHealth;
  groups: NonNullable<HealthReply["groups"]>;
  /** Those that should have begun by now; of many, some names. */
  overdueJobs: () => { count: number; names: string[] };
}

/** Its uptime counts from this call. */
export function createHealth({
  now,
  tmux,
  freeDiskBytes,
  sandbox,
  groups,
  overdueJobs,
}: HealthSources): () => HealthReply {
  const startedAt = now();
  return () => {
    const downMs = tmux.downForMs();
    const freeBytes = freeDiskBytes();
    const hasRoom = freeBytes > LOW_BYTES;
    return {
      ok: downMs === null && hasRoom,
      version: VERSION,
      uptimeSeconds: Math.round((now() - startedAt) / 1_000),
      tmux: {
        up: downMs === null,
        version: tmux.version,
        downForSeconds: downMs === null ? null : Math.round(downMs / 1_000),
      },
      disk: { ok: hasRoom, freeBytes },
      sandbox,
      groups,
      jobs: jobsHealth(overdueJobs()),
    };
  };
}

export function groupsHealth({
  cgroups,
  budgets,
}: Pick<Machine, "cgroups" | "budgets">): HealthSources["groups"] {
  return { areMade: cgroups !== undefined, problems: budgets.problems };
}

function jobsHealth({
  count,
  names,
}: ReturnType<HealthSources["overdueJobs"]>): NonNullable<HealthReply["jobs"]> {
  return { ok: count === 0, overdue: count, names };
}
