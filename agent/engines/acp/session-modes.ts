/** The modes of an agent's session: agents tell them in one of two ways. Pure. */
import type { SessionInfo } from "./messages.ts";

export interface SessionModes {
  now: string;
  names: string[];
  /** The option of the session that chooses the mode; undefined: modes have a request of their own. */
  configId?: string;
}

export function modesOf({ modes, configOptions }: SessionInfo): SessionModes {
  if (modes) return { now: modes.currentModeId, names: modes.availableModes.map(({ id }) => id) };
  const option = findModeOption(configOptions);
  if (!option) return { now: "default", names: [] };
  const { id: configId, currentValue = "default", options } = option;
  return { now: currentValue, names: options.map(({ value }) => value), configId };
}

/** The option by which an agent without modes of the protocol's has its mode chosen. */
export function findModeOption<O extends { id: string; category?: string | undefined }>(
  options: readonly O[],
): O | undefined {
  return options.find(({ category, id }) => category === "mode" || id === "mode");
}
