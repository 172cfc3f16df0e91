/**
 * Budgets: the most that a thread's processes may take of the machine together. The kernel holds them, by control groups.
 * Memory is in bytes, the processor's share in processors (1.5: one and a half), processes count with their threads.
 */
import * as z from "zod";

const MIB = 1024 ** 2;
/** Less than this holds no shell with a program. */
export const MIN_MEMORY_BYTES = 32 * MIB;
export const MIN_CPUS = 0.05;
export const MIN_PIDS = 16;
/** An agent's runner and its engine are programs of Node.js. */
export const MIN_AGENT_MEMORY_BYTES = 256 * MIB;
export const MIN_AGENT_PIDS = 64;

const MAX_MEMORY_BYTES = 1024 ** 5;
const MAX_CPUS = 1_024;
const MAX_PIDS = 4_194_304;

export const RESOURCES = ["memory", "cpu", "pids"] as const;
export type Resource = (typeof RESOURCES)[number];

export const budgetSchema = z.strictObject({
  memory: z
    .int("must be a whole number of bytes")
    .min(MIN_MEMORY_BYTES, `must be at least ${MIN_MEMORY_BYTES} (32 MiB)`)
    .max(MAX_MEMORY_BYTES, `must be at most ${MAX_MEMORY_BYTES}`)
    .optional(),
  cpu: z
    .number("must be a number of processors, such as 1.5")
    .min(MIN_CPUS, `must be at least ${MIN_CPUS}`)
    .max(MAX_CPUS, `must be at most ${MAX_CPUS}`)
    .optional(),
  pids: z
    .int("must be a whole number")
    .min(MIN_PIDS, `must be at least ${MIN_PIDS}`)
    .max(MAX_PIDS, `must be at most ${MAX_PIDS}`)
    .optional(),
});
export type Budget = Readonly<Partial<Record<Resource, number | undefined>>>;

const use = { limit: z.number(), used: z.number(), hits: z.int() };

/** A thread's budget as it is now: the limit, what is taken of it, and how often the kernel held it. */
export const budgetUseSchema = z.object({
  /** Bytes. A hit: the kernel ended a process. */
  memory: z.object(use).optional(),
  /** `used`: seconds for which processors were kept from it. A hit: a period of 0.1 s in which it had to wait. */
  cpu: z.object(use).optional(),
  /** A hit: a new process, or thread of one, was refused. */
  pids: z.object(use).optional(),
  /** The limits that nothing holds on this machine. */
  notHeld: z.array(z.enum(RESOURCES)),
});
export type BudgetUse = z.infer<typeof budgetUseSchema>;

const UNITS = ["", "K", "M", "G", "T"];

/** `2G`, `512M`, `1.5 GiB` or bytes. @returns undefined if it is none of that */
export function parseMemory(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,15}(?:\.\d{1,3})?) ?([KMGT]?)(?:i?B)?$/i.exec(text.trim()) ?? [];
  if (number === undefined) return undefined;
  return Math.round(Number(number) * 1024 ** UNITS.indexOf(unit.toUpperCase()));
}

export const NOT_MEMORY = "must be bytes or a number with K, M, G or T, such as 512M or 2G";

/** `512 MiB`. */
export function formatMemory(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  const value = bytes / 1024 ** power;
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} ${power === 0 ? "bytes" : `${UNITS[power]}iB`}`;
}

/** A limit in words: `512 MiB of memory`. */
export function formatLimit(resource: Resource, limit: number): string {
  if (resource === "memory") return `${formatMemory(limit)} of memory`;
  return resource === "cpu" ? `${limit} of the processors` : `${limit} processes`;
}

/** `memory 120 MiB of 512 MiB · cpu 1.5, waited 4 s · 12 of 64 processes`; empty if there is no budget. */
export function formatUse(use: BudgetUse | null | undefined): string {
  if (!use) return "";
  const { memory, cpu, pids, notHeld } = use;
  const times = (hits: number) => (hits === 0 ? "" : ` (held ${hits === 1 ? "once" : `${hits} times`})`);
  const parts = [
    ...(memory
      ? [`memory ${formatMemory(memory.used)} of ${formatMemory(memory.limit)}${times(memory.hits)}`]
      : []),
    ...(cpu ? [`cpu ${cpu.limit}, waited ${Math.round(cpu.used)} s`] : []),
    ...(pids ? [`${pids.used} of ${pids.limit} processes${times(pids.hits)}`] : []),
    ...(notHeld.length > 0 ? [`${notHeld.join(", ")}: not held on this machine`] : []),
  ];
  return parts.join(" · ");
}
