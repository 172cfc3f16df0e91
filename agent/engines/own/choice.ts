/** The mode and the model that people have chosen for the thread. */
import type { EventBody } from "../../../shared/agent/events.ts";
import type { Env } from "../../engine.ts";
import type { Ordered, Start } from "./protocol.ts";
import { type Providers, SetupError } from "./provider.ts";
import { type Chosen, chooseModel } from "./providers.ts";

export class Choice {
  readonly #env: Env;
  readonly #providers: Providers;
  #modeId: string;
  #model: string | undefined;

  constructor({ modeId, model }: Pick<Start, "modeId" | "model">, env: Env, providers: Providers) {
    this.#env = env;
    this.#providers = providers;
    this.#modeId = modeId;
    this.#model = model;
  }

  get modeId(): string {
    return this.#modeId;
  }

  /** The model's name as people gave it, if they gave one. */
  get model(): string {
    return this.#model ?? "default";
  }

  /** The model, or why there is none. */
  find(): Chosen | { problem: string } {
    return this.#find(this.#model);
  }

  changeMode({ modeId, by }: Extract<Ordered, { op: "mode" }>): EventBody[] {
    this.#modeId = modeId;
    return [{ type: "current_mode_update", modeId, by }];
  }

  /** One that can't be chosen changes nothing. */
  changeModel({ model, by }: Extract<Ordered, { op: "model" }>): EventBody[] {
    const found = this.#find(model);
    if ("problem" in found)
      return [
        { type: "notice", severity: "warning", title: found.problem },
        { type: "config_update", model: this.model },
      ];
    this.#model = model;
    return [{ type: "config_update", model: found.model, by }];
  }

  #find(model: string | undefined): Chosen | { problem: string } {
    try {
      return chooseModel(model, this.#env, this.#providers);
    } catch (error) {
      if (error instanceof SetupError) return { problem: error.message };
      throw error;
    }
  }
}
