/** The texts of systemd units and of their settings. Pure. */

export type Scope = "system" | "user";

export interface UnitPlan {
  scope: Scope;
  /** The program of Node.js. */
  node: string;
  /** The build's folder. */
  dist: string;
  envFile: string;
  /** A system unit has this user's rights. */
  user: string;
  /** Its folders, which must be there first: a volume may be mounted late. */
  stateDir: string;
  /** Whether systemd knows `DelegateSubgroup`: an older one warns of it at each start. */
  hasSubgroups: boolean;
}

export const SIDECAR = "threadmux-sidecar.service";
export const RELAY = "threadmux-relay.service";

/** `KillMode=process`: tmux, and the threads in it, outlive a stop and a restart. */
const KEEPS_THREADS = "KillMode=process";

export function sidecarUnit(plan: UnitPlan): string {
  return unit(
    plan,
    "threadmux sidecar",
    "vm/main.js",
    [],
    [
      // Threads run below it: what keeps it in would keep them in, their sudo and their agents' sandbox too.
      KEEPS_THREADS,
      "# Control groups, one a thread.",
      "Delegate=yes",
      ...(plan.hasSubgroups
        ? [
            "# Its own processes stand beside the threads' groups, which can be bounded then.",
            "DelegateSubgroup=sidecar",
          ]
        : []),
      "# A thread that takes all memory is ended, not the sidecar.",
      "OOMPolicy=continue",
      "LimitNOFILE=65536",
      "Restart=always",
      "RestartSec=3",
      "# Settings that it refuses stay refused.",
      "RestartPreventExitStatus=2",
    ],
  );
}

export function relayUnit(plan: UnitPlan): string {
  return unit(
    plan,
    "threadmux relay",
    "relay/main.js",
    ["--max-old-space-size=512", "--max-semi-space-size=4"],
    [
      "Restart=always",
      "# It waits for Discord and the sidecar by itself; what it ends for is not over in seconds.",
      "RestartSec=15",
      "UMask=0077",
      ...hardening(plan.scope),
    ],
    `After=${SIDECAR}`,
  );
}

/** The sidecar's, once everything that runs below it is to end with it. */
export function endingUnit(text: string): string {
  return text.replace(KEEPS_THREADS, "KillMode=control-group");
}

/** A user's own systemd may not make mounts. Memory that is written and run is what V8 lives on. */
function hardening(scope: Scope): string[] {
  return [
    "NoNewPrivileges=yes",
    "RestrictSUIDSGID=yes",
    "RestrictRealtime=yes",
    "RestrictNamespaces=yes",
    "LockPersonality=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    "SystemCallArchitectures=native",
    ...(scope === "user"
      ? []
      : [
          "CapabilityBoundingSet=",
          "ProtectSystem=strict",
          "ProtectHome=read-only",
          "PrivateTmp=yes",
          "PrivateDevices=yes",
          "ProtectClock=yes",
          "ProtectHostname=yes",
          "ProtectKernelLogs=yes",
          "ProtectKernelModules=yes",
          "ProtectKernelTunables=yes",
          "ProtectControlGroups=yes",
        ]),
  ];
}

function unit(
  { scope, node, dist, envFile, user, stateDir }: UnitPlan,
  description: string,
  file: string,
  flags: readonly string[],
  service: readonly string[],
  order = "",
): string {
  const command = [node, ...flags, `${dist}/${file}`].map(quoteArgument).join(" ");
  const network = scope === "system" ? ["Wants=network-online.target", "After=network-online.target"] : [];
  const lines = [
    "# Made by `threadmux service install`, which writes it anew; `threadmux service uninstall` takes it away.",
    "[Unit]",
    `Description=${description}`,
    ...network,
    ...(order === "" ? [] : [order]),
    `RequiresMountsFor=${quoteArgument(stateDir)}`,
    "StartLimitIntervalSec=600",
    "StartLimitBurst=20",
    "",
    "[Service]",
    "Type=exec",
    ...(scope === "system" ? [`User=${user}`] : []),
    // No .env of whatever folder it is started in.
    "WorkingDirectory=/",
    `EnvironmentFile=${envFile.replaceAll("%", "%%")}`,
    `ExecStart=${command}`,
    ...service,
    "",
    "[Install]",
    `WantedBy=${scope === "system" ? "multi-user.target" : "default.target"}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** As a word of a command line in a unit. */
function quoteArgument(text: string): string {
  const escaped = text.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@%+=:,./$-]+$/.test(escaped)
    ? escaped
    : `"${escaped.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** A file of settings that systemd and Node.js read alike. */
export function settingsText(values: Readonly<Record<string, string>>): string {
  const lines = Object.entries(values).map(([name, value]) => `${name}=${quoteValue(value)}`);
  return `# The settings of threadmux's services: docs/configuration.md has all of them.\n${lines.join("\n")}\n`;
}

function quoteValue(value: string): string {
  if (!value.includes("'")) return `'${value}'`;
  return `"${value.replace(/["\\$`]/g, "\\$&")}"`;
}
