/** A row of what threadmux promises of an agent thread (`engine-surface.ts`). */
import type { Capabilities } from "../../shared/agent/engines/declaration.ts";
import type { CreateRequest } from "../../shared/api.ts";
import type { EngineWorld } from "./engine-world.ts";

export interface Row {
  /** In the table of the documents. */
  label: string;
  isDeclared(capabilities: Capabilities): boolean;
  /** By their sentences. */
  tests: Record<string, (world: EngineWorld) => Promise<void>>;
  /** A thread that wants it of an engine that does not declare it, and the field that the refusal names. */
  refused?: { agent: NonNullable<CreateRequest["agent"]>; field: string };
}
