import type { Space } from "../../shared/agent/directive-ref.ts";
import type { Directive } from "../../shared/directives/parse.ts";

/** A directive and where it was found. */
export interface FoundDirective {
  directive: Directive;
  space: Space;
  /** Absolute. */
  file: string;
  sha256: string;
}
