/** The mode and the model that people have chosen for the thread. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Env } from "../../engine.ts";
import type { Ordered, Start } from "./protocol.ts";
import { type Chosen, chooseModel, SetupError } from "./providers.ts";

export class Choice {
  readonly #env: Env;
  #modeId: string;
  #model: string | undefined;

  constructor({ modeId, model }: Pick<Start, "modeId" | "model">, env: Env) {
    this.#env = env;
    this.#modeId = modeId;
    this.#model = model;
  }

  get modeId(): string {
    return this.#modeId;
  }

  /** As people name it, if they did. */
  get model(): string {
    return this.#model ?? "default";
  }

  /** The model, or why there is none. */
  find(): Chosen | { problem: string } {
    return find(this.#model, this.#env);
  }

  changeMode({ modeId, by }: Extract<Ordered, { op: "mode" }>): EventBody[] {
    this.#modeId = modeId;
    return [{ type: "current_mode_update", modeId, by }];
  }

  /** One that can't be chosen changes nothing. */
  changeModel({ model, by }: Extract<Ordered, { op: "model" }>): EventBody[] {
    const found = find(model, this.#env);
    if ("problem" in found)
      return [
        { type: "notice", severity: "warning", title: found.problem },
        { type: "config_update", model: this.model },
      ];
    this.#model = model;
    return [{ type: "config_update", model: found.model, by }];
  }
}

function find(model: string | undefined, env: Env): Chosen | { problem: string } {
  try {
    return chooseModel(model, env);
  } catch (error) {
    if (error instanceof SetupError) return { problem: error.message };
    throw error;
  }
}
