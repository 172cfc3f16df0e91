/** The fields of the form that choose a new agent's engine and model. */
import type { CreateRequest } from "../../../shared/api.ts";
import { chosenEngine, type EngineState, engineChoices, isReady } from "../../../shared/engines-api.ts";
import { ApiError, listEngines } from "./api.ts";
import { find, make } from "./dom.ts";

type AgentRequest = NonNullable<CreateRequest["agent"]>;

export class EngineFields {
  readonly #onSignedOut: () => void;
  readonly #engine = find<HTMLSelectElement>("#make-engine");
  readonly #model = find<HTMLInputElement>("#make-model");
  #known: readonly EngineState[] = [];

  constructor(onSignedOut: () => void) {
    this.#onSignedOut = onSignedOut;
    this.#engine.addEventListener("change", () => this.#showModels());
  }

  /** Asks the sidecar: somebody may have installed a program meanwhile. The choice stays if it still is one. */
  async show(): Promise<void> {
    try {
      this.#known = await listEngines();
    } catch (error) {
      // The default can be taken; what is wrong with the sidecar the list of threads says.
      if (error instanceof ApiError && error.status === 401) this.#onSignedOut();
      return;
    }
    const { value } = this.#engine;
    this.#engine.replaceChildren(...optionsOf(this.#known));
    this.#engine.value = value;
    if (this.#engine.selectedIndex < 0) this.#engine.value = "";
    this.#showModels();
  }

  /** The fields of a request that say so. */
  chosen(): AgentRequest {
    const { value } = this.#engine;
    const model = this.#model.value.trim();
    const isModel = model !== "" && !this.#model.disabled;
    return { ...(value !== "" && (chosenEngine(value) as AgentRequest)), ...(isModel && { model }) };
  }

  #showModels(): void {
    const { value } = this.#engine;
    const { engine } = chosenEngine(value);
    const state = this.#known.find(({ name, isDefault }) => (value === "" ? isDefault : name === engine));
    const models = state ? state.models : [];
    this.#model.disabled = models === null;
    find("#make-models").replaceChildren(...(models ?? []).map((name) => optionOf(name, name)));
  }
}

/** The default first, then those that are ready, and last, not to be chosen, what others lack. */
function optionsOf(engines: readonly EngineState[]): HTMLOptionElement[] {
  const usual = engines.find(({ isDefault }) => isDefault);
  const ready = engineChoices(engines).map(({ value, text }) => optionOf(value, text));
  const lacking = engines.flatMap(({ name, programs }) =>
    programs
      .filter((program) => !isReady(program))
      .map(({ problem }) => {
        const option = optionOf("-", `${name}: ${problem ?? "not signed in"}`);
        option.disabled = true;
        return option;
      }),
  );
  return [optionOf("", `the default${usual ? ` (${usual.name})` : ""}`), ...ready, ...lacking];
}

function optionOf(value: string, text: string): HTMLOptionElement {
  const option = make("option");
  option.value = value;
  option.textContent = text;
  return option;
}
